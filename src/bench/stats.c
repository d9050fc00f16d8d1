/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/stats.h"

#include <math.h>
#include <string.h>

/* the 97.5 % point of the normal distribution */
#define Z_975 1.959963984540054

double stats_hmean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(x[i] > 0))
			return NAN;
		sum += 1 / x[i];
	}
	return n > 0 ? (double)n / sum : NAN;
}

double stats_cv(const double *x, size_t n)
{
	double mean = 0, squares = 0;

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return sqrt(squares / (double)(n - 1)) / mean;
}

double stats_min(const double *x, size_t n)
{
	double least = n > 0 ? x[0] : NAN;

	for (size_t i = 1; i < n; i++)
		least = fmin(least, x[i]);
	return least;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int sorted_copy(const double *x, size_t n, double **ret)
{
	double *copy = malloc(n * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, x, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), compare_doubles);
	*ret = copy;
	return 0;
}

/* Two-sided p of a normal deviate. */
static double normal_p(double z)
{
	return z <= 0 ? 1 : erfc(z / sqrt(2));
}

/*
 * The largest k such that 2 P(X < k) <= alpha, where weights[i] is proportional to P(X = i):
 * then the k-th smallest and k-th largest statistic bound the interval. 0: there is none.
 */
static size_t critical_rank(const double *weights, size_t n, double total)
{
	double below = 0;

	for (size_t k = 0; k < n; k++) {
		below += weights[k];
		if (2 * below > STATS_ALPHA * total)
			return k;
	}
	return 0;
}

static double two_sided(const double *weights, size_t n, double total, size_t at)
{
	double below = 0, above = 0;

	for (size_t i = 0; i < n; i++) {
		if (i <= at)
			below += weights[i];
		if (i >= at)
			above += weights[i];
	}
	return fmin(1, 2 * fmin(below, above) / total);
}

int stats_median(const double *x, size_t n, struct stats_estimate *ret)
{
	_cleanup_free_ double *sorted = NULL;
	size_t k = 0;
	int r;

	if (n == 0)
		return -ENODATA;
	r = sorted_copy(x, n, &sorted);
	if (r < 0)
		return r;
	if (n <= 1000) { /* 2^-n is a normal number */
		double term = ldexp(1, -(int)n), below = 0;

		for (k = 0; k < n; k++) {
			below += term;
			if (2 * below > STATS_ALPHA)
				break;
			term *= (double)(n - k) / (double)(k + 1);
		}
	} else
		k = (size_t)floor((double)n / 2 - Z_975 * sqrt((double)n) / 2);
	*ret = (struct stats_estimate){
		.n = n,
		.value = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2,
		.lo = k > 0 ? sorted[k - 1] : -INFINITY,
		.hi = k > 0 ? sorted[n - k] : INFINITY,
	};
	return 0;
}

/* --- Walsh averages: (d[i] + d[j]) / 2 for i <= j, never stored --- */

/* How many are <= t; d is sorted. */
static size_t walsh_count(const double *d, size_t n, double t)
{
	size_t count = 0, end = n;

	for (size_t i = 0; i < end; i++) {
		while (end > i && (d[i] + d[end - 1]) / 2 > t)
			end--;
		count += end - i;
	}
	return count;
}

/* Doubles in their order as unsigned integers, and back. */
static uint64_t double_to_key(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double key_to_double(uint64_t key)
{
	uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* The k-th smallest, k from 1: the least t that k of them do not exceed, so it is one of them.
 */
static double walsh_at(const double *d, size_t n, size_t k)
{
	uint64_t low = double_to_key(d[0]), high = double_to_key(d[n - 1]);

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (walsh_count(d, n, key_to_double(mid)) >= k)
			high = mid;
		else
			low = mid + 1;
	}
	return key_to_double(low) + 0.0; /* -0 + 0 is 0 */
}

/* --- ranks --- */

struct ranked {
	double key;
	size_t group;	/* 0 or 1: which sample, or whether the sign is positive */
	size_t doubled; /* twice the mid-rank: an integer also with ties */
};

static int compare_ranked(const void *a, const void *b)
{
	return compare_doubles(&((const struct ranked *)a)->key,
			       &((const struct ranked *)b)->key);
}

/* Sorts and fills in the ranks; returns the sum of t^3 - t over groups of t equal keys. */
static double rank(struct ranked *v, size_t n)
{
	double ties = 0;

	qsort(v, n, sizeof(*v), compare_ranked);
	for (size_t from = 0, to; from < n; from = to) {
		double t;

		for (to = from + 1; to < n && v[to].key <= v[from].key;)
			to++;
		for (size_t i = from; i < to; i++)
			v[i].doubled = from + to + 1; /* ranks from+1 .. to */
		t = (double)(to - from);
		ties += t * t * t - t;
	}
	return ties;
}

/* Adds the doubled ranks of group 1. */
static size_t rank_sum(const struct ranked *v, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i].group ? v[i].doubled : 0;
	return sum;
}

/* --- paired --- */

/* How many of the 2^n choices of signs give each doubled rank sum. */
static void sign_weights(const struct ranked *v, size_t n, double *weights, size_t max)
{
	memset(weights, 0, (max + 1) * sizeof(*weights));
	weights[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t s = max; s >= v[i].doubled; s--)
			weights[s] += weights[s - v[i].doubled];
}

enum { MAX_SIGN_SUM = STATS_EXACT_PAIRS * (STATS_EXACT_PAIRS + 1) };

static int signed_rank_p(const double *d, size_t n, double *ret_p, bool *ret_exact)
{
	_cleanup_free_ struct ranked *v = calloc(n, sizeof(*v));
	double ties, mean, variance, sum;
	size_t used = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (d[i] > 0 || d[i] < 0)
			v[used++] = (struct ranked){ .key = fabs(d[i]), .group = d[i] > 0 };
	ties = rank(v, used);
	*ret_exact = used <= STATS_EXACT_PAIRS;
	if (*ret_exact) {
		double weights[MAX_SIGN_SUM + 1];
		size_t max = used * (used + 1);

		sign_weights(v, used, weights, max);
		*ret_p = two_sided(weights, max + 1, ldexp(1, (int)used), rank_sum(v, used));
		return 0;
	}
	sum = (double)rank_sum(v, used) / 2;
	mean = (double)used * (double)(used + 1) / 4;
	variance = mean * (double)(2 * used + 1) / 6 - ties / 48;
	*ret_p = normal_p((fabs(sum - mean) - 0.5) / sqrt(variance));
	return 0;
}

/* The rank from either end of the Walsh averages that bounds the interval; 0: none does. */
static size_t paired_rank(size_t n)
{
	double averages = (double)n * (double)(n + 1) / 2;

	if (n <= STATS_EXACT_PAIRS) {
		struct ranked v[STATS_EXACT_PAIRS];
		double weights[MAX_SIGN_SUM + 1];
		size_t max = n * (n + 1) / 2;

		for (size_t i = 0; i < n; i++)
			v[i].doubled = i + 1; /* no ties: plain ranks do */
		sign_weights(v, n, weights, max);
		return critical_rank(weights, max + 1, ldexp(1, (int)n));
	}
	return (size_t)floor(averages / 2 - Z_975 * sqrt(averages * (double)(2 * n + 1) / 12));
}

int stats_paired(const double *d, size_t n, struct stats_difference *ret)
{
	_cleanup_free_ double *sorted = NULL;
	size_t averages = n * (n + 1) / 2, k;
	struct stats_difference result = { .n = n };
	int r;

	if (n == 0)
		return -ENODATA;
	r = sorted_copy(d, n, &sorted);
	if (r < 0)
		return r;
	r = signed_rank_p(d, n, &result.p, &result.exact);
	if (r < 0)
		return r;
	result.value = walsh_at(sorted, n, (averages + 1) / 2);
	if (averages % 2 == 0)
		result.value = (result.value + walsh_at(sorted, n, averages / 2 + 1)) / 2;
	k = paired_rank(n);
	result.lo = k > 0 ? walsh_at(sorted, n, k) : -INFINITY;
	result.hi = k > 0 ? walsh_at(sorted, n, averages + 1 - k) : INFINITY;
	*ret = result;
	return 0;
}

/* --- unpaired --- */

/* How many of the subsets of size m give each doubled rank sum: weights[sum]. */
static int subset_weights(const struct ranked *v, size_t n, size_t m, size_t max, double **ret)
{
	_cleanup_free_ double *table = calloc((m + 1) * (max + 1), sizeof(*table));
	double *weights = calloc(max + 1, sizeof(*weights));

	if (!table || !weights) {
		free(weights);
		return -ENOMEM;
	}
	table[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t size = m; size >= 1; size--)
			for (size_t s = max; s >= v[i].doubled; s--)
				table[size * (max + 1) + s] +=
					table[(size - 1) * (max + 1) + s - v[i].doubled];
	memcpy(weights, table + m * (max + 1), (max + 1) * sizeof(*weights));
	*ret = weights;
	return 0;
}

static double sum_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

static int rank_sum_p(const double *x, size_t nx, const double *y, size_t ny, double *ret_p,
		      bool *ret_exact)
{
	size_t n = nx + ny;
	_cleanup_free_ struct ranked *v = calloc(n, sizeof(*v));
	double ties, mean, variance;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < nx; i++)
		v[i] = (struct ranked){ .key = x[i] };
	for (size_t i = 0; i < ny; i++)
		v[nx + i] = (struct ranked){ .key = y[i], .group = 1 };
	ties = rank(v, n);
	*ret_exact = n <= STATS_EXACT_UNPAIRED;
	if (*ret_exact) {
		_cleanup_free_ double *weights = NULL;
		size_t max = n * (n + 1);
		int r = subset_weights(v, n, ny, max, &weights);

		if (r < 0)
			return r;
		*ret_p = two_sided(weights, max + 1, sum_of(weights, max + 1), rank_sum(v, n));
		return 0;
	}
	mean = (double)ny * (double)(n + 1) / 2;
	variance = (double)nx * (double)ny / 12 *
		   ((double)(n + 1) - ties / ((double)n * (double)(n - 1)));
	*ret_p = variance > 0 ? normal_p((fabs((double)rank_sum(v, n) / 2 - mean) - 0.5) /
					 sqrt(variance))
			      : 1;
	return 0;
}

/* The rank from either end of the sorted differences; 0: none bounds the interval. */
static int unpaired_rank(size_t nx, size_t ny, size_t *ret)
{
	size_t n = nx + ny;
	double products = (double)nx * (double)ny;

	if (n <= STATS_EXACT_UNPAIRED) {
		struct ranked v[STATS_EXACT_UNPAIRED];
		_cleanup_free_ double *weights = NULL;
		size_t max = n * (n + 1) / 2, least = ny * (ny + 1) / 2;
		int r;

		for (size_t i = 0; i < n; i++)
			v[i].doubled = i + 1;
		r = subset_weights(v, n, ny, max, &weights);
		if (r < 0)
			return r;
		*ret = critical_rank(weights + least, max + 1 - least,
				     sum_of(weights, max + 1));
		return 0;
	}
	*ret = (size_t)floor(products / 2 - Z_975 * sqrt(products * (double)(n + 1) / 12));
	return 0;
}

int stats_unpaired(const double *x, size_t nx, const double *y, size_t ny,
		   struct stats_difference *ret)
{
	size_t n = nx * ny, k;
	_cleanup_free_ double *differences = NULL;
	struct stats_difference result = { .n = MIN(nx, ny) };
	int r;

	if (n == 0)
		return -ENODATA;
	differences = malloc(n * sizeof(*differences));
	if (!differences)
		return -ENOMEM;
	for (size_t i = 0; i < nx; i++)
		for (size_t j = 0; j < ny; j++)
			differences[i * ny + j] = y[j] - x[i];
	qsort(differences, n, sizeof(*differences), compare_doubles);
	r = rank_sum_p(x, nx, y, ny, &result.p, &result.exact);
	if (r < 0)
		return r;
	r = unpaired_rank(nx, ny, &k);
	if (r < 0)
		return r;
	result.value = (differences[(n - 1) / 2] + differences[n / 2]) / 2;
	result.lo = k > 0 ? differences[k - 1] : -INFINITY;
	result.hi = k > 0 ? differences[n - k] : INFINITY;
	*ret = result;
	return 0;
}

/* --- judging --- */

/* The greatest p[j] * (how many are >= p[j]) over all p[j] <= p[k]: ties share one value. */
int stats_holm(double *p, size_t n)
{
	_cleanup_free_ double *raw = malloc(n * sizeof(*raw));

	if (n == 0)
		return 0;
	if (!raw)
		return -ENOMEM;
	memcpy(raw, p, n * sizeof(*raw));
	for (size_t j = 0; j < n; j++) {
		size_t left = 0;

		for (size_t i = 0; i < n; i++)
			left += raw[i] >= raw[j];
		for (size_t k = 0; k < n; k++)
			if (raw[j] <= raw[k])
				p[k] = fmin(1, fmax(p[k], raw[j] * (double)left));
	}
	return 0;
}

double stats_resolution(const struct stats_difference *control)
{
	return isfinite(control->hi - control->lo) ? expm1((control->hi - control->lo) / 2)
						   : INFINITY;
}

enum stats_verdict stats_judge(const struct stats_difference *difference, double p,
			       const struct stats_difference *control, double *ret_bound)
{
	double bound = expm1(fmax(fabs(difference->lo), fabs(difference->hi)));

	if (control)
		bound = fmax(bound, stats_resolution(control));
	*ret_bound = bound;
	if (!isfinite(difference->hi - difference->lo))
		return STATS_TOO_FEW;
	if (p <= STATS_ALPHA) {
		if (control && control->p <= STATS_ALPHA &&
		    fabs(control->value) >= fabs(difference->value))
			return STATS_NOISY;
		return difference->value > 0 ? STATS_COST : STATS_SAVING;
	}
	return bound <= STATS_NOISY_ABOVE ? STATS_NO_DIFFERENCE : STATS_NOISY;
}

const char *stats_verdict_name(enum stats_verdict verdict)
{
	static const char *const names[_STATS_VERDICT_MAX] = {
		[STATS_TOO_FEW] = "too-few", [STATS_COST] = "cost",
		[STATS_SAVING] = "saving",   [STATS_NO_DIFFERENCE] = "no-difference",
		[STATS_NOISY] = "too-noisy",
	};

	return names[verdict];
}
