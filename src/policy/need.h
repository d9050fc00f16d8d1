/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a consumer of memcg is to the rest of the program; src/needs/ finds them. */

#include "base/macro.h"

/* How much is lost with memcg off; each level includes what is below it. */
enum need_level {
	NEED_MONITOR,  /* only numbers go missing */
	NEED_DEGRADED, /* a feature goes away, the rest works */
	NEED_LIMITS,   /* it starts; configured limits fail or are dropped */
	NEED_REQUIRED, /* it, or its main job, does not start */
	_NEED_LEVEL_MAX,
	_NEED_LEVEL_INVALID = -EINVAL,
};

const char *need_level_to_string(enum need_level level);
enum need_level need_level_from_string(const char *s);

/* "unknown" is a value: a detector that failed saw nothing, which is not "no". */
enum need_state {
	NEED_NO,
	NEED_YES,
	NEED_UNKNOWN,
};

/* One thing that was seen. */
struct need_evidence {
	char *path;    /* inside the root */
	unsigned line; /* 0: none */
	char *text;    /* the line itself, or what is there in a few words */
};

struct need {
	char *id; /* name of its file without ".conf" */
	char *title;
	enum need_level level;
	char *effect;	     /* one sentence: what happens with memcg off */
	char *documentation; /* NULL: none */
	char *role;	     /* a host where this is in use has this role, or NULL */
	char *path;	     /* the catalogue file */

	enum need_state installed;
	enum need_state in_use;
	bool limits_unknown; /* whether there are limits could not be told, or not of all */
	size_t n_limits;     /* stored limits found, also those not listed as evidence */
	struct need_evidence *evidence;
	size_t n_evidence;
};

struct needs {
	struct need *items; /* in use first, then by level, then by id */
	size_t n;
	/* a catalogue file could not be used at all: what it would have found is unknown */
	bool incomplete;
};

void need_done(struct need *need);
/* 0 or -ENOMEM. text is copied. */
int need_add_evidence(struct need *need, const char *path, unsigned line,
		      const char *text) _must_check_;

/* The array "needs" of the JSON of needs and status. */
struct json;
struct json *needs_to_json(const struct needs *needs) _must_check_;

void needs_done(struct needs *needs);
#define _cleanup_needs_ _cleanup_(needs_done)
