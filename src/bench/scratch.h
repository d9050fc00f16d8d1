/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Groups of our own in the tree that has the memory controller: made for one run, empty but for
 * workers, removed when it ends however it ends. On v1 they are made by libcgroup where it is
 * there; it cannot be asked on v2, because it looks into /proc/cgroups.
 */

#include "base/macro.h"
#include "base/str.h"

struct root;

struct scratch {
	const struct root *root; /* borrowed */
	char *tree;		 /* where the tree is mounted */
	char *base;		 /* the group below which we work: "" or "/x/y.scope" */
	unsigned base_depth;
	bool v2;
	struct strv tops;    /* below base, each with all that is in it */
	struct strv enabled; /* groups whose children got memory only for us (v2) */
};

/* Removes what an earlier run that was killed left in base. All strings are copied. */
int scratch_open(const struct root *root, const char *tree, const char *base, bool v2,
		 struct scratch *ret) _must_check_;
/* Makes a leaf at that depth of the whole tree, more than base_depth; opens its directory. */
int scratch_make(struct scratch *scratch, unsigned depth, int *ret_fd) _must_check_;
/* Undoes everything; true if nothing is left. */
bool scratch_close(struct scratch *scratch);

/* Path of a group in the memory tree's terms: "" is its root. */
unsigned scratch_depth(const char *path) _pure_;
