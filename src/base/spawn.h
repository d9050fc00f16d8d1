/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Running another program: an argv, never a shell string; a known PATH and LC_ALL=C and nothing
 * else of our environment; standard input empty; its own session. It is killed with its whole
 * process group when its time is up, and dies when we do.
 */

#include "base/macro.h"

struct root;

enum spawn_where {
	SPAWN_HERE,	 /* in our own root */
	SPAWN_CHROOT,	 /* in the given root, as it is */
	SPAWN_NAMESPACE, /* there, in a mount namespace with /dev, /proc and /sys of this system
			  */
};

struct spawn {
	const char *const *argv; /* argv[0] is an absolute path */
	const struct root *root; /* for CHROOT and NAMESPACE */
	enum spawn_where where;
	unsigned timeout; /* seconds */
};

struct spawn_result {
	int status;   /* exit status; 128 + signal when it was killed */
	char *output; /* standard output and error together, at most the last 256 KiB */
	size_t size;
};

void spawn_result_done(struct spawn_result *result);
#define _cleanup_spawn_result_ _cleanup_(spawn_result_done)

/*
 * 0 when it ran to its end, whatever its exit status; -ETIMEDOUT (with the output so far), or
 * another negative errno when it could not be started.
 */
int spawn_run(const struct spawn *spawn, struct spawn_result *ret) _must_check_;
