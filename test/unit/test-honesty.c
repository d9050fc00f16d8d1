/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Whether verdicts keep their promise on noise that was recorded on a busy virtual machine: a
 * quick run of one place against itself finds a difference in one of twenty, planted ones are
 * found, and the naive order that bench does not use fails.
 */

#include "tree.h"

#include "bench/result.h"
#include "bench/summary.h"
#include "noise.h"

#include <math.h>
#include <stdlib.h>

enum { RUNS = 200, ROUNDS = 40, WORKLOADS = 3, ARMS = 3, SAMPLES = ROUNDS * WORKLOADS * ARMS };

static uint64_t first_seed(void)
{
	const char *given = getenv("MEMCG_POLICY_SEED");
	unsigned long seed = given ? strtoul(given, NULL, 10) : 20261201;

	print_message("MEMCG_POLICY_SEED=%lu\n", seed);
	return seed ? seed : 1;
}

/* xorshift64*, as in run.c */
static size_t below(uint64_t *seed, size_t n)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return (size_t)((*seed * UINT64_C(2685821657736338717) >> 32) * n >> 32);
}

static char *copy(const char *s)
{
	char *d = strdup(s);

	assert_non_null(d);
	return d;
}

static void add(struct result *result, size_t c, size_t arm, size_t round, double ns)
{
	const struct result_sample s = {
		.c = (uint16_t)c,
		.round = (uint32_t)round,
		.arm = (uint8_t)arm,
		.sample = { .units = 2048,
			    .counts = { .cpu_ns = (uint64_t)(ns * 2048),
					.wall_ns = (uint64_t)(ns * 2048),
					.minflt = 2048 } },
	};

	assert_int_equal(result_add_sample(result, &s), 0);
}

/*
 * Cuts a stretch out of the recording and deals it to the arms: drawn anew in every round, as
 * bench does it, or (blocks) one arm after the other. factor: what the child costs more.
 */
static void deal(struct result *result, uint64_t *seed, bool blocks, double factor)
{
	static const struct result_arm arms[ARMS] = {
		{ .name = (char *)"root", .kind = ARM_ROOT },
		{ .name = (char *)"control", .kind = ARM_ROOT, .control = true },
		{ .name = (char *)"child-1", .kind = ARM_CHILD, .depth = 1 }
	};
	const unsigned short *next = noise + below(seed, ARRAY_SIZE(noise) - SAMPLES);

	result->arms = calloc(ARMS, sizeof(*result->arms));
	result->cases = calloc(WORKLOADS, sizeof(*result->cases));
	assert_true(result->arms && result->cases);
	for (size_t i = 0; i < ARMS; i++) {
		result->arms[i] = arms[i];
		result->arms[i].name = copy(arms[i].name);
		result->n_arms++;
	}
	for (size_t c = 0; c < WORKLOADS; c++) {
		result->cases[c].workload = copy("anon");
		result->cases[c].unit = copy("page");
		result->cases[c].clients = (unsigned)c + 1;
		result->n_cases++;
	}
	for (size_t i = 0; blocks && i < SAMPLES; i++) {
		size_t arm = i / ROUNDS % ARMS;

		add(result, i / (ROUNDS * ARMS), arm, i % ROUNDS,
		    *next++ * (arm == 2 ? factor : 1));
	}
	for (size_t i = 0; !blocks && i < (size_t)ROUNDS * WORKLOADS; i++) {
		size_t order[ARMS] = { 0, 1, 2 };

		for (size_t n = ARMS; n > 1; n--) {
			size_t k = below(seed, n), swap = order[n - 1];

			order[n - 1] = order[k];
			order[k] = swap;
		}
		for (size_t k = 0; k < ARMS; k++)
			add(result, i % WORKLOADS, order[k], i / WORKLOADS,
			    *next++ * (order[k] == 2 ? factor : 1));
	}
}

/* Of RUNS runs, those that call at least one of their workloads different. */
static unsigned count(uint64_t *seed, bool blocks, double factor)
{
	unsigned found = 0;

	for (unsigned run = 0; run < RUNS; run++) {
		_cleanup_result_ struct result result = {};
		_cleanup_summary_ struct summary summary = {};
		bool any = false;

		deal(&result, seed, blocks, factor);
		assert_int_equal(summary_make(&result, &summary), 0);
		for (size_t c = 0; c < summary.n; c++) {
			enum stats_verdict verdict = summary.cases[c].differences[0].verdict;

			any = any || verdict == STATS_COST ||
			      (verdict == STATS_SAVING && factor <= 1);
		}
		found += any;
	}
	return found;
}

static void test_same(void **state _unused_)
{
	uint64_t seed = first_seed();
	unsigned found = count(&seed, false, 1);

	print_message("A/A: %u of %d runs significant\n", found, RUNS);
	assert_true(found <= RUNS * 7 / 100);
}

static void test_planted(void **state _unused_)
{
	uint64_t seed = first_seed();
	unsigned found = count(&seed, false, 1.05);

	print_message("A/B, +5 %%: %u of %d runs significant\n", found, RUNS);
	assert_true(found >= RUNS * 9 / 10);
}

/* The same statistics on one arm after the other: the order is what makes them honest. */
static void test_blocks(void **state _unused_)
{
	uint64_t seed = first_seed();
	unsigned found = count(&seed, true, 1);

	print_message("A/A, arms one after the other: %u of %d runs significant\n", found,
		      RUNS);
	assert_true(found >= RUNS * 20 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
