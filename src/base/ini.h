/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The one INI reader: policy files, needs files and unit files. The syntax is systemd's
 * (systemd.syntax(7); src/shared/conf-parser.c and src/basic/fileio.c of v252 to v260):
 *  - LF, CR and NUL end a line; two or three different ones in a row count once, but nothing
 *    joins a NUL before it; a UTF-8 BOM is skipped at the start of the first line that has one;
 *  - a line whose first non-blank byte is # or ; is a comment, also inside a continuation;
 *  - an odd number of backslashes at the end continues the line, replaced by one blank; a blank
 *    line ends a continuation, a pending one is used at the end of the file;
 *  - a line and a comment have less than 1 MiB, a continued line at most 1 MiB;
 *  - a header holds no control character, quote or backslash; a line other than a comment is
 *    UTF-8 without noncharacters.
 */

#include "base/macro.h"

enum { INI_LINE_MAX = 1024 * 1024 };

enum ini_kind {
	INI_END,	   /* no more lines */
	INI_SECTION,	   /* section was set */
	INI_ASSIGNMENT,	   /* key and value were set */
	INI_NO_EQUALS,	   /* a line without '=': systemd warns and goes on */
	INI_EMPTY_KEY,	   /* "= value" */
	INI_BAD_SECTION,   /* "[foo": systemd stops here */
	INI_NOT_UTF8,	   /* systemd stops here */
	INI_LINE_TOO_LONG, /* systemd refuses the whole file */
};

/* One item; all strings are NUL-terminated, owned by the reader, valid until the next call. */
struct ini_item {
	enum ini_kind kind;
	const char *section; /* name of the current section, "" before the first */
	const char *key;
	const char *value;
	unsigned line;	     /* of the first byte, from 1 */
	unsigned column;     /* of the key or the header, in bytes from 1 */
	unsigned value_line; /* where the value starts */
	unsigned value_column;
	const char *source; /* the physical line the item starts on, not terminated */
	size_t source_size;
};

struct ini;

/* text is borrowed and must live as long as the reader. */
int ini_new(const char *text, size_t size, struct ini **ret) _must_check_;
struct ini *ini_free(struct ini *ini);
DEFINE_CLEANUP(struct ini *, ini_free);
#define _cleanup_ini_ _cleanup_(ini_freep)

/* Goes on behind an item that stops, to tell the user what the file loses by it. */
void ini_resume(struct ini *ini);

/* 0 with *ret filled (INI_END at the end and after a kind that stops), or -ENOMEM. */
int ini_next(struct ini *ini, struct ini_item *ret) _must_check_;
