/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One kernel, and what it makes of the memcg words. */

#include "base/macro.h"
#include "facts/cmdline.h"
#include "facts/kconfig.h"
#include "facts/state.h"

struct kimage_cache;
struct root;

/* Initialise with {} and the members down to running; all strings are owned. */
struct kernel {
	char *release; /* "6.1.0-44-amd64"; NULL: nothing says it (kernel8.img) */
	char *image;  /* path in the root; NULL: only its modules or its configuration are there
		       */
	bool running; /* this release runs now */
	char *config; /* path of its configuration, or NULL */
	int config_error; /* config is there and cannot be read: a negative errno */
	struct kconfig kconfig;
	enum answer memcg_built;
	enum answer honours_enable;	/* NOT_LOOKED until asked, unless it is cheap to know */
	unsigned rules;			/* mask of enum cmdline_rule: those that may hold */
	enum memcg_state state_default; /* without a word on the line: on, off, unknown */
};

/* Reads its configuration and judges it by that and by its release. */
int kernel_examine(struct kernel *kernel, const struct root *root) _must_check_;
void kernel_done(struct kernel *kernel);

/*
 * Looks up whether the kernel honours cgroup_enable= (its symbols if it runs, its image if not)
 * and narrows rules and state_default. Dear: only when such a word is on a line or would be
 * written. cache may be NULL. What cannot be read is unknown, not an error.
 */
int kernel_ask_enable(const struct root *root, struct kernel *kernel,
		      struct kimage_cache *cache) _must_check_;

/* Narrows them by what the kernel made of the line it runs with. */
void kernel_learn(struct kernel *kernel, const struct cmdline *cmdline, enum memcg_state state);

/*
 * memcg's state when this kernel is booted with this line by the boot loader, as far as is
 * known by now; what is built into the kernel counts too.
 */
int kernel_predict(const struct kernel *kernel, const struct cmdline *cmdline,
		   enum memcg_state *ret) _must_check_;
