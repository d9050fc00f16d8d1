/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The needs catalogue as data: needs.d/ *.conf of the three places, parsed and checked. */

#include "base/macro.h"
#include "base/str.h"
#include "policy/need.h"

struct diag;
struct root;

enum rule_section {
	RULE_INSTALLED, /* the software is there */
	RULE_IN_USE,	/* it is used, or enabled at boot */
	RULE_LIMITS,	/* a memory limit is stored: in use, and hurt by an "off" */
	RULE_ENABLED, /* where there are such rules, the other two count only if one matches */
	_RULE_SECTION_MAX,
};

enum rule_kind {
	RULE_UNIT_ENABLED, /* words: names and globs */
	RULE_UNIT_ACTIVE,  /* words: names and globs */
	RULE_CGROUP_LIMIT, /* words: globs of cgroups below the memory tree's root */
	RULE_PATH,	   /* words: globs */
	RULE_SETTING,	   /* words[0]: glob; section, key, op, value */
	RULE_JSON,	   /* words[0]: glob; key is a JSON pointer; op, value */
	RULE_TEXT,	   /* words[0]: glob; regex */
	RULE_UNIT_SETTING, /* words[0]: glob; words[1..]: keys */
	_RULE_KIND_MAX,
};

enum rule_op {
	RULE_EXISTS,
	RULE_EQUAL,
	RULE_NOT_EQUAL,
	RULE_MATCH,   /* regex */
	RULE_GREATER, /* number */
	_RULE_OP_MAX,
};

struct rule_regex; /* a compiled POSIX extended regular expression */

struct rule {
	enum rule_section section;
	enum rule_kind kind;
	struct strv words;
	char *ini_section; /* NULL: any */
	char *key;
	enum rule_op op;
	char *value;
	double number;
	struct rule_regex *regex;
	unsigned line;
};

/* A directory that a setting of the consumer itself moves, used as ${NAME} in its rules. */
struct variable {
	char *name;
	char *fallback;
	struct rule rule; /* RULE_SETTING or RULE_JSON without op and value */
};

/* One consumer. */
struct detector {
	struct need need; /* id, title, level and the other fixed parts */
	struct rule *rules;
	size_t n_rules;
	struct variable *variables;
	size_t n_variables;
	bool bad; /* a line was not understood: what is not seen is unknown */
};

struct catalogue {
	struct detector *detectors; /* in byte order of their ids */
	size_t n;
	bool incomplete; /* a file could not be used at all */
};

/*
 * Loads the catalogue. What is wrong with a file is a warning with its path and line, and makes
 * that detector bad, or the catalogue incomplete. Only -ENOMEM is an error.
 */
int catalogue_load(const struct root *root, struct catalogue *ret,
		   struct diag *diag) _must_check_;
void catalogue_done(struct catalogue *catalogue);
#define _cleanup_catalogue_ _cleanup_(catalogue_done)

/* Whether the regex matches in s; *ret_start and *ret_end are the bounds of what its first
 * group matched, else of the whole match. */
bool rule_regex_match(const struct rule_regex *regex, const char *s, size_t *ret_start,
		      size_t *ret_end);
