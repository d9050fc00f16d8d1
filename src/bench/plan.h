/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a run is going to do, decided before anything is measured. */

#include "base/macro.h"
#include "bench/workload.h"

struct diag;
struct root;

enum plan_preset {
	PLAN_QUICK,
	PLAN_STANDARD,
	PLAN_THOROUGH,
};

/* As on the command line; NULL: not given. */
struct plan_request {
	enum plan_preset preset;
	bool profile;
	const char *workload, *clients, *rounds, *seed, *cpus, *target, *max_time, *watch, *dir;
};

/* Initialise with {}. */
struct plan {
	enum plan_preset preset;
	struct workload_case *cases; /* loops and bytes are calibrated by the run */
	size_t n_cases;
	int *cpus; /* to pin to, the best first */
	size_t n_cpus;
	uint32_t rounds;    /* at most */
	bool fixed_rounds;  /* asked for: time does not cut them */
	uint64_t budget_ns; /* of measuring; 0: none */
	double target;	    /* PLAN_THOROUGH: wanted half-width, a ratio */
	uint64_t watch_ns;
	uint64_t seed;
	bool profile;
	const char *dir; /* of the file, borrowed; NULL: in memory */
	uint64_t bytes;	 /* in use at once at most, to be announced */
};

/* -EINVAL with an error in diag for a value that is not understood. */
int plan_make(const struct root *root, const struct plan_request *request, struct plan *ret,
	      struct diag *diag) _must_check_;
void plan_done(struct plan *plan);
#define _cleanup_plan_ _cleanup_(plan_done)

/* "10s", "2min", "1h"; a bare number is seconds: 0, -EINVAL or -ERANGE. */
int plan_parse_time(const char *s, uint64_t *ret_ns) _must_check_;
/* "0,2-3" as numbers below max in the order given: 0, -EINVAL or -ENOMEM. */
int plan_parse_list(const char *s, unsigned max, int **ret, size_t *ret_n) _must_check_;
