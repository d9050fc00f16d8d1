/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Watches the host, calibrates, measures, and cleans up whatever happens. */

#include "base/macro.h"

struct arms_request;
struct diag;
struct plan;
struct result;
struct root;
struct running;

enum run_stage {
	RUN_WATCHING,	 /* this host's own page faults */
	RUN_CALIBRATING, /* how long a sample must be */
	RUN_MEASURING,
	RUN_PROFILING,
};

struct run_progress {
	enum run_stage stage;
	double done;   /* of this stage, 0 to 1 */
	double left_s; /* of this stage */
};

/* How the caller shows progress; called between samples, never during one. */
struct run_hooks {
	void (*progress)(void *data, const struct run_progress *progress);
	void *data;
};

/*
 * Runs the plan. -EINTR after SIGINT, SIGTERM, SIGHUP or SIGQUIT, which are held back until the
 * cgroups are removed; ret_signal says which (0: none). -ENOMEM with an error in diag when
 * memory or a limit would be short. Changes nothing of the caller: workers pin themselves.
 */
int run_plan(const struct root *root, const struct running *running, struct plan *plan,
	     const struct arms_request *where, const char *label, const struct run_hooks *hooks,
	     struct result *ret, int *ret_signal, struct diag *diag) _must_check_;
