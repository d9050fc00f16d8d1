/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The statistics of bench: rank methods only, because time per fault is skewed and its
 * distribution differs from host to host. All functions are pure; confidence is 95 %
 * throughout.
 *
 * Two samples of one round are a pair (same moment, random order), so a comparison inside one
 * boot is Wilcoxon's signed-rank test on the logarithms of the ratios; boots are independent,
 * so a comparison across boots is the test of Wilcoxon, Mann and Whitney on one value a boot.
 */

#include "base/macro.h"

#define STATS_ALPHA 0.05

enum {
	STATS_EXACT_PAIRS = 25,	   /* signed-rank: exact up to here, normal above */
	STATS_EXACT_UNPAIRED = 40, /* both samples together: likewise */
	STATS_LEAST_BOOTS = 4,	   /* three against three can never reach p < 0.05 */
};

/* Where the interval is not bounded (too few values for 95 %), lo and hi are infinite. */
struct stats_estimate {
	size_t n;
	double value, lo, hi;
};

/* An estimated difference: interval and p-value of "there is none" (two-sided). */
struct stats_difference {
	size_t n;	      /* pairs, or the smaller sample */
	double value, lo, hi; /* Hodges-Lehmann; lo and hi as above */
	double p;
	bool exact; /* p is exact, not by the normal approximation */
};

/* n / sum(1/x): the rate of the total work. NAN for n = 0 or a value that is not positive. */
double stats_hmean(const double *x, size_t n) _pure_;
/* Standard deviation over mean; NAN below two values. */
double stats_cv(const double *x, size_t n) _pure_;
/* The least value; NAN for n = 0. */
double stats_min(const double *x, size_t n) _pure_;

/* Median, with the order-statistic interval: 0, -ENOMEM, or -ENODATA for n = 0. */
int stats_median(const double *x, size_t n, struct stats_estimate *ret) _must_check_;

/*
 * The centre of paired differences. Zeros are left out of the p-value (Wilcoxon) and kept in
 * the estimate. 0, -ENOMEM, or -ENODATA for n = 0.
 */
int stats_paired(const double *d, size_t n, struct stats_difference *ret) _must_check_;
/* How far y lies above x. 0, -ENOMEM, or -ENODATA when one is empty. */
int stats_unpaired(const double *x, size_t nx, const double *y, size_t ny,
		   struct stats_difference *ret) _must_check_;

/* Holm's step-down adjustment of n p-values, in place; -ENOMEM. */
int stats_holm(double *p, size_t n) _must_check_;

enum stats_verdict {
	STATS_TOO_FEW,	     /* not enough pairs or boots to say anything */
	STATS_COST,	     /* costs more, significantly */
	STATS_SAVING,	     /* costs less, significantly */
	STATS_NO_DIFFERENCE, /* none larger than the bound */
	STATS_NOISY,	     /* and the bound is too wide to be of use */
	_STATS_VERDICT_MAX,
};

/* A bound wider than this (as a ratio: 5 %) says nothing about costs of a few percent. */
#define STATS_NOISY_ABOVE 0.05

/*
 * Judges a difference of logarithms. p is its p-value, adjusted for how many are judged.
 * control is the difference of two samples of the same thing taken alike (NULL: none was
 * taken): a control that is itself significant and as large as the difference makes it noise.
 * ret_bound: the ratio r of "no difference larger than r".
 */
enum stats_verdict stats_judge(const struct stats_difference *difference, double p,
			       const struct stats_difference *control, double *ret_bound);
/* Half the width of an interval of logarithms, as a ratio: what the control could resolve. */
double stats_resolution(const struct stats_difference *control) _pure_;
/* The name in JSON. */
const char *stats_verdict_name(enum stats_verdict verdict);
