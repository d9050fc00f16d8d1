/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What kind of place this system runs in. */

#include "base/macro.h"
#include "facts/state.h"

struct cmdline;
struct root;

/*
 * The container manager by systemd's rules (detect_container() in src/basic/virt.c): "none",
 * "docker", "podman", "lxc", …, "container-other", or "unknown". NULL for an offline root.
 * cgroup_namespace: /sys/fs/cgroup is not the root of its tree. ret is owned by the caller.
 */
int container_detect(const struct root *root, const char *release, bool cgroup_namespace,
		     char **ret) _must_check_;

/* Whether the kernel is one that was started to save a crashed one's memory. */
enum answer container_is_kdump(const struct root *root, const struct cmdline *cmdline);

/* Whether / is not that of PID 1. */
enum answer container_is_chroot(const struct root *root);
