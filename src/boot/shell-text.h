/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Backends whose command line is a variable of a shell fragment, edited where it is written. */

#include "boot/boot.h"

struct shell_text {
	const char *path;
	const char *variable; /* gets the word */
	const char *other;    /* only loses words against it; NULL: there is none */
};

/* 1 if that changes the file, 0 if not; -ENOENT without a message when there is no file. */
int shell_text_plan(const struct boot *boot, const struct shell_text *what,
		    const struct boot_words *words, struct changeset *cs,
		    struct diag *diag) _must_check_;
/* state->configured; a missing file leaves it alone. */
int shell_text_read(const struct boot *boot, const struct shell_text *what,
		    struct boot_state *state) _must_check_;
int shell_text_take_back(const struct shell_text *what, const struct content *before,
			 const struct content *written, const struct content *now,
			 struct content *ret, struct diag *diag) _must_check_;
/* The variable's value, owned by the caller: NULL when it is not set or cannot be known. */
int shell_text_value(const struct root *root, const char *path, const char *variable,
		     char **ret) _must_check_;
