/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * How the running kernel came to its command line: by which boot entry, and where its word
 * about memcg comes from when that is in none of the files a loader is told by.
 */

#include "boot/boot.h"

struct facts;

enum origin_kind {
	ORIGIN_NONE,	    /* there is no such word, or no kernel to ask */
	ORIGIN_ENTRY,	    /* a boot entry has it */
	ORIGIN_DEFAULTS,    /* the loader's defaults have it, and no entry */
	ORIGIN_BOOTCONFIG,  /* in the initrd, or embedded in the kernel */
	ORIGIN_BUILT_IN,    /* CONFIG_CMDLINE */
	ORIGIN_DEVICE_TREE, /* chosen/bootargs, or what the firmware adds to it */
	ORIGIN_UNKNOWN,	    /* no file that was read has it */
	_ORIGIN_MAX,
};
const char *origin_kind_to_string(enum origin_kind kind) _pure_;

/* Initialise with {}. */
struct origin {
	enum origin_kind kind; /* of the word that decides (struct running: token) */
	char *path;	       /* the file that has it, or NULL */
	unsigned line;	       /* 0: the file has no lines to speak of */
	/* borrowed from the state: the entry whose line this kernel runs with, as far as it can
	 * be told; NULL: none has it */
	const struct boot_entry *booted;
	enum answer kexec;   /* started by another kernel: no boot loader was asked */
	enum answer changed; /* the entries were written after this kernel booted */
};

/* Everything stays at its zero for an offline root. 0 or -ENOMEM. */
int origin_find(const struct boot *boot, const struct boot_state *state,
		const struct facts *facts, struct origin *ret) _must_check_;
/* Where the word comes from, as a sentence without its full stop; NULL for ORIGIN_NONE. */
const char *origin_text(const struct origin *origin) _pure_;
void origin_done(struct origin *origin);
