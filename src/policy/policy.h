/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The site policy, by the rules of UAPI.6 (uapi-group.org, "Configuration Files
 * Specification"): policy.conf of the highest of /etc, /run and /usr/lib that has one, then
 * policy.conf.d/ *.conf of all three merged by file name; an empty file or a link to /dev/null
 * masks. A key that is set beats the role; an empty key is what the role says; then comes the
 * default.
 */

#include "base/macro.h"
#include "base/str.h"
#include "policy/need.h"

struct diag;
struct root;

/* What "memcg-policy set" writes, whole. */
#define POLICY_SET_PATH "/etc/memcg-policy/policy.conf.d/50-set.conf"
/* The value of Role= that means "look", and which no role can have as its name. */
#define POLICY_ROLE_AUTO "auto"

enum policy_memcg {
	POLICY_LEAVE, /* report only */
	POLICY_ON,
	POLICY_OFF,
	POLICY_AUTO, /* on if something here needs it */
	_POLICY_MEMCG_MAX,
	_POLICY_MEMCG_INVALID = -EINVAL,
};

const char *policy_memcg_to_string(enum policy_memcg memcg);
enum policy_memcg policy_memcg_from_string(const char *s);

/* Where a setting was made. path is NULL for the built-in default. */
struct policy_source {
	const char *path; /* owned by struct policy */
	unsigned line;
	unsigned column;
};

struct policy_memcg_setting {
	enum policy_memcg value;
	struct policy_source source;
};

struct policy_level_setting {
	enum need_level value;
	struct policy_source source;
};

struct policy_text_setting {
	const char *value; /* NULL: not set; owned by struct policy */
	struct policy_source source;
};

struct policy_section; /* what the files say, before the role is applied */

/* Initialise with {}. The settings in force; a role's are filled in by policy_resolve(). */
struct policy {
	struct policy_memcg_setting memcg;	 /* default leave */
	struct policy_text_setting role;	 /* as written: NULL, "auto" or a name */
	struct policy_level_setting need_level;	 /* default degraded */
	struct policy_memcg_setting if_unneeded; /* off or leave; default leave */
	struct policy_text_setting backend;	 /* NULL: probe */
	struct policy_text_setting *fail_closed; /* unit names and globs */
	size_t n_fail_closed;

	/* the role in force (with Role=auto the guessed one), or NULL */
	const char *effective_role;

	struct strv files; /* read, in order of precedence, lowest first */
	struct policy_section *sections;
	size_t n_sections;
};

/*
 * Loads and resolves the policy. Unknown keys and sections are warnings in diag. -EINVAL (or
 * the errno of a file that cannot be read) with at least one error in diag when the policy is
 * not wholly understood: the caller must then change nothing.
 *
 * With Role=auto the result is that of no role until policy_resolve() is told what was seen.
 */
int policy_load(const struct root *root, struct policy *ret, struct diag *diag) _must_check_;
/* The same as if POLICY_SET_PATH had content already; NULL: as if it were missing. */
int policy_load_with(const struct root *root, const char *content, struct policy *ret,
		     struct diag *diag) _must_check_;

/* Fills the settings in for a policy with Role=auto, role being a role's name. */
int policy_resolve(struct policy *policy, const char *role) _must_check_;

/* What the role in force says of Memcg=, also where a set key beats it; value is
 * _POLICY_MEMCG_INVALID when it says nothing. */
struct policy_memcg_setting policy_role_memcg(const struct policy *policy);

/* Whether word is a role of this policy; "on", "off", "auto" and "leave" never are. */
bool policy_has_role(const struct policy *policy, const char *word);

/*
 * What "set WORD" writes to POLICY_SET_PATH: Memcg= for a policy word, Role= with an empty
 * Memcg= for a role. -ENOENT with an error in diag (and "did you mean") when word is neither.
 */
int policy_set_content(const struct policy *policy, const char *word, char **ret,
		       struct diag *diag) _must_check_;
/*
 * Whether word is in force in a policy loaded by policy_load_with() with that content: 0, or
 * -EEXIST with an error in diag that names the later setting's path and line.
 */
int policy_set_check(const struct policy *policy, const char *word,
		     struct diag *diag) _must_check_;

void policy_done(struct policy *policy);
#define _cleanup_policy_ _cleanup_(policy_done)
