/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kernels a root has installed. */

#include "base/macro.h"
#include "facts/kernel.h"

struct root;

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
