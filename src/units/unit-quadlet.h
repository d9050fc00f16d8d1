/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Podman's quadlets: files of which a generator makes services at boot
 * (podman-systemd.unit(5)). Their [Service] section is systemd's, the container's own limits
 * are podman's.
 */

#include "base/macro.h"

struct unit_quadlet {
	char *name;    /* "web.container" */
	char *service; /* "web.service" */
	char *path;
	char *text;
	size_t size;
};

/* Initialise with {}. Sorted by service. */
struct unit_quadlets {
	struct unit_quadlet *items;
	size_t n;
};

const struct unit_quadlet *unit_quadlets_find(const struct unit_quadlets *quadlets,
					      const char *service) _pure_;
