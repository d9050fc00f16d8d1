/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Where samples are taken. In one boot: the root cgroup, the root cgroup again (the control:
 * any difference between the two is noise), and a child as deep as this host's services are.
 * With memcg off, without privilege or in a container there is one place, "here", and its
 * control.
 */

#include "base/macro.h"
#include "bench/scratch.h"

struct diag;
struct root;
struct running;

enum { ARMS_MAX = 8 };

enum arm_kind {
	ARM_HERE,
	ARM_ROOT,
	ARM_CHILD,
};

struct arm {
	char name[16]; /* "root", "child-2", "control" */
	enum arm_kind kind;
	bool control;	/* the same place as arm 0 */
	unsigned depth; /* of a child */
	int fd;		/* its directory, or -EBADF for here */
};

/* Initialise with {}. Arm 0 is what the others are compared with. */
struct arms {
	struct arm items[ARMS_MAX];
	size_t n;
	char *why_here; /* a sentence part when it is only here, or NULL */
	struct scratch scratch;
	bool has_scratch;
};

struct arms_request {
	const char *where; /* "root,child,depth=4", NULL: root and child */
	bool no_cgroup;
};

/* -EINVAL with an error in diag for a list that is not understood; makes the groups. */
int arms_open(const struct root *root, const struct running *running,
	      const struct arms_request *request, struct arms *ret,
	      struct diag *diag) _must_check_;
/* Removes them; a group that is left is a warning. */
void arms_close(struct arms *arms, struct diag *diag);

/* Why the root cgroup cannot be used here, part of a sentence, or NULL. */
const char *arms_why_here(const struct root *root, const struct running *running);

/* The depth of the cgroups most processes of this host are in, 1 if they are all in the root.
 */
unsigned arms_usual_depth(const struct root *root, bool v2);

/* The caller's group in the tree that has memory: "/" is its root. 0 or a negative errno. */
int arms_own_group(const struct root *root, const char *process, bool v2,
		   char **ret) _must_check_;

/*
 * Where systemd manages the tree, groups may only be made below one that it has delegated: runs
 * this program again in a scope of its own. Does not return if that works; 0 when it is not
 * needed (or is done), else a negative errno.
 */
int arms_enter_scope(const struct root *root, const struct running *running) _must_check_;
