/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The cgroup file systems, and what they say about the memory controller. A controller is on
 * one hierarchy only: on a v1 mount it is missing from the v2 root, and is on all the same.
 */

#include "base/macro.h"
#include "facts/running.h"
#include "facts/state.h"

struct root;

/* Initialise with {}; all paths are owned. */
struct cgroupfs {
	enum hierarchy hierarchy;
	enum memcg_state memcg; /* ON, or UNKNOWN */
	bool absent;		/* the root of the v2 tree and the v1 trees do not have it */
	bool namespaced;	/* /sys/fs/cgroup is not the root of its tree */
	bool sure_root;		/* of a capture: what a child would have was asked for, too */
	bool v2_only;		/* v2 is what is on /sys/fs/cgroup */
	char *source;		/* of memcg or of absent */
	char *memory_tree;	/* the tree memory is in, or NULL */
	const char *why;	/* static */
};

int cgroupfs_look(const struct root *root, struct cgroupfs *ret) _must_check_;
void cgroupfs_done(struct cgroupfs *cgroupfs);
#define _cleanup_cgroupfs_ _cleanup_(cgroupfs_done)

/* /proc/cgroups, the last resort: reading it on a v2 host leaves a line in the kernel's log. */
struct cgroupfs_table {
	bool rows; /* there are controllers */
	enum answer
		memory; /* its row: YES enabled, NO disabled, NOT_LOOKED when there is none */
	bool mounted;	/* some controller is on a v1 hierarchy */
};
/* 0, or -ENOENT and the like. */
int cgroupfs_read_table(const struct root *root, struct cgroupfs_table *ret) _must_check_;
