/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where names, quotes and expansions end in the text of a shell. */

#include <stdbool.h>
#include <stddef.h>

#include "base/macro.h"

/*
 * The end of the expansion that starts at text[at] with '$' or '`', or of the quoted string
 * that starts there with a quote: the offset behind it; SIZE_MAX when it does not end. quoted:
 * it stands in double quotes.
 */
size_t shell_skip_expansion(const char *text, size_t size, size_t at, bool quoted) _pure_;

/* Length of the variable name at s, or 0. */
size_t shell_name_length(const char *s, size_t size) _pure_;

/* Line and column, from 1, of an offset. */
void shell_position(const char *text, size_t at, unsigned *ret_line, unsigned *ret_column);

/* From behind a '(' to behind its ')'; SIZE_MAX when there is none. */
size_t shell_skip_parens(const char *text, size_t size, size_t at) _pure_;
