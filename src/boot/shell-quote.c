/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/shell-quote.h"

#include "base/macro.h"

#include <string.h>

enum { MAX_NESTING = 100 };

size_t shell_name_length(const char *s, size_t size)
{
	size_t n = 0;

	while (n < size &&
	       (s[n] == '_' || (s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') ||
		(n > 0 && s[n] >= '0' && s[n] <= '9')))
		n++;
	return n;
}

void shell_position(const char *text, size_t at, unsigned *ret_line, unsigned *ret_column)
{
	unsigned line = 1;
	size_t start = 0;

	for (size_t i = 0; i < at; i++)
		if (text[i] == '\n') {
			line++;
			start = i + 1;
		}
	*ret_line = line;
	*ret_column = (unsigned)(at - start + 1);
}

static size_t skip_nested(const char *s, size_t size, size_t at, unsigned depth);

/* From behind "$(" to behind its ")". Quotes, comments and nested parentheses are minded; a
 * "case" pattern with a lone ")" inside is not, and then ends it early, as in old shells. */
static size_t skip_parens(const char *s, size_t size, size_t at, unsigned depth)
{
	unsigned open = 1;
	bool word = false; /* inside a word, where '#' starts no comment */

	while (at < size) {
		char c = s[at];

		if (c == '\\') {
			at += 2;
			word = true;
		} else if (c == '\'' || c == '"' || c == '`' || c == '$') {
			at = skip_nested(s, size, at, depth + 1);
			word = true;
		} else if (c == '#' && !word) {
			while (at < size && s[at] != '\n')
				at++;
		} else {
			if (c == '(')
				open++;
			else if (c == ')' && --open == 0)
				return at + 1;
			word = !strchr(" \t\n;&|()<>", c);
			at++;
		}
	}
	return SIZE_MAX;
}

/* From behind "${" to behind its "}". In double quotes, single quotes are ordinary. */
static size_t skip_braces(const char *s, size_t size, size_t at, bool quoted, unsigned depth)
{
	while (at < size) {
		char c = s[at];

		if (c == '}')
			return at + 1;
		if (c == '\\')
			at += 2;
		else if (c == '"' || c == '`' || c == '$' || (c == '\'' && !quoted))
			at = skip_nested(s, size, at, depth + 1);
		else
			at++;
	}
	return SIZE_MAX;
}

static size_t skip_double(const char *s, size_t size, size_t at, unsigned depth)
{
	while (at < size) {
		char c = s[at];

		if (c == '"')
			return at + 1;
		if (c == '\\')
			at += 2;
		else if (c == '$' && at + 1 < size && s[at + 1] == '{')
			at = skip_braces(s, size, at + 2, true, depth + 1);
		else if (c == '`' || (c == '$' && at + 1 < size && s[at + 1] == '('))
			at = skip_nested(s, size, at, depth + 1);
		else
			at++;
	}
	return SIZE_MAX;
}

static size_t skip_nested(const char *s, size_t size, size_t at, unsigned depth)
{
	char c = s[at];

	if (depth > MAX_NESTING)
		return SIZE_MAX;
	if (c == '"')
		return skip_double(s, size, at + 1, depth);
	if (c == '\'') {
		const char *end = memchr(s + at + 1, '\'', size - at - 1);

		return end ? (size_t)(end - s) + 1 : SIZE_MAX;
	}
	if (c == '`') {
		for (at++; at < size && s[at] != '`'; at++)
			if (s[at] == '\\')
				at++;
		return at < size ? at + 1 : SIZE_MAX;
	}
	if (at + 1 < size && s[at + 1] == '(')
		return skip_parens(s, size, at + 2, depth);
	if (at + 1 < size && s[at + 1] == '{')
		return skip_braces(s, size, at + 2, false, depth);
	/* $NAME, $1, or a lone $ */
	at++;
	if (at < size && shell_name_length(s + at, size - at) > 0)
		return at + shell_name_length(s + at, size - at);
	return at < size && s[at] != '\0' && strchr("0123456789@*#?-$!", s[at]) ? at + 1 : at;
}

size_t shell_skip_expansion(const char *text, size_t size, size_t at, bool quoted)
{
	if (quoted && at + 1 < size && text[at] == '$' && text[at + 1] == '{')
		return skip_braces(text, size, at + 2, true, 0);
	return skip_nested(text, size, at, 0);
}

size_t shell_skip_parens(const char *text, size_t size, size_t at)
{
	return skip_parens(text, size, at, 0);
}
