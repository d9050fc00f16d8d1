/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the writing verbs share: plan, refuse, run, show. */

#include "base/diag.h"
#include "boot/boot.h"
#include "facts/facts.h"
#include "policy/decide.h"
#include "policy/need.h"
#include "policy/policy.h"

struct cmd;
struct json;

struct write;

/* Plans the verb's edits; everything else of struct write is loaded. */
typedef int (*write_plan_t)(struct write *write, struct changeset *cs, struct diag *diag);

/* Initialise with the first members. */
struct write {
	const struct cmd *cmd;
	const char *verb; /* for the record: "set off" */
	write_plan_t plan;
	/* the policy is judged as if POLICY_SET_PATH held this; only with replaces_policy */
	bool replaces_policy;
	bool ignores_policy; /* it decides nothing: a policy with errors is no reason to stop */
	const char *policy_content;

	/* loaded anew for each plan */
	struct facts facts;
	struct policy policy;
	struct needs needs;
	struct decision decision;
	struct boot boot;
	struct boot_state state;

	struct diag refused;	 /* why it is unsafe; errors, or warnings with --force */
	bool nothing_to_do_here; /* a kdump kernel: one line was said */
};

/*
 * Runs the verb from plan to exit status, printing diff, commands, what happened and what comes
 * next (or the JSON of them).
 */
int write_run(struct write *write);

/* What the decision wants of the boot loader. */
enum boot_want write_want(const struct write *write) _pure_;

/* The boot part of a plan: words, edits and refresh for the decision. */
int write_plan_boot(struct write *write, struct changeset *cs, struct diag *diag) _must_check_;
