/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What one word of one rule finds on this root; probe.c makes a need of it. */

#include "base/diag.h"
#include "base/str.h"
#include "facts/limits.h"
#include "needs/catalogue.h"

#include <time.h>

struct enabled;
struct root;
struct running;
struct units;

/*
 * Bounds. Of time the processor's is counted first, since a busy host must not get other
 * answers; the clock on the wall is for disks that hang.
 */
enum {
	LOOK_MAX_TEXT = 1024 * 1024,  /* a settings file */
	LOOK_MAX_LINE = 16 * 1024,    /* a line of it that a regex is tried on */
	LOOK_MAX_FILES = 50000,	      /* files that one glob matches */
	LOOK_MAX_DETECTOR_MS = 5000,  /* processor time of one detector */
	LOOK_MAX_TOTAL_MS = 60000,    /* all of them, by the clock */
	LOOK_MAX_ENTRIES = 200000,    /* directory entries that one detector looks at */
	LOOK_MAX_EVIDENCE = 10,	      /* listed per rule; the rest is counted */
	LOOK_MAX_EVIDENCE_TEXT = 200, /* bytes */
};

/* Everything is bounded: what goes beyond is a warning and "unknown", never "no". */
struct look {
	const struct root *root;
	struct diag *diag;
	struct enabled *enabled; /* read when the first rule asks */
	struct strv active;	 /* likewise: files that stand for the active units */
	bool active_read;
	const struct units *units;     /* likewise, where the caller has none */
	struct units *own_units;       /* those that were read */
	const struct running *running; /* NULL: live use is not looked at */
	struct limits limits;	       /* likewise */
	bool limits_read;
	uint64_t until; /* for all detectors */

	/* the detector that runs */
	const struct detector *detector;
	const struct rule *rule;
	struct need *need;
	uint64_t detector_until;
	size_t budget; /* directory entries left */
	struct diag warnings;
	struct strv warned; /* paths that have a warning */
	bool broken;	    /* something failed that running as root would not help */
	size_t *matches;    /* of each rule */
	bool failed;	    /* the rule, or the group of rules, could not be answered */
};

/* All are borrowed; running and units may be NULL. */
void look_init(struct look *look, const struct root *root, const struct running *running,
	       const struct units *units, struct diag *diag);
void look_done(struct look *look);
#define _cleanup_look_ _cleanup_(look_done)

/* Milliseconds of that clock. */
uint64_t look_now(clockid_t clock);

/* Looks for the word of the rule. What is found is added to look->need, what cannot be looked
 * at to look->warnings. 0 or -ENOMEM. */
int look_word(struct look *look, const struct rule *rule, const char *word) _must_check_;

/* UnitSetting=: look-units.c */
int look_unit_setting(struct look *look, const struct rule *rule) _must_check_;
void look_units_done(struct look *look);

/* CgroupLimit=: look-cgroups.c */
int look_cgroup_limit(struct look *look, const char *pattern) _must_check_;

/* For what looks: a match, and what could not be looked at (error as an errno). */
int look_found(struct look *look, const char *path, unsigned line, const char *text,
	       size_t size) _must_check_;
void look_failed(struct look *look, const char *path, int error, const char *why);

/* Rules that ask the same files are answered in one go, by the first of them. */
bool look_same_files(const struct rule *a, const struct rule *b) _pure_;
