/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.12g, expected %.12g", value, expected);
}

/* A small generator, so that failures repeat everywhere (xorshift64*). */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static double uniform(uint64_t *state)
{
	return (double)(next_random(state) >> 11) * 0x1p-53;
}

static void test_descriptive(void **state _unused_)
{
	static const double rates[] = { 40, 60 }, odd[] = { 3, 1, 2 },
			    five[] = { 2, 4, 4, 4, 6 };
	struct stats_estimate m;

	assert_near(stats_hmean(rates, 2), 48, 1e-12); /* there at 40, back at 60 */
	assert_true(isnan(stats_hmean(rates, 0)));
	assert_true(isnan(stats_hmean((const double[]){ 1, 0 }, 2)));
	assert_near(stats_cv(five, 5), sqrt(2) / 4, 1e-12);
	assert_true(isnan(stats_cv(five, 1)));
	assert_near(stats_min(odd, 3), 1, 0);
	assert_int_equal(stats_median(odd, 0, &m), -ENODATA);
	assert_int_equal(stats_median(odd, 3, &m), 0);
	assert_near(m.value, 2, 0);
	assert_true(isinf(m.lo) && isinf(m.hi));
}

/* Ranks of the order-statistic interval, as in the tables of Conover and of Hollander & Wolfe.
 */
static void test_median_interval(void **state _unused_)
{
	static const struct {
		size_t n, low;
	} cases[] = { { 5, 0 },	   { 6, 1 },	  { 8, 1 },	{ 9, 2 },  { 10, 2 },
		      { 12, 3 },   { 15, 4 },	  { 20, 6 },	{ 25, 8 }, { 50, 18 },
		      { 100, 40 }, { 1000, 469 }, { 1001, 469 } };
	double x[1001];

	for (size_t i = 0; i < ARRAY_SIZE(x); i++)
		x[i] = (double)(i + 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stats_estimate m;

		assert_int_equal(stats_median(x, cases[i].n, &m), 0);
		assert_near(m.value, (double)(cases[i].n + 1) / 2, 0);
		if (cases[i].low == 0) {
			assert_true(isinf(m.lo));
			continue;
		}
		assert_near(m.lo, (double)cases[i].low, 0);
		assert_near(m.hi, (double)(cases[i].n + 1 - cases[i].low), 0);
	}
}

/* Values of R 4.2 wilcox.test(), those of the first three also in the textbooks they are from.
 */
static void test_paired_published(void **state _unused_)
{
	/* Hollander & Wolfe, table 3.1: depression scale of nine patients */
	static const double depression[] = { 0.952, -0.147, 1.022, 0.43, 0.62,
					     0.59,  0.49,   -0.08, 0.01 };
	/* Darwin's maize in Fisher, The Design of Experiments (1935) */
	static const double maize[] = { 49, -67, 8,  16, 6,  23, 28, 41,
					14, 29,	 56, 24, 75, 60, -48 };
	/* 60 values: the normal approximation with ties */
	static const double sixty[] = {
		-0.33, 0.48,  -0.54, 1.9,   0.63,  -0.52, 0.79,	 1.04,	0.88,  -0.01,
		1.81,  0.69,  -0.32, -1.91, 1.42,  0.26,  0.28,	 1.24,	1.12,  0.89,
		1.22,  1.08,  0.37,  -1.69, 0.92,  0.24,  0.14,	 -1.17, -0.18, 0.72,
		1.66,  0.2,   0.69,  0.25,  -1.08, -0.11, -0.09, 0.24,	1.4,   1.06,
		0.14,  0.05,  1,     0.86,  -0.39, -0.41, 0.66,	 1.07,	0.19,  1.18,
		0.7,   -0.31, 0.64,  -0.83, 1.73,  2.28,  -0.07, -0.74, 0.87,  0.16,
	};
	struct stats_difference d;

	assert_int_equal(stats_paired(depression, 9, &d), 0);
	assert_true(d.exact);
	assert_near(d.p, 0.0390625, 1e-12);
	assert_near(d.value, 0.46, 1e-12);
	assert_near(d.lo, 0.010, 1e-12);
	assert_near(d.hi, 0.786, 1e-12);

	assert_int_equal(stats_paired(maize, 15, &d), 0);
	assert_near(d.p, 0.04125977, 1e-8);
	assert_near(d.value, 25, 1e-12);
	assert_near(d.lo, 4, 1e-12);
	assert_near(d.hi, 41.5, 1e-12);

	assert_int_equal(stats_paired(sixty, 60, &d), 0);
	assert_false(d.exact);
	assert_near(d.p, 0.000525593559192, 1e-12);
	assert_near(d.value, 0.44, 1e-3);
	assert_near(d.lo, 0.205, 6e-3);
	assert_near(d.hi, 0.66, 6e-3);
	assert_int_equal(stats_paired(sixty, 0, &d), -ENODATA);
}

/* The two-sided 5 % ranks in every table of the statistic: n = 6 is the least that has one. */
static void test_paired_ranks(void **state _unused_)
{
	static const struct {
		size_t n, rank;
	} cases[] = { { 5, 0 },	  { 6, 1 },   { 7, 3 },	 { 10, 9 },
		      { 15, 26 }, { 20, 53 }, { 25, 90 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double d[STATS_EXACT_PAIRS], walsh[STATS_EXACT_PAIRS * 13];
		size_t n = 0;
		struct stats_difference result;

		for (size_t k = 0; k < cases[i].n; k++)
			d[k] = ldexp(1, (int)k); /* all averages differ */
		for (size_t k = 0; k < cases[i].n; k++)
			for (size_t j = k; j < cases[i].n; j++)
				walsh[n++] = (d[k] + d[j]) / 2;
		assert_int_equal(stats_paired(d, cases[i].n, &result), 0);
		if (cases[i].rank == 0) {
			assert_true(isinf(result.lo) && isinf(result.hi));
			continue;
		}
		n = 0;
		for (size_t k = 0; k < cases[i].n * (cases[i].n + 1) / 2; k++)
			n += walsh[k] <= result.lo;
		assert_int_equal(n, cases[i].rank);
		n = 0;
		for (size_t k = 0; k < cases[i].n * (cases[i].n + 1) / 2; k++)
			n += walsh[k] >= result.hi;
		assert_int_equal(n, cases[i].rank);
	}
}

static double naive_rank(const double *v, size_t n, size_t i)
{
	double less = 0, equal = 0;

	for (size_t k = 0; k < n; k++) {
		less += v[k] < v[i];
		equal += !(v[k] < v[i]) && !(v[k] > v[i]);
	}
	return less + (equal + 1) / 2;
}

/* Counts over all sign choices what stats_paired() gets from its recurrence; ties and zeros. */
static void test_paired_brute_force(void **state _unused_)
{
	uint64_t seed = 20150108;

	for (size_t trial = 0; trial < 300; trial++) {
		size_t n = 1 + trial % 12, used = 0;
		double d[12], size[12], sum = 0, below = 0, above = 0, walsh[78];
		bool positive[12];
		struct stats_difference result;

		for (size_t i = 0; i < n; i++) {
			d[i] = floor(uniform(&seed) * 9) - 3; /* many ties, some zeros */
			if (d[i] < 0 || d[i] > 0) {
				positive[used] = d[i] > 0;
				size[used++] = fabs(d[i]);
			}
		}
		for (size_t i = 0; i < used; i++)
			sum += positive[i] ? naive_rank(size, used, i) : 0;
		for (size_t signs = 0; signs < (size_t)1 << used; signs++) {
			double other = 0;

			for (size_t i = 0; i < used; i++)
				other += signs >> i & 1 ? naive_rank(size, used, i) : 0;
			below += other <= sum;
			above += other >= sum;
		}
		assert_int_equal(stats_paired(d, n, &result), 0);
		assert_near(result.p, fmin(1, ldexp(2 * fmin(below, above), -(int)used)),
			    1e-12);
		/* the estimate: a median of averages that are all written out */
		used = 0;
		for (size_t i = 0; i < n; i++)
			for (size_t k = i; k < n; k++) {
				size_t at = used++;

				for (; at > 0 && walsh[at - 1] > (d[i] + d[k]) / 2; at--)
					walsh[at] = walsh[at - 1];
				walsh[at] = (d[i] + d[k]) / 2;
			}
		assert_near(result.value, (walsh[(used - 1) / 2] + walsh[used / 2]) / 2, 0);
	}
}

static void test_unpaired_published(void **state _unused_)
{
	/* Hollander & Wolfe, table 4.1: permeability of chorioamnion at term and before */
	static const double term[] = { 0.80, 0.83, 1.89, 1.04, 1.45,
				       1.38, 1.91, 1.64, 0.73, 1.46 },
			    before[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };
	/* 55 values: the normal approximation with ties */
	static const double u[] = { -0.9, 0.2,	1.6,  -1.1, -0.1, 0.1,	0.7, -0.2, 2,	-0.1,
				    0.4,  1,	-0.4, -1,   1.8,  -2.3, 0.9, 0,	   1,	0.4,
				    2.1,  -1.2, 1.6,  2,    0,	  -2.5, 0.5, -0.6, 0.8, 0.3 },
			    v[] = { 1.2, 0.8,  0.6 + 1, 0.2,  -0.3, -0.1, -1.2, -0.4, -0.1,
				    0.3, 0.1,  -1.5,	-0.3, 2.4,  1.1,  2.5,	0.2,  0.4,
				    0.3, -0.7, -0.3,	2.6,  -0.1, 1.8,  -0.5 };
	struct stats_difference d;

	assert_int_equal(stats_unpaired(before, 5, term, 10, &d), 0);
	assert_true(d.exact);
	assert_near(d.p, 0.2544123, 1e-7);
	assert_near(d.value, 0.305, 1e-12);
	assert_near(d.lo, -0.15, 1e-12);
	assert_near(d.hi, 0.76, 1e-12);

	assert_int_equal(stats_unpaired(u, 30, v, 25, &d), 0);
	assert_false(d.exact);
	assert_near(d.p, 0.946047570579, 1e-12);
	assert_near(d.value, 0, 1e-3);
	assert_near(d.lo, -0.5, 1e-3);
	assert_near(d.hi, 0.7, 1e-3);
}

/* Three boots against three cannot reach 5 %, four against four can. */
static void test_unpaired_least(void **state _unused_)
{
	static const double x[] = { 1, 2, 3, 4, 5 }, y[] = { 11, 12, 13, 14, 15 };
	static const double p[] = { 0, 1, 1.0 / 3, 0.1, 2.0 / 70, 2.0 / 252 };

	for (size_t n = 1; n <= 5; n++) {
		struct stats_difference d;

		assert_int_equal(stats_unpaired(x, n, y, n, &d), 0);
		assert_near(d.p, p[n], 1e-12);
		assert_near(d.value, 10, 0);
		assert_int_equal(isinf(d.lo) != 0, n < STATS_LEAST_BOOTS);
	}
}

static void test_unpaired_brute_force(void **state _unused_)
{
	uint64_t seed = 20150109;

	for (size_t trial = 0; trial < 200; trial++) {
		size_t nx = 1 + trial % 5, ny = 1 + trial / 5 % 6, n = nx + ny;
		double v[11], sum = 0, below = 0, above = 0, all = 0;
		struct stats_difference result;

		for (size_t i = 0; i < n; i++)
			v[i] = floor(uniform(&seed) * 7);
		for (size_t i = nx; i < n; i++)
			sum += naive_rank(v, n, i);
		for (size_t set = 0; set < (size_t)1 << n; set++) {
			double other = 0;

			if ((size_t)__builtin_popcountll(set) != ny)
				continue;
			for (size_t i = 0; i < n; i++)
				other += set >> i & 1 ? naive_rank(v, n, i) : 0;
			below += other <= sum;
			above += other >= sum;
			all++;
		}
		assert_int_equal(stats_unpaired(v, nx, v + nx, ny, &result), 0);
		assert_near(result.p, fmin(1, 2 * fmin(below, above) / all), 1e-12);
	}
}

/* Exact and approximate p of the same data meet where one takes over from the other. */
static void test_approximation(void **state _unused_)
{
	uint64_t seed = 3;
	double d[STATS_EXACT_PAIRS + 1];
	struct stats_difference exact, normal;

	for (size_t trial = 0; trial < 50; trial++) {
		for (size_t i = 0; i < ARRAY_SIZE(d); i++)
			d[i] = uniform(&seed) - 0.35;
		d[STATS_EXACT_PAIRS] = 1e-9; /* hardly moves the sum */
		assert_int_equal(stats_paired(d, STATS_EXACT_PAIRS, &exact), 0);
		assert_int_equal(stats_paired(d, STATS_EXACT_PAIRS + 1, &normal), 0);
		assert_true(exact.exact && !normal.exact);
		assert_near(normal.p, exact.p, 0.04);
		assert_near(normal.value, exact.value, 0.05);
	}
}

/* How often "no difference" is rejected, and how often the interval holds the truth. */
static void test_error_rates(void **state _unused_)
{
	enum { TRIALS = 2000 };
	static const size_t sizes[] = { 10, 25, 40 };
	uint64_t seed = 42;

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		int rejected = 0, covered = 0;

		for (int trial = 0; trial < TRIALS; trial++) {
			double d[40];
			struct stats_difference result;

			for (size_t i = 0; i < sizes[s]; i++) /* symmetric, long tails */
				d[i] = log(uniform(&seed) / uniform(&seed));
			assert_int_equal(stats_paired(d, sizes[s], &result), 0);
			rejected += result.p <= STATS_ALPHA;
			covered += result.lo <= 0 && result.hi >= 0;
		}
		/* four standard errors of 5 % */
		assert_true(rejected < TRIALS * 7 / 100);
		assert_true(rejected > TRIALS * 2 / 100);
		assert_true(covered > TRIALS * 93 / 100);
	}
}

static void test_holm(void **state _unused_)
{
	/* p.adjust(method = "holm") of R */
	double a[] = { 0.01, 0.04, 0.03, 0.005 }, b[] = { 0.2, 0.01, 0.01, 0.5, 0.04 };
	static const double want_a[] = { 0.03, 0.06, 0.06, 0.02 },
			    want_b[] = { 0.4, 0.05, 0.05, 0.5, 0.12 };

	assert_int_equal(stats_holm(a, 4), 0);
	assert_int_equal(stats_holm(b, 5), 0);
	assert_int_equal(stats_holm(b, 0), 0);
	for (size_t i = 0; i < 4; i++)
		assert_near(a[i], want_a[i], 1e-12);
	for (size_t i = 0; i < 5; i++)
		assert_near(b[i], want_b[i], 1e-12);
}

#define D(value, lo, hi, p)                 \
	{                                   \
		40, value, lo, hi, p, false \
	}
static void test_judge(void **state _unused_)
{
	static const struct {
		struct stats_difference d, control;
		enum stats_verdict verdict;
		double bound;
	} cases[] = {
		{ D(.034, .02, .05, .001), D(0, -.01, .01, .7), STATS_COST, .0513 },
		{ D(-.034, -.05, -.02, .001), D(0, -.01, .01, .7), STATS_SAVING, .0513 },
		{ D(.001, -.01, .012, .6), D(0, -.01, .01, .7), STATS_NO_DIFFERENCE, .0121 },
		/* the control resolves less than the interval says */
		{ D(.001, -.01, .012, .6), D(0, -.03, .03, .7), STATS_NO_DIFFERENCE, .0305 },
		{ D(.001, -.01, .012, .6), D(0, -.06, .06, .7), STATS_NOISY, .0618 },
		{ D(.03, -.04, .07, .2), D(0, -.01, .01, .7), STATS_NOISY, .0725 },
		/* a control that differs as much, or less */
		{ D(.02, .01, .03, .01), D(-.025, -.04, -.01, .01), STATS_NOISY, .0305 },
		{ D(.04, .01, .05, .01), D(-.025, -.04, -.01, .01), STATS_COST, .0513 },
		{ D(.04, -INFINITY, INFINITY, .06), D(0, -1, 1, 1), STATS_TOO_FEW, INFINITY },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double bound;
		enum stats_verdict verdict =
			stats_judge(&cases[i].d, cases[i].d.p, &cases[i].control, &bound);

		if (verdict != cases[i].verdict)
			fail_msg("case %zu: %s", i, stats_verdict_name(verdict));
		if (isinf(cases[i].bound))
			assert_true(isinf(bound));
		else
			assert_near(bound, cases[i].bound, 1e-4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptive),
		cmocka_unit_test(test_median_interval),
		cmocka_unit_test(test_paired_published),
		cmocka_unit_test(test_paired_ranks),
		cmocka_unit_test(test_paired_brute_force),
		cmocka_unit_test(test_unpaired_published),
		cmocka_unit_test(test_unpaired_least),
		cmocka_unit_test(test_unpaired_brute_force),
		cmocka_unit_test(test_approximation),
		cmocka_unit_test(test_error_rates),
		cmocka_unit_test(test_holm),
		cmocka_unit_test(test_judge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
