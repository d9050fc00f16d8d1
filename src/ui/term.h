/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The terminal: colours, safe text, carets under the user's own lines, the pager. */

#include "base/macro.h"

#include <stdio.h>

struct args;
struct diag;

enum term_style {
	TERM_PLAIN,
	TERM_BOLD,
	TERM_GOOD,
	TERM_BAD,
	TERM_WARN,
	TERM_DIM,
	_TERM_STYLE_MAX,
};

/* What the output may look like; decided once from the arguments, the environment and the tty.
 */
struct term {
	bool color_out;
	bool color_err;
	bool quiet;
};

void term_init(struct term *term, const struct args *args);

/* The escape sequence that starts a style ("" without colour); term_end() ends it. */
const char *term_begin(const struct term *term, enum term_style style);
const char *term_end(const struct term *term);

/*
 * Prints every message as "path:line:column: error: text", the line and a caret, and the hint.
 * Errors always, warnings and notices unless --quiet.
 */
void term_print_diag(const struct term *term, FILE *f, const struct diag *diag);

struct pager {
	pid_t pid; /* 0: there is none */
	int out;   /* what standard output and error were; -EBADF: untouched */
	int err;
};

/*
 * Sends standard output through a pager ($MEMCG_POLICY_PAGER, $PAGER, less, more) where it is a
 * terminal and the verb's text may be long, and says so in args. Without one the text is
 * printed as it is. After term_init(). term_close_pager() waits for its end.
 */
void term_open_pager(struct args *args, struct pager *ret);
void term_close_pager(struct pager *pager);
