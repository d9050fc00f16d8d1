/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the running kernel does now, and by what it is known. */

#include "base/macro.h"
#include "facts/cmdline.h"
#include "facts/state.h"

struct kernel;
struct root;

enum hierarchy {
	HIERARCHY_NOT_LOOKED,
	HIERARCHY_UNKNOWN,
	HIERARCHY_NONE, /* no cgroup file system is mounted */
	HIERARCHY_V1,
	HIERARCHY_HYBRID, /* v1 trees and a v2 tree beside them */
	HIERARCHY_V2,
	_HIERARCHY_MAX,
};
const char *hierarchy_to_string(enum hierarchy hierarchy) _pure_;

/* All strings are owned; NULL is none, or not looked at. */
struct running {
	enum memcg_state memcg;
	char *why;    /* part of a sentence, always there unless memcg is NOT_LOOKED */
	char *source; /* path of the file that answered, or NULL */
	enum hierarchy hierarchy;
	char *memory_tree; /* the tree memory is in: "/sys/fs/cgroup", a v1 mount; or NULL */

	char *release;	    /* "6.1.0-44-amd64" */
	char *machine;	    /* "x86_64" */
	char *cmdline_text; /* /proc/cmdline */
	struct cmdline cmdline;
	enum cmdline_request request;
	char *token; /* the word that decides, as it is spelt */

	char *container;    /* "none", "docker", …, "unknown" */
	enum answer kdump;  /* a kernel that saves the memory of a crashed one */
	enum answer chroot; /* / is not that of PID 1 */
};

/* What the kernel says about itself: release, machine, cmdline, request, token. */
int running_identify(const struct root *root, struct running *running) _must_check_;

/*
 * All the rest; kernel is the running one of the root's kernels, or NULL. An offline root
 * leaves everything at "not looked at".
 */
int running_look(const struct root *root, const struct kernel *kernel,
		 struct running *running) _must_check_;

void running_done(struct running *running);
#define _cleanup_running_ _cleanup_(running_done)
