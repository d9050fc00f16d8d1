/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * GRUB's environment block (grub-core/lib/envblk.c): a file of 1024 bytes whose blocks GRUB
 * writes itself, "# GRUB Environment Block", lines NAME=VALUE with '\' and new-line escaped by
 * a '\', '#' up to the end. It never changes its size and is never renamed over.
 */

#include "base/macro.h"

enum { GRUBENV_SIZE = 1024 };

/* 0, or -EBADMSG when this is no environment block. */
int grubenv_check(const char *block, size_t size) _must_check_;

/*
 * How much of a file says something: of an environment block all before the padding, of
 * anything else all of it.
 */
size_t grubenv_text_size(const char *data, size_t size) _pure_;

/* The value of a variable, unescaped: owned by the caller; -ENOENT when it is not set. */
int grubenv_get(const char *block, const char *name, char **ret) _must_check_;

/*
 * A copy of the block with the variable set in place, or unset (value NULL); all others keep
 * their bytes and order. ret is GRUBENV_SIZE bytes and not terminated. -ENOSPC when it does not
 * fit.
 */
int grubenv_set(const char *block, const char *name, const char *value,
		char **ret) _must_check_;
