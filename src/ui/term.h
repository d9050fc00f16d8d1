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

/*
 * Sends standard output through a pager ($MEMCG_POLICY_PAGER, $PAGER, less) when it is a
 * terminal and the text may be long. term_close_pager() waits for it.
 */
int term_open_pager(const struct args *args, pid_t *ret_pid) _must_check_;
void term_close_pager(pid_t pid);
