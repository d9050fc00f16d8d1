/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Unified diffs, as diff -u prints them and patch(1) reads them. */

#include "base/str.h"

/*
 * Appends the diff of two texts, or nothing when they are equal. A path of NULL stands for
 * /dev/null (the file is made or goes). Bytes with a NUL are no text: one line says so. Memory
 * failures stick in out.
 */
void diff_unified(struct strbuf *out, const char *old_path, const char *old, size_t old_size,
		  const char *new_path, const char *new, size_t new_size);
