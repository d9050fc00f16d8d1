/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the running kernel does now, and by what it is known. */

#include "base/macro.h"
#include "facts/cmdline.h"
#include "facts/state.h"

struct root;

enum hierarchy {
	HIERARCHY_NOT_LOOKED,
	HIERARCHY_UNKNOWN,
	HIERARCHY_NONE, /* no cgroup file system is mounted */
	HIERARCHY_V1,
	HIERARCHY_HYBRID, /* v1 controllers and a v2 tree beside them */
	HIERARCHY_V2,
	_HIERARCHY_MAX,
};
const char *hierarchy_to_string(enum hierarchy hierarchy) _pure_;

/* All strings are owned; NULL: none, or not looked at. */
struct running {
	enum memcg_state memcg;
	char *why;    /* one sentence part, always there unless memcg is NOT_LOOKED */
	char *source; /* path of the file that answered, or NULL */
	enum hierarchy hierarchy;
	char *memory_tree; /* root of the tree memcg is used in: "/sys/fs/cgroup", its v1 mount
			    */

	char *release;	    /* of the kernel */
	char *machine;	    /* "x86_64", or NULL */
	char *cmdline_text; /* /proc/cmdline */
	size_t cmdline_size;
	struct cmdline cmdline; /* of cmdline_text */
	enum cmdline_request request;
	char *token; /* the word that decides, as it is spelt */

	char *container;    /* "none", "docker", …, "unknown" */
	enum answer kdump;  /* a capture kernel */
	enum answer chroot; /* / is not that of PID 1 */
};

/* A root without a kernel (offline) leaves everything at "not looked at". */
int running_load(const struct root *root, struct running *ret) _must_check_;
void running_done(struct running *running);
#define _cleanup_running_ _cleanup_(running_done)
