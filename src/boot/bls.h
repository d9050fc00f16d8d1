/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Boot Loader Specification entries of type 1 (loader/entries/NAME.conf), as those who boot
 * from them read them:
 *  - systemd-boot (src/boot/boot.c, efi-string.c of v261): LF and CR end a line, blanks around
 *    it do not count, quotes around a whole value go, all "options" lines are joined;
 *  - GRUB (blscfg.c of Fedora and RHEL, blsuki.c of 2.14): CR is skipped wherever it is, a line
 *    without a value, also an empty one, ends the entry, the first "options" line is taken and
 *    no other, and $variables are replaced. Fedora's takes a tab for a separator only where the
 *    line has no blank.
 */

#include "base/macro.h"
#include "boot/lines.h"

enum bls_reader {
	BLS_SYSTEMD,
	BLS_GRUB,
};

/* All strings are owned; NULL: not there. Initialise with {}. */
struct bls_entry {
	char *id;	/* file name without ".conf" and without boot counters */
	int tries_left; /* -1: boots are not counted */
	int tries_done;
	char *title;
	char *version;
	char *image; /* "linux" */
	char *machine_id;
	char *sort_key;
	char *architecture;
	char *efi;	    /* "efi" or "uki": a program of the partition */
	bool is_uki;	    /* not of type 1: the file is a unified kernel image (uki.c) */
	unsigned profile;   /* of that image */
	bool not_linux;	    /* that, "uki-url" and the like: no line of ours */
	bool rescue;	    /* made for rescue: left alone */
	bool boom;	    /* managed by boom(8): left alone */
	struct lines lines; /* the options, group 0; none: the entry has no such line */
	unsigned cut_line;  /* GRUB does not read this line and what follows; 0: all is read */
};

/* Any text is read; only -ENOMEM can happen. file_name ends in ".conf". */
int bls_parse(const char *file_name, const char *text, size_t size, enum bls_reader reader,
	      struct bls_entry *ret) _must_check_;
void bls_entry_done(struct bls_entry *entry);
#define _cleanup_bls_entry_ _cleanup_(bls_entry_done)

/* Cuts "+LEFT" or "+LEFT-DONE" off the end of the id and sets what it counted. */
void bls_cut_tries(struct bls_entry *entry);

/* Whether a file of the directory is an entry to the reader. */
bool bls_is_entry_name(const char *name, enum bls_reader reader) _pure_;

/* lines_find_t of a text with the name of an entry. */
int bls_find_systemd(const char *text, size_t size, const char *path, struct lines *ret,
		     struct diag *diag);
int bls_find_grub(const char *text, size_t size, const char *path, struct lines *ret,
		  struct diag *diag);

/*
 * Negative when a stands before b in the menu. Without anything else to go by the reader boots
 * the first.
 */
int bls_compare(const struct bls_entry *a, const struct bls_entry *b,
		enum bls_reader reader) _pure_;

/*
 * Replaces the $variables of an options line as GRUB does. value() gives a variable's value or
 * NULL; one that is not set becomes nothing. Owned by the caller.
 */
int bls_expand(const char *options, const char *(*value)(const char *name, void *userdata),
	       void *userdata, char **ret) _must_check_;

/* Version comparison as the readers do it: UAPI.10 (systemd), and rpm's (GRUB). */
int bls_compare_uapi(const char *a, const char *b) _pure_;
int bls_compare_rpm(const char *a, size_t a_size, const char *b, size_t b_size) _pure_;
