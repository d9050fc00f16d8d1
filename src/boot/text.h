/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What backends share that edit the command line where it is written. */

#include "boot/boot.h"
#include "boot/lines.h"

/* One kind of file. */
struct text_kind {
	lines_find_t find;
	size_t max;
	unsigned flags; /* enum atomic_flags */
	/* what a line begins with that is added where there is none ("extraargs="); NULL: a
	 * file without a command line is left alone */
	const char *key;
};

/*
 * Plans that the file asks for the words. 1 if that changes it, 0 if not; -ENOENT without a
 * message when there is no file.
 */
int text_plan(const struct boot *boot, const struct text_kind *kind, const char *path,
	      const struct boot_words *words, struct changeset *cs,
	      struct diag *diag) _must_check_;

/* lines_take_back() for a file of that kind; a line that was added goes. */
int text_take_back(const struct text_kind *kind, const char *path, const struct content *before,
		   const struct content *written, const struct content *now,
		   struct content *ret, struct diag *diag) _must_check_;

/* What a line asks for, and by which word; ret_token may be NULL. */
int text_request(const char *line, enum cmdline_request *ret, char **ret_token) _must_check_;

/* verify() of backends that need nothing else: every entry of ours is as wanted. */
int text_verify(const struct boot *boot, const struct boot_words *words, struct diag *diag);
/* plan_refresh() and refresh() where nothing follows the edit but the proof. */
int text_plan_verify(const struct boot *boot, const struct boot_state *state,
		     const struct boot_words *words, bool edited, struct changeset *cs);
int text_no_refresh(const struct boot *boot, const struct boot_words *words, struct diag *diag);
