/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Settings against the controller: which hold, which do not, and why. */

#include "base/macro.h"
#include "facts/running.h"
#include "facts/state.h"
#include "units/units.h"

/* What the kernel gives, or will give. */
struct unit_basis {
	enum memcg_state memcg;
	enum hierarchy hierarchy; /* not looked at: taken for v2 */
	bool next;		  /* the next boot, not what runs now */
	const char *cause;	  /* why memcg is what it is: a sentence part, or NULL */
};

enum unit_finding_state {
	UNIT_ENFORCED,
	UNIT_UNENFORCED, /* systemd would, the kernel does not */
	UNIT_IGNORED,	 /* systemd does not use it, also with the controller on */
	UNIT_INVALID,	 /* systemd rejects what is written */
	UNIT_STATE_UNKNOWN,
	_UNIT_FINDING_STATE_MAX,
};

/* Strings are borrowed from the units, but for why. */
struct unit_finding {
	const char *unit;
	const char *setting;
	const char *value;
	bool has_bytes;
	uint64_t bytes;
	bool has_share;
	unsigned share; /* of 10000 */
	enum unit_setting_kind kind;
	enum unit_finding_state state;
	char *why;
	const char *path;
	unsigned line;
	unsigned column;
	enum unit_enabled enabled;
	int active;    /* 1, 0, -1: not looked at */
	bool replaced; /* another setting took its place, so that nothing is lost with it */
	bool lost;     /* not in force, of a unit that runs or starts */
	bool counts;   /* and a limit or protection */
};

/* Initialise with {}. */
struct unit_findings {
	struct unit_finding *items; /* by unit, then setting, then place */
	size_t n;
	size_t alloc;
};

int units_judge(const struct units *units, const struct unit_basis *basis,
		struct unit_findings *ret) _must_check_;
void unit_findings_done(struct unit_findings *findings);
#define _cleanup_unit_findings_ _cleanup_(unit_findings_done)

/* For those who know more about a unit than its files: sets lost and counts from the rest. */
void unit_finding_count(struct unit_finding *finding);
/* Takes over finding->why. */
int unit_findings_add(struct unit_findings *findings,
		      const struct unit_finding *finding) _must_check_;
void unit_findings_sort(struct unit_findings *findings);

const char *unit_finding_state_to_string(enum unit_finding_state state) _pure_;

/* The numbers of "status" and "check". */
struct unit_counts {
	size_t settings;
	size_t unenforced;
	size_t ignored;
	size_t invalid;
	size_t counting; /* those that make "check" and "units" exit with 6 */
};
void unit_findings_count(const struct unit_findings *findings, struct unit_counts *ret);
