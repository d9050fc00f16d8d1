/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What started the kernel that runs, by what it left behind: LoaderInfo and StubInfo of
 * systemd's loader interface (systemd-boot, GRUB since 2.12 where bli is loaded, rEFInd,
 * Limine; systemd-stub), and BOOT_IMAGE=, which GRUB and syslinux put on the kernel's line. A
 * loader whose files are here and that did not start this kernel may be the wrong one to write
 * to.
 */

#include "boot/boot.h"

struct running;

/* The way out of a doubt. */
#define STARTED_HINT                                                         \
	"if this is the loader in charge all the same, say so: Backend= in " \
	"/etc/memcg-policy/policy.conf"

/* Initialise with {}; all owned, NULL is none. */
struct started {
	char *loader; /* "systemd-boot 257.7-1" */
	char *stub;   /* "systemd-stub 257.7-1" */
	bool efi;
	bool boot_image; /* BOOT_IMAGE= is on the line */
	char *why;	 /* what names the backend as the one in charge; one line */
	char *doubt;	 /* what speaks against it: a write refuses; NULL: nothing does */
	char *note;	 /* what is missing, and proves nothing; or NULL */
};

/*
 * state is what the backend read. by_kexec: another kernel started this one, with whatever
 * line. An offline root has only the files to go by.
 */
int started_find(const struct boot *boot, const struct boot_state *state,
		 const struct running *running, bool by_kexec,
		 struct started *ret) _must_check_;
void started_done(struct started *started);
#define _cleanup_started_ _cleanup_(started_done)
