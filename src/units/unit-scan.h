/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Which units can have a finding at all. Every file of the search path is read once; what is
 * kept are the names whose files or drop-ins hold a memory setting, so memory grows with those.
 */

#include "base/macro.h"
#include "base/str.h"
#include "units/unit-load.h"
#include "units/unit-path.h"

/* A drop-in directory with a memory setting that more than one unit can have. */
struct unit_stem {
	char *name; /* "foo-.service", "foo@.service" */
	bool used;  /* some unit has it */
};
struct unit_stems {
	struct unit_stem *items;
	size_t n;
	size_t alloc;
};

/* "bar.target.wants" in one search directory. */
struct unit_subdir {
	char *name;
	size_t dir;
};
struct unit_subdirs {
	struct unit_subdir *items;
	size_t n;
	size_t alloc;
};

/* Initialise with {}. */
struct unit_scan {
	struct strv names;		 /* sorted, each once */
	struct unit_fragments fragments; /* those of them that have a file with a setting */
	struct unit_stems stems;	 /* sorted by name, each once */
	/* those there are at all, also without a setting: "foo-.service.d", and types of units
	 */
	struct strv shared;
	unsigned has_types;
	unsigned types; /* 1 << enum unit_type: the whole type has such a drop-in */
	struct unit_aliases aliases; /* sorted by target */
	struct unit_subdirs wants;   /* sorted by name, then by priority */
	/* timers, paths and sockets that start something else than the service of their own
	 * name; sorted by name */
	struct unit_aliases triggers;
};

/* Reads the search path; afterwards the loader uses what ret holds, which must not move. */
int unit_scan(struct unit_loader *loader, struct unit_scan *ret) _must_check_;
void unit_scan_done(struct unit_scan *scan);

/* Whether the name is one of those found. */
bool unit_scan_has(const struct unit_scan *scan, const char *name);

/* Whether the name is that of a file with a setting, and no link. */
bool unit_scan_has_fragment(const struct unit_scan *scan, const char *name);

/* The explicit target of a timer, path or socket, or NULL. */
const char *unit_scan_trigger(const struct unit_scan *scan, const char *name);
