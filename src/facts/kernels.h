/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kernels a root has installed, and what each makes of the memcg words. */

#include "base/macro.h"
#include "facts/cmdline.h"
#include "facts/kconfig.h"
#include "facts/state.h"

struct kimage_cache;
struct root;

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

/* Initialise with {}. Newest release first, kernels without a release last. */
struct kernels {
	struct kernel *items;
	size_t n;
	size_t alloc;
};

/*
 * running_release is of the kernel that runs, or NULL; live and in a snapshot that kernel is in
 * the list even if nothing of it is installed.
 */
int kernels_load(const struct root *root, const char *running_release,
		 struct kernels *ret) _must_check_;
void kernels_done(struct kernels *kernels);
#define _cleanup_kernels_ _cleanup_(kernels_done)

/* All are borrowed; NULL when there is none. */
struct kernel *kernels_find(const struct kernels *kernels, const char *release) _pure_;
struct kernel *kernels_find_running(const struct kernels *kernels) _pure_;
/* By its image: the same file (links and copies by name are followed), or the same release. */
struct kernel *kernels_find_image(const struct kernels *kernels, const struct root *root,
				  const char *path);

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
