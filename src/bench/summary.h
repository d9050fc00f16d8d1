/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the samples of a result say: per workload the arms side by side, and the differences. */

#include "base/macro.h"
#include "bench/stats.h"
#include "bench/workload.h"

struct json;
struct result;
struct result_sample;

/* The cost of a unit. Verdicts are on CPU time, which is there everywhere. */
enum summary_metric {
	METRIC_CPU,	     /* ns of CPU time */
	METRIC_WALL,	     /* ns */
	METRIC_INSTRUCTIONS, /* in the kernel */
	METRIC_CYCLES,	     /* likewise */
};

/* NAN for a sample that is invalid or has no such counter. */
double summary_cost(const struct result_sample *sample, enum summary_metric metric) _pure_;

/* One arm of a workload. Rates are harmonic means, so of the total work. */
struct summary_arm {
	size_t n, dropped;
	unsigned reasons;	    /* of the dropped ones, or-ed */
	int error;		    /* of the last that failed */
	struct stats_estimate cost; /* METRIC_CPU; n = 0: no valid sample */
	double wall, least, cv;	    /* median, minimum, coefficient of variation */
	double phases[_PHASE_MAX];  /* medians of wall ns per unit, 0 without phases */
	double per_cpu; /* units per second of CPU; of the touch phase where it is taken apart
			 */
	double per_second;	     /* units per second; likewise */
	double instructions, cycles; /* medians, NAN without a PMU */
	double faults;		     /* median per unit */
};

/* Logarithms of the ratio to arm 0, paired by rounds. */
struct summary_difference {
	size_t arm;
	struct stats_difference cpu;
	double ns;			      /* the same per unit, from the medians' level */
	struct stats_difference instructions; /* n = 0: no PMU */
	double p; /* of cpu, adjusted over all workloads and arms (Holm) */
	enum stats_verdict verdict;
	double bound; /* of "no difference larger than" */
};

struct summary_case {
	struct summary_arm *arms;	   /* as in the result */
	struct summary_difference control; /* n = 0: none */
	struct summary_difference *differences;
	size_t n_differences;
};

/* Initialise with {}. */
struct summary {
	struct summary_case *cases;
	size_t n;
	size_t n_arms;
};

int summary_make(const struct result *result, struct summary *ret) _must_check_;
void summary_done(struct summary *summary);
#define _cleanup_summary_ _cleanup_(summary_done)

/* The widest half-interval of all differences, as a ratio; INFINITY when one has none. */
double summary_widest(const struct summary *summary) _pure_;
/* Whether a verdict is "too noisy" or "too few". */
bool summary_is_noisy(const struct summary *summary) _pure_;

/* NULL when out of memory (json_add() takes that). */
struct json *summary_to_json(const struct summary *summary, const struct result *result);
/* A difference of logarithms as "percent", "low", "high" (null when unbounded) and "p". */
void summary_add_difference(struct json *object, const struct stats_difference *d, double p);
