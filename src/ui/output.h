/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What every verb prints in the end: a JSON document, or the error it ended with. */

#include "base/macro.h"

struct args;
struct diag;
struct json;
struct term;

/* Prints a unified diff on standard output; what a terminal must not see is escaped. */
void output_diff(const struct term *term, const char *diff, size_t size);

/* Prints value and a newline on standard output. */
int output_json(const struct args *args, const struct json *value) _must_check_;

/* The array "warnings": the warnings of diag as {text,path,line}. */
struct json *output_warnings(const struct diag *diag) _must_check_;

/*
 * Prints the messages of diag on standard error, and with --json the first error as
 * {"schema":1,"error":{...}} on standard output. fallback is the sentence when diag has no
 * error.
 */
void output_error(const struct args *args, const struct term *term, const struct diag *diag,
		  const char *fallback);
