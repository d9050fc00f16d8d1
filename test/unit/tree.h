/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Throw-away roots for unit tests. Every test names its own files; none reads the host. */

#include "base/root.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct tree {
	char path[64];
	struct root *root;
};

/* An empty directory below $TMPDIR, opened as a root. Fails the test on any error. */
void tree_init(struct tree *tree, enum root_mode mode);
/* Writes a file below it, making the directories above. */
void tree_write(const struct tree *tree, const char *path, const char *text);
void tree_write_n(const struct tree *tree, const char *path, const void *data, size_t size);
void tree_symlink(const struct tree *tree, const char *target, const char *path);
void tree_mkdir(const struct tree *tree, const char *path);
/* The whole file, to be freed by the caller; NULL when it is missing. */
char *tree_read(const struct tree *tree, const char *path);
/* Fails the test unless that is what the file holds; NULL: that there is none. */
void tree_assert(const struct tree *tree, const char *path, const char *want);
/* Removes everything. */
void tree_done(struct tree *tree);
