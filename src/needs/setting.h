/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Other programs' settings files, INI or shell-style, read loosely: their owners differ. */

#include "base/macro.h"

struct setting {
	char *value;   /* in the text; NULL: not there */
	unsigned line; /* from 1 */
};

/*
 * The last assignment of key, in the section when there is one given; text is changed. The last
 * one counts for both kinds of file. Keys are compared without case, which many owners ignore.
 */
struct setting setting_find(char *text, size_t size, const char *section, const char *key);

/* The next line of *text, NUL-terminated in place, or NULL at the end. */
char *setting_next_line(char **text, char *end);

/* Cuts blanks on both sides off, in place. */
char *setting_strip(char *s);
