/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The sections of the policy files as written; policy.c says what is in force. */

#include "policy/policy.h"

enum policy_key {
	KEY_MEMCG,
	KEY_ROLE,
	KEY_NEED_LEVEL,
	KEY_IF_UNNEEDED,
	KEY_BACKEND,
	KEY_FAIL_CLOSED,
	_KEY_MAX,
};

/* A key's value; text is NULL while the key is unset or empty. */
struct policy_value {
	char *text;
	struct policy_source source;
	char *line_text; /* the line it is on, for the caret */
};

/* [Policy], or [Role NAME] with its name. */
struct policy_section {
	char *name; /* NULL: [Policy] */
	struct policy_value values[_KEY_MAX];
	struct policy_value *fail_closed; /* the words of FailClosed= */
	size_t n_fail_closed;
};

/* The values of Memcg=, NULL-terminated. */
extern const char *const section_memcg_words[];

/* name NULL: [Policy]. NULL when there is none. */
struct policy_section *section_find(const struct policy *policy, const char *name);

/*
 * Reads one file's text into the sections of policy, over what is there. Goes on behind an
 * error, so that all of them are reported at once: 0, or -EINVAL with errors in diag.
 */
int section_parse_file(struct policy *policy, const char *path, const char *text, size_t size,
		       struct diag *diag) _must_check_;

void section_done(struct policy_section *section);
