/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Memory limits and protections in force now, as the kernel's own files say. */

#include "base/macro.h"

struct root;
struct running;

struct limit {
	char *group;	  /* "system.slice/foo.service" */
	const char *file; /* "memory.max"; static */
	char *value;	  /* "2147483648" */
	char *owner;	  /* "foo.service", "docker container c0ffee012345 of user ann" */
};

/* Initialise with {}. */
struct limits {
	struct limit *items;
	size_t n;
	size_t alloc;
	bool cut;      /* there are more cgroups, or it took longer, than is looked at */
	bool unopened; /* the tree could not be read at all */
};

/*
 * Looks at every cgroup below the root of the tree memcg is in (running->memory_tree); where
 * memcg is not on, or nobody looked, there are none. On a live v1 tree libcgroup names the
 * groups, if it is there. 0 or -ENOMEM.
 */
int limits_find(const struct root *root, const struct running *running,
		struct limits *ret) _must_check_;
void limits_done(struct limits *limits);
#define _cleanup_limits_ _cleanup_(limits_done)

/*
 * Whom a cgroup belongs to, from its path: container, else unit, else the path itself; and the
 * user, from user-UID.slice or the directory's owner (0: nobody in particular), named as
 * /etc/passwd of the root does.
 */
int cgroup_owner(const struct root *root, const char *group, uid_t uid,
		 char **ret) _must_check_;
