/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The ground truth: what the kernel holds for a unit, read from its cgroup. It covers a
 * switched off controller, DisableControllers=, missing delegation, failed writes and cgroup v1
 * alike.
 */

#include "base/macro.h"

struct root;
struct unit_setting;

enum unit_hold {
	UNIT_HOLD_UNKNOWN,  /* the cgroup is gone or cannot be read */
	UNIT_HOLDS,	    /* or, for a setting without a file: memory is on there */
	UNIT_HOLDS_OTHER,   /* the file has another value */
	UNIT_HOLDS_NO_FILE, /* memory is on in this cgroup, the kernel lacks this file */
	UNIT_HOLDS_NOT_ON,  /* memory is not on in this cgroup */
};

struct unit_cgroup_answer {
	enum unit_hold hold;
	uint64_t value;	     /* UNIT_HOLDS_OTHER: what is there; UINT64_MAX: no limit */
	char *stopped_below; /* UNIT_HOLDS_NOT_ON: the cgroup that has memory and does not pass
			      * it on, "/system.slice"; NULL: not even the root has it */
};

/*
 * tree: where the hierarchy with memory is mounted. v1: it is of version 1, which knows hard
 * limits only. want: the configured number, UINT64_MAX for infinity; the kernel rounds down to
 * pages. Answers of 0 or -ENOMEM.
 */
int unit_cgroup_look(const struct root *root, const char *tree, bool v1, const char *cgroup,
		     const struct unit_setting *setting, uint64_t want,
		     struct unit_cgroup_answer *ret) _must_check_;
void unit_cgroup_answer_done(struct unit_cgroup_answer *answer);

/* The number as the kernel keeps it: whole pages, UINT64_MAX for what is beyond its counters.
 */
uint64_t unit_cgroup_round(uint64_t bytes) _pure_;
