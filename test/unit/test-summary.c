/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Summaries and their picture, of made-up samples. */

#include "made-result.h"
#include "tree.h"

#include "base/str.h"
#include "bench/plot.h"
#include "bench/result.h"
#include "bench/summary.h"

#include <math.h>

static void test_summary(void **state _unused_)
{
	_cleanup_result_ struct result result = {};
	_cleanup_summary_ struct summary summary = {};
	const struct summary_difference *d;

	make_result(&result, "on", "a", 3, 40, 1, noisy_cost);
	/* one sample of the child is invalid: its round is no pair */
	result.samples[5].sample.invalid = SAMPLE_FAULTS;
	assert_int_equal(summary_make(&result, &summary), 0);
	assert_int_equal(summary.n, 1);
	assert_int_equal(summary.cases[0].n_differences, 1);
	d = &summary.cases[0].differences[0];
	assert_int_equal(d->arm, 2);
	assert_int_equal(d->cpu.n, 39);
	assert_int_equal(summary.cases[0].arms[2].n, 39);
	assert_int_equal(summary.cases[0].arms[2].dropped, 1);
	assert_int_equal(summary.cases[0].arms[2].reasons, SAMPLE_FAULTS);
	assert_near(d->cpu.value, log(1.04), 0.015);
	assert_int_equal(d->verdict, STATS_COST);
	assert_true(d->instructions.n == 0);
	assert_true(summary.cases[0].control.cpu.lo < 0 && summary.cases[0].control.cpu.hi > 0);
	assert_near(summary.cases[0].arms[0].faults, 1, 1e-9);
	/* the harmonic mean of a rate is the rate of the work: 1 over the mean cost */
	{
		double sum = 0;

		for (size_t i = 0; i < result.n_samples; i += 3)
			sum += (double)result.samples[i].sample.counts.cpu_ns / 2048 / 40;
		assert_near(summary.cases[0].arms[0].per_cpu, 1e9 / sum, 1e-3);
	}
	assert_false(summary_is_noisy(&summary));
}

static void test_summary_verdicts(void **state _unused_)
{
	static const struct {
		cost_fn *cost;
		uint32_t rounds;
		enum stats_verdict verdict;
	} cases[] = {
		{ equal_cost, 40, STATS_NO_DIFFERENCE },
		{ wild_cost, 40, STATS_NOISY },
		{ noisy_cost, 5, STATS_TOO_FEW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_result_ struct result result = {};
		_cleanup_summary_ struct summary summary = {};

		make_result(&result, "on", "a", 3, cases[i].rounds, 7, cases[i].cost);
		assert_int_equal(summary_make(&result, &summary), 0);
		assert_int_equal(summary.cases[0].differences[0].verdict, cases[i].verdict);
		assert_int_equal(summary_is_noisy(&summary), i > 0);
	}
}

static void test_plot(void **state _unused_)
{
	_cleanup_result_ struct result result = {};
	_cleanup_summary_ struct summary summary = {};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	make_result(&result, "on", "a", 3, 10, 1, noisy_cost);
	result.text[CONTEXT_CPU] = copy("<&\"\x01\xff>");
	assert_int_equal(summary_make(&result, &summary), 0);
	assert_non_null(f);
	assert_int_equal(plot_print(&(struct plot_file){ &result, &summary }, 1, NULL, f), 0);
	assert_int_equal(fclose(f), 0);
	assert_non_null(strstr(text, "&lt;&amp;&quot;\\x01\\xff&gt;"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	assert_true(str_has_suffix(text, "</svg>\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_summary_verdicts),
		cmocka_unit_test(test_plot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
