/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Changes of a shell variable's value, made in the text at the bytes that the value is from. */

#include "boot/shell-vars.h"

struct diag;
struct strbuf;

/* A change of a value: size bytes at that place go, text comes. */
struct shell_splice {
	size_t at;
	size_t size;
	char *text; /* owned, or NULL */
};

struct shell_splices {
	struct shell_splice *items;
	size_t n, alloc;
};

void shell_splices_done(struct shell_splices *splices);
#define _cleanup_shell_splices_ _cleanup_(shell_splices_done)

/* text is copied and may be NULL. */
int shell_splices_add(struct shell_splices *splices, size_t at, size_t size, const char *text,
		      size_t text_size) _must_check_;

/* What the value is after that. */
int shell_splice_text(const struct shell_value *value, const struct shell_splices *splices,
		      struct strbuf *ret) _must_check_;

/* Whether byte i of a value and the next one are written side by side, or both in the
 * assignment itself: one of them can go with the other. */
bool shell_written_together(const struct shell_value *value, size_t i) _pure_;

/*
 * Applies splices (in order, not overlapping) to the texts of the script, and proves that the
 * shell then sees just them. 1, or -ENOTSUP with the place in diag and the script as before.
 */
int shell_splice(struct shell_script *script, const char *name, const struct shell_value *value,
		 const struct shell_splices *splices, struct diag *diag) _must_check_;

/* -ENOTSUP, with that place and what to do about it in diag. */
int shell_refuse(const struct shell_script *script, unsigned file, size_t at, struct diag *diag,
		 const char *name, const char *reason);
