/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Made-up results of bench, for tests of what works on them. */

#include <stddef.h>
#include <stdint.h>

struct result;

/* cost of (round, arm) in ns per page */
typedef double cost_fn(uint64_t *seed, uint32_t round, size_t arm);

void make_result(struct result *result, const char *memcg, const char *boot_id, size_t n_arms,
		 uint32_t rounds, uint64_t seed, cost_fn *cost);
char *to_text(const struct result *result);
char *copy(const char *s);
void assert_near(double value, double expected, double tolerance);

cost_fn noisy_cost;
cost_fn equal_cost;
cost_fn wild_cost;
cost_fn off_cost;
cost_fn on_cost;
