/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A systemd manager for tests: a process behind a socket that answers ListUnits and Get. */

#include "base/macro.h"

#include <sys/types.h>

/* One unit; its object is /org/freedesktop/systemd1/unit/N, N being its place in the table. */
struct manager_unit {
	const char *name;
	const char *active_state;
	/* "Interface.Property TYPE VALUE" a line; TYPE is b, u, t, s, or x for
	 * a type nobody knows */
	const char *properties;
};

enum manager_mood {
	MANAGER_WELL,
	MANAGER_NEVER_READS,	/* the connection is made, nothing is said */
	MANAGER_NEVER_LISTS,	/* calls are read and not answered */
	MANAGER_HANGS,		/* after four answers */
	MANAGER_GOES,		/* likewise, and the connection ends */
	MANAGER_FORGETS_UNITS,	/* every second unit is gone by the time it is asked for */
	MANAGER_TALKS_NONSENSE, /* wrong types */
};

struct manager {
	pid_t pid;
	char address[128];
	char path[96];
};

/* units are borrowed until manager_stop(). */
void manager_start(struct manager *manager, enum manager_mood mood,
		   const struct manager_unit *units, size_t n);
void manager_stop(struct manager *manager);
