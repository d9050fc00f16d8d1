/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the writing verbs share: plan, refuse, run, show. */

#include "cmd/host.h"

struct cmd;

struct write;

/* Plans the verb's edits; everything else of struct write is loaded. */
typedef int (*write_plan_t)(struct write *write, struct changeset *cs, struct diag *diag);

/* Initialise with the first members. */
struct write {
	const struct cmd *cmd;
	const char *verb; /* for the record: "set off" */
	write_plan_t plan;
	/* the policy is judged as if "set" had written this; NULL: as it is */
	const char *policy_content;
	bool ignores_policy; /* it decides nothing: a policy with errors is no reason to stop */
	/* files that are taken back, added by plan(): no copy of what they held stays on FAT */
	struct strv taken_back;

	struct host host;	 /* loaded anew for each plan */
	struct diag refused;	 /* why it is unsafe; errors, or warnings with --force */
	bool nothing_to_do_here; /* a kdump kernel: one line was said */
	bool next_differs;	 /* after a change: the next boot will not be as this one */
};

/*
 * Runs the verb from plan to exit status, printing diff, commands, what happened and what comes
 * next (or the JSON of them).
 */
int write_run(struct write *write);

/* The boot part of a plan: words, edits and refresh for the decision. */
int write_plan_boot(struct write *write, struct changeset *cs, struct diag *diag) _must_check_;
