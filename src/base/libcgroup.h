/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The only user of libcgroup: groups of cgroup v1. It looks into /proc/cgroups when it starts,
 * so it is not asked where v2 answers. All return -EOPNOTSUPP without the library, or where it
 * does not understand this host's mounts. Names have no leading '/'.
 */

#include "base/macro.h"

struct strv;

int libcgroup_make(const char *controller, const char *name) _must_check_;
/* With everything below it. */
int libcgroup_remove(const char *controller, const char *name) _must_check_;
/* The groups in the controller's tree but its root, parents first. -EFBIG above max, with so
 * many. */
int libcgroup_list(const char *controller, size_t max, struct strv *ret) _must_check_;
