/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Results as an SVG that stands by itself: for each workload every sample of every arm, medians
 * with their intervals, and the intervals of the differences against what the host resolves.
 */

#include "base/macro.h"

#include <stdio.h>

struct comparison;
struct result;
struct summary;

/* One file and its summary, borrowed. */
struct plot_file {
	const struct result *result;
	const struct summary *summary;
};

/*
 * Draws all files, which have at least one workload. With a comparison of them (NULL: none) the
 * differences shown are those of boots, else those within each file. 0, -ENOMEM or -EIO.
 */
int plot_print(const struct plot_file *files, size_t n, const struct comparison *comparison,
	       FILE *f) _must_check_;
