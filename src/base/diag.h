/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Located messages. Parsers and checkers append to the caller's list and never print; ui/
 * prints them as "path:line:column: text" with the source line and a caret (ui/term.h).
 */

#include "base/macro.h"

#include <stdarg.h>

enum diag_level {
	DIAG_ERROR,
	DIAG_WARNING,
	DIAG_NOTICE,
};

struct diag_message {
	enum diag_level level;
	char *text;
	char *path;	 /* as the user would type it inside the root, or NULL */
	unsigned line;	 /* from 1; 0: no line */
	unsigned column; /* in bytes from 1; 0: no column */
	unsigned width;	 /* bytes marked by the caret; 0 counts as 1 */
	char *source;	 /* the line's own text, or NULL */
	char *hint;	 /* what to do next, a command where there is one, or NULL */
};

/* Initialise with {}. A message that could not be stored for want of memory sets failed. */
struct diag {
	struct diag_message *messages;
	size_t n;
	size_t alloc;
	bool failed;
};

/* Where a message belongs: every field may be 0 or NULL, all are borrowed and copied. */
struct diag_where {
	const char *path;
	unsigned line;
	unsigned column;
	unsigned width;
	const char *source; /* text of the line, need not end at its end: see source_size */
	size_t source_size; /* 0: source is NUL-terminated */
	const char *hint;
};

void diag_add(struct diag *diag, enum diag_level level, const struct diag_where *where,
	      const char *fmt, ...) _printf_(4, 5);
void diag_addv(struct diag *diag, enum diag_level level, const struct diag_where *where,
	       const char *fmt, va_list ap) _printf_(4, 0);

#define diag_error(diag, where, ...)   diag_add(diag, DIAG_ERROR, where, __VA_ARGS__)
#define diag_warning(diag, where, ...) diag_add(diag, DIAG_WARNING, where, __VA_ARGS__)
#define diag_notice(diag, where, ...)  diag_add(diag, DIAG_NOTICE, where, __VA_ARGS__)

/* How many messages of that level there are. */
size_t diag_count(const struct diag *diag, enum diag_level level) _pure_;

/* Puts the messages from the first on in the order of their places, each once. */
void diag_sort(struct diag *diag, size_t first);

/* Moves all messages of from to the end of to. */
void diag_move(struct diag *to, struct diag *from);

void diag_done(struct diag *diag);
#define _cleanup_diag_ _cleanup_(diag_done)
