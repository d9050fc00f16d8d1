/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Results of several boots against each other: the only way to learn what memcg costs as a
 * whole. A boot is one observation (the median of its samples), because what differs between
 * two boots of the same kernel is often more than what differs within one.
 */

#include "base/macro.h"
#include "base/str.h"
#include "bench/meaning.h"
#include "bench/stats.h"
#include "bench/summary.h"

struct diag;
struct json;

struct compare_row {
	char *title; /* of the workload */
	char *unit;
	char *arm;  /* of the second kind of boots */
	char *base; /* of the first: the same, or the only one there is */
	enum summary_metric metric;
	size_t n[2];		   /* boots */
	double values[2];	   /* medians of the boots' medians, per unit */
	struct stats_difference d; /* of logarithms */
	double p;		   /* adjusted */
	enum stats_verdict verdict;
	double bound;
};

/* One kind of boots. */
struct compare_side {
	char *name;  /* the label, or "memcg on" */
	char *memcg; /* NULL: not the same in all */
	size_t boots;
};

/* Initialise with {}. The cost is that of sides[1] over sides[0]. */
struct comparison {
	struct compare_side sides[2];
	bool on_off; /* memcg itself is what differs */
	struct compare_row *rows;
	size_t n;
	size_t boots_needed;	/* of either kind, before so many rows can be significant */
	struct meaning meaning; /* of the anonymous loop, where memcg itself differs */
	bool has_meaning;
	struct strv warnings;
};

/*
 * Reads the files and compares them. -EXDEV with an error in diag when they cannot be compared
 * (other kernel, other hardware, not two kinds of boots); force makes a warning of the first
 * two. Other errors with one in diag when a file cannot be read.
 */
int compare_files(char *const *paths, size_t n, bool force, struct comparison *ret,
		  struct diag *diag) _must_check_;
void comparison_done(struct comparison *comparison);
#define _cleanup_comparison_ _cleanup_(comparison_done)

bool comparison_is_noisy(const struct comparison *comparison) _pure_;

/* NULL when out of memory (json_add() takes that). */
struct json *comparison_to_json(const struct comparison *comparison);
