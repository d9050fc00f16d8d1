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
	char *release; /* "6.1.0-44-amd64"; NULL: the image's name does not say (kernel8.img) */
	char *image;   /* path in the root; NULL: only its modules are there */
	bool running;  /* live and snapshot: this release runs now */
	char *config;  /* path of its configuration, or NULL */
	bool config_failed; /* config is there and could not be read */
	struct kconfig kconfig;
	enum answer memcg_built;
	enum answer
		honours_enable; /* NOT_LOOKED until kernel_ask_enable(), unless it is cheap */
	unsigned rules;		/* mask of enum cmdline_rule that may hold */
	enum memcg_state state_default; /* without a word on the line: on, off, unknown */
};

/* Initialise with {}. Newest release first, kernels without a release last. */
struct kernels {
	struct kernel *items;
	size_t n;
	size_t alloc;
};

/* running_release: of the kernel that runs, or NULL. */
int kernels_load(const struct root *root, const char *running_release,
		 struct kernels *ret) _must_check_;
void kernels_done(struct kernels *kernels);
#define _cleanup_kernels_ _cleanup_(kernels_done)

/* By release; NULL when there is none. */
struct kernel *kernels_find(const struct kernels *kernels, const char *release) _pure_;
/* By the path of its image, links resolved; NULL when there is none. */
struct kernel *kernels_find_image(const struct kernels *kernels, const struct root *root,
				  const char *path);

/*
 * Looks up whether the kernel honours cgroup_enable= (its symbols if it runs, its image if not)
 * and narrows rules and state_default. Dear: only when such a word is on a line or would be
 * written. cache may be NULL.
 */
int kernel_ask_enable(const struct root *root, struct kernel *kernel,
		      struct kimage_cache *cache) _must_check_;

/* memcg's state when this kernel is booted with this line, as far as is known by now. */
enum memcg_state kernel_predict(const struct kernel *kernel,
				const struct cmdline *cmdline) _pure_;
