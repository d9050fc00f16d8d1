/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is mounted where, by libmount, opened on demand; its only user. */

#include "base/macro.h"

struct root;

struct mount {
	char *target;	/* "/sys/fs/cgroup/memory" */
	char *type;	/* "cgroup" */
	char *root;	/* what of the file system is there: "/"; NULL from /proc/mounts */
	char *source;	/* "/dev/sda1", or NULL */
	char *options;	/* of the mount and of the file system: "rw,nosuid,memory" */
	uint64_t devno; /* 0 from /proc/mounts */
};

/* Initialise with {}. In the order of mounting. */
struct mounts {
	struct mount *items;
	size_t n;
	size_t alloc;
	const char *path; /* of the file that was read */
};

/*
 * Reads /proc/self/mountinfo; where a snapshot lacks it, /proc/mounts. -EOPNOTSUPP without
 * libmount, -ENOENT where there is neither (also for an offline root).
 */
int mounts_load(const struct root *root, struct mounts *ret) _must_check_;
void mounts_done(struct mounts *mounts);
#define _cleanup_mounts_ _cleanup_(mounts_done)

/* Whether options has this one, alone or as "option=value". */
bool mount_has_option(const struct mount *mount, const char *option) _pure_;
