/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Programs of the system that own a loader's files. */

#include "boot/boot.h"

struct root;

/*
 * The absolute path in the root of the first of these names ("grub2-mkconfig", NULL ends them)
 * that its administrator's PATH has, owned by the caller; -ENOENT when there is none.
 */
int tool_find(const struct root *root, const char *const *names, char **ret) _must_check_;
bool tool_exists(const struct root *root, const char *name);

/*
 * Plans that a command follows: it is run when that can be done here, else printed.
 */
int tool_plan(const struct boot *boot, struct changeset *cs,
	      const char *const *argv) _must_check_;

/*
 * Runs it where the root is, at most 15 minutes. An exit status other than 0 is -EIO, with an
 * error in diag that has the end of what it printed; all of it is kept beside the records.
 */
int tool_run(const struct boot *boot, const char *const *argv, struct diag *diag) _must_check_;

/* Whether the text of a script or program in the root has these bytes. */
bool tool_mentions(const struct root *root, const char *path, const char *text);
