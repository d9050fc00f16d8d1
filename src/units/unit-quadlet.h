/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Podman's quadlets: files of which a generator makes services at boot (podman-systemd.unit(5),
 * pkg/systemd/quadlet and cmd/quadlet of podman 5). Their [Service] section becomes systemd's,
 * the container's own limits are podman's to set.
 */

#include "base/macro.h"
#include "units/unit-path.h"
#include "units/unit-setting.h"

/* One limit that podman would set. */
struct unit_quadlet_limit {
	char *setting; /* "Memory", "PodmanArgs --memory", "resources.limits.memory" */
	char *value;
	bool invalid; /* podman cannot read the value */
	uint64_t bytes;
	enum unit_setting_kind kind;
	char *path; /* where it is written */
	unsigned line;
	unsigned column;
};

struct unit_quadlet_file {
	char *path;
	char *text; /* while the quadlet is loaded, later NULL */
	size_t size;
};

struct unit_quadlet {
	char *name;			 /* "web.container" */
	char *service;			 /* "web.service" */
	bool installed;			 /* its [Install] section has it started at boot */
	bool matters;			 /* the service's own settings concern memory */
	struct unit_quadlet_file *files; /* itself, then its drop-ins in order */
	size_t n_files;
	struct unit_quadlet_limit *limits;
	size_t n_limits;
};

/* Initialise with {}. Sorted by service. */
struct unit_quadlets {
	struct unit_quadlet *items;
	size_t n;
	bool cut; /* there are more directories, or deeper ones, than are looked into */
};

/* *budget as for unit_scan(). */
int unit_quadlets_load(const struct root *root, const struct unit_owner *owner, size_t *budget,
		       struct unit_quadlets *ret) _must_check_;
void unit_quadlets_done(struct unit_quadlets *quadlets);

/* Whether a file of that name would be a quadlet. */
bool unit_quadlet_is_name(const char *name) _pure_;
const struct unit_quadlet *unit_quadlets_find(const struct unit_quadlets *quadlets,
					      const char *service) _pure_;

/* A size as podman reads it ("3g", "1.5GiB"): 0 or -EINVAL. 0 bytes is no limit. */
int unit_quadlet_size(const char *s, uint64_t *ret) _must_check_;
