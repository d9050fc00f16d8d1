/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * openat2(2) RESOLVE_IN_ROOT in user space, component by component, with the same answers: for
 * kernels before 5.6, and wherever the resolved path itself is wanted. Only base/root.c uses
 * it.
 */

#include "base/macro.h"

/*
 * O_PATH descriptor of what is at path below root_fd; with follow unset a link as last
 * component is opened itself. offline hides the running kernel's directories (-ENOENT).
 */
int walk_open(int root_fd, bool offline, const char *path, bool follow,
	      int *ret_fd) _must_check_;
/* The path with all links resolved; its last component need not exist. */
int walk_name(int root_fd, bool offline, const char *path, char **ret) _must_check_;

/* The directories of a running kernel and its services, which an offline root does not show. */
bool walk_is_kernel_dir(const char *name, size_t n) _pure_;
/* The whole target of a link: -ENAMETOOLONG instead of a part of it. */
int walk_read_link(int fd, const char *name, char **ret) _must_check_;
