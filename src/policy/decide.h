/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Policy and needs -> on, off or leave, with the reasons. Pure: no file, clock or environment.
 */

#include "base/macro.h"

struct needs;
struct policy;

enum decision_memcg {
	DECISION_LEAVE, /* change nothing */
	DECISION_ON,
	DECISION_OFF,
	_DECISION_MAX,
	_DECISION_INVALID = -EINVAL,
};

const char *decision_to_string(enum decision_memcg memcg);

struct decision_reason {
	char *text;
	char *path; /* NULL: no file says so */
	unsigned line;
};

void decision_reason_done(struct decision_reason *reason);

/* Initialise with {}. */
struct decision {
	enum decision_memcg memcg;
	struct decision_reason *reasons; /* the chain policy -> role -> need, in that order */
	size_t n_reasons;
};

/* needs may be NULL unless the policy is auto. role_reason says how Role=auto was answered;
 * NULL when it was not asked. 0 or -ENOMEM. */
int decide(const struct policy *policy, const struct needs *needs,
	   const struct decision_reason *role_reason, struct decision *ret) _must_check_;

void decision_done(struct decision *decision);
#define _cleanup_decision_ _cleanup_(decision_done)
