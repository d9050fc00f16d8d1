/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Memory limits in force now, as the kernel's own files say. */

#include "base/str.h"

struct root;

/* Initialise with {}. */
struct limits {
	struct strv set;    /* "system.slice/foo.service: memory.max 2147483648" */
	struct strv vendor; /* likewise, of units that limit only themselves as shipped */
	bool cut;	    /* there are more cgroups than were looked at */
};

/* Walks the tree memcg is used in (running->memory_tree). A tree that cannot be read has none:
 * then memcg is off, or this is no place to decide about it. */
int limits_find(const struct root *root, const char *memory_tree,
		struct limits *ret) _must_check_;
void limits_done(struct limits *limits);
#define _cleanup_limits_ _cleanup_(limits_done)
