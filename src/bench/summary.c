/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/summary.h"

#include "base/json.h"
#include "bench/result.h"

#include <math.h>

double summary_cost(const struct result_sample *sample, enum summary_metric metric)
{
	const struct counts *counts = &sample->sample.counts;
	double units = (double)sample->sample.units;

	if (sample->sample.invalid || units <= 0)
		return NAN;
	switch (metric) {
	case METRIC_CPU:
		return (double)counts->cpu_ns / units;
	case METRIC_WALL:
		return (double)counts->wall_ns / units;
	case METRIC_INSTRUCTIONS:
		return counts->has_pmu ? (double)counts->instructions / units : NAN;
	case METRIC_CYCLES:
		return counts->has_pmu ? (double)counts->cycles / units : NAN;
	}
	return NAN;
}

/* --- one arm --- */

/* Values of the valid samples of one arm and workload, one kind at a time. */
struct column {
	const struct result *result;
	size_t c, arm;
	double *values; /* room for all samples */
	size_t n;
};

static void collect(struct column *column,
		    double (*value)(const struct result_sample *sample, int which), int which)
{
	column->n = 0;
	for (size_t i = 0; i < column->result->n_samples; i++) {
		const struct result_sample *s = &column->result->samples[i];
		double v;

		if (s->c != column->c || s->arm != column->arm || s->sample.invalid)
			continue;
		v = value(s, which);
		if (!isnan(v))
			column->values[column->n++] = v;
	}
}

static double cost_of(const struct result_sample *s, int which)
{
	return summary_cost(s, (enum summary_metric)which);
}

static double phase_of(const struct result_sample *s, int which)
{
	return (double)s->sample.phase_ns[which] / (double)s->sample.units;
}

static double faults_of(const struct result_sample *s, int which _unused_)
{
	return (double)s->sample.counts.minflt / (double)s->sample.units;
}

/* As the page-fault test counts where the touch phase is taken apart, else of everything. */
static double rate_of(const struct result_sample *s, int wall)
{
	bool apart = s->sample.touch_cpu_ns > 0;
	uint64_t ns = wall ? apart ? s->sample.phase_ns[PHASE_TOUCH] : s->sample.counts.wall_ns
		      : apart ? s->sample.touch_cpu_ns
			      : s->sample.counts.cpu_ns;

	return ns > 0 ? 1e9 * (double)s->sample.units / (double)ns : NAN;
}

static int median(struct column *column,
		  double (*value)(const struct result_sample *sample, int which), int which,
		  double *ret)
{
	struct stats_estimate estimate = { .value = NAN };
	int r;

	collect(column, value, which);
	r = stats_median(column->values, column->n, &estimate);
	if (r == -ENOMEM)
		return r;
	*ret = estimate.value;
	return 0;
}

static int look_at_arm(struct column *column, struct summary_arm *ret)
{
	struct summary_arm arm = {};
	int r;

	for (size_t i = 0; i < column->result->n_samples; i++) {
		const struct result_sample *s = &column->result->samples[i];

		if (s->c != column->c || s->arm != column->arm)
			continue;
		arm.n += !s->sample.invalid;
		arm.dropped += s->sample.invalid != 0;
		arm.reasons |= s->sample.invalid;
		if (s->sample.error)
			arm.error = s->sample.error;
	}
	collect(column, rate_of, 0);
	arm.per_cpu = stats_hmean(column->values, column->n);
	collect(column, rate_of, 1);
	arm.per_second = stats_hmean(column->values, column->n);
	collect(column, cost_of, METRIC_CPU);
	arm.least = stats_min(column->values, column->n);
	arm.cv = stats_cv(column->values, column->n);
	r = stats_median(column->values, column->n, &arm.cost);
	if (r == -ENODATA)
		r = 0;
	for (int i = 0; i < _PHASE_MAX && r >= 0; i++)
		r = median(column, phase_of, i, &arm.phases[i]);
	if (r >= 0)
		r = median(column, cost_of, METRIC_WALL, &arm.wall);
	if (r >= 0)
		r = median(column, cost_of, METRIC_INSTRUCTIONS, &arm.instructions);
	if (r >= 0)
		r = median(column, cost_of, METRIC_CYCLES, &arm.cycles);
	if (r >= 0)
		r = median(column, faults_of, 0, &arm.faults);
	*ret = arm;
	return r;
}

/* --- differences --- */

static size_t count_rounds(const struct result *result)
{
	size_t n = 0;

	for (size_t i = 0; i < result->n_samples; i++)
		n = MAX(n, (size_t)result->samples[i].round + 1);
	return n;
}

/*
 * Logarithms of the ratios of two arms, one for each round in which both samples are valid.
 * rounds has room for two numbers a round.
 */
static int pair(const struct result *result, size_t c, size_t arm, enum summary_metric metric,
		double *rounds, size_t n_rounds, struct stats_difference *ret)
{
	size_t n = 0;
	int r;

	for (size_t i = 0; i < 2 * n_rounds; i++)
		rounds[i] = NAN;
	for (size_t i = 0; i < result->n_samples; i++) {
		const struct result_sample *s = &result->samples[i];

		if (s->c == c && (s->arm == 0 || s->arm == arm))
			rounds[2 * (size_t)s->round + (s->arm == arm)] =
				log(summary_cost(s, metric));
	}
	for (size_t i = 0; i < n_rounds; i++) {
		double d = rounds[2 * i + 1] - rounds[2 * i];

		if (isfinite(d))
			rounds[n++] = d; /* n <= i: what is overwritten was read */
	}
	r = stats_paired(rounds, n, ret);
	if (r == -ENODATA) {
		*ret = (struct stats_difference){ .lo = -INFINITY, .hi = INFINITY, .p = 1 };
		r = 0;
	}
	return r;
}

static int compare_arm(const struct result *result, size_t c, size_t arm, double *rounds,
		       size_t n_rounds, const struct summary_arm *base,
		       struct summary_difference *ret)
{
	struct summary_difference d = { .arm = arm };
	int r = pair(result, c, arm, METRIC_CPU, rounds, n_rounds, &d.cpu);

	if (r >= 0)
		r = pair(result, c, arm, METRIC_INSTRUCTIONS, rounds, n_rounds,
			 &d.instructions);
	d.p = d.cpu.p;
	d.ns = base->cost.value * expm1(d.cpu.value);
	*ret = d;
	return r;
}

static int look_at_case(const struct result *result, size_t c, double *rounds, size_t n_rounds,
			struct summary_case *ret)
{
	struct column column = { .result = result, .c = c };
	int r = 0;

	ret->arms = calloc(result->n_arms, sizeof(*ret->arms));
	ret->differences = calloc(result->n_arms, sizeof(*ret->differences));
	column.values = calloc(MAX(result->n_samples, 1U), sizeof(*column.values));
	if (!ret->arms || !ret->differences || !column.values)
		r = -ENOMEM;
	for (size_t i = 0; i < result->n_arms && r >= 0; i++) {
		column.arm = i;
		r = look_at_arm(&column, &ret->arms[i]);
	}
	free(column.values);
	for (size_t i = 1; i < result->n_arms && r >= 0; i++) {
		const struct result_arm *arm = &result->arms[i];

		if (arm->before)
			continue; /* taken at another time: not a pair of anything */
		r = compare_arm(result, c, i, rounds, n_rounds, &ret->arms[0],
				arm->control ? &ret->control
					     : &ret->differences[ret->n_differences++]);
	}
	return r;
}

/* Verdicts need all p-values: one family for everything that was asked. */
static int judge_all(struct summary *summary)
{
	_cleanup_free_ double *p = NULL;
	size_t n = 0;
	int r;

	for (size_t c = 0; c < summary->n; c++)
		n += summary->cases[c].n_differences;
	p = calloc(MAX(n, 1U), sizeof(*p));
	if (!p)
		return -ENOMEM;
	n = 0;
	for (size_t c = 0; c < summary->n; c++)
		for (size_t i = 0; i < summary->cases[c].n_differences; i++)
			p[n++] = summary->cases[c].differences[i].cpu.p;
	r = stats_holm(p, n);
	if (r < 0)
		return r;
	n = 0;
	for (size_t c = 0; c < summary->n; c++) {
		const struct summary_difference *control = &summary->cases[c].control;

		for (size_t i = 0; i < summary->cases[c].n_differences; i++) {
			struct summary_difference *d = &summary->cases[c].differences[i];

			d->p = p[n++];
			d->verdict = stats_judge(&d->cpu, d->p,
						 control->cpu.n > 0 ? &control->cpu : NULL,
						 &d->bound);
		}
	}
	return 0;
}

int summary_make(const struct result *result, struct summary *ret)
{
	_cleanup_summary_ struct summary summary = { .n_arms = result->n_arms };
	size_t n_rounds = count_rounds(result);
	_cleanup_free_ double *rounds = calloc(MAX(2 * n_rounds, 1U), sizeof(*rounds));
	int r = 0;

	summary.cases = calloc(MAX(result->n_cases, 1U), sizeof(*summary.cases));
	if (!summary.cases || !rounds)
		return -ENOMEM;
	for (size_t c = 0; c < result->n_cases && r >= 0; c++)
		r = look_at_case(result, c, rounds, n_rounds, &summary.cases[summary.n++]);
	if (r >= 0)
		r = judge_all(&summary);
	if (r < 0)
		return r;
	*ret = summary;
	summary = (struct summary){};
	return 0;
}

void summary_done(struct summary *summary)
{
	for (size_t c = 0; c < summary->n; c++) {
		free(summary->cases[c].arms);
		free(summary->cases[c].differences);
	}
	free(summary->cases);
	*summary = (struct summary){};
}

double summary_widest(const struct summary *summary)
{
	double widest = 0;

	for (size_t c = 0; c < summary->n; c++)
		for (size_t i = 0; i < summary->cases[c].n_differences; i++)
			widest = fmax(widest,
				      stats_resolution(&summary->cases[c].differences[i].cpu));
	return widest;
}

bool summary_is_noisy(const struct summary *summary)
{
	for (size_t c = 0; c < summary->n; c++)
		for (size_t i = 0; i < summary->cases[c].n_differences; i++) {
			enum stats_verdict verdict = summary->cases[c].differences[i].verdict;

			if (verdict == STATS_NOISY || verdict == STATS_TOO_FEW)
				return true;
		}
	return false;
}

/* --- JSON --- */

void summary_add_difference(struct json *object, const struct stats_difference *d, double p)
{
	json_add_u64(object, "n", d->n);
	json_add_double(object, "percent", 100 * expm1(d->value));
	json_add_double(object, "low", isinf(d->lo) ? d->lo : 100 * expm1(d->lo));
	json_add_double(object, "high", 100 * expm1(d->hi));
	json_add_double(object, "p", p);
}

static struct json *arm_to_json(const struct summary_arm *arm, const struct result_arm *name)
{
	struct json *object = json_new_object(), *reasons = json_new_array();

	json_add_string(object, "arm", name->name);
	json_add_u64(object, "n", arm->n);
	json_add_u64(object, "dropped", arm->dropped);
	for (unsigned bit = 1; bit < _SAMPLE_INVALID_MAX; bit <<= 1)
		if (arm->reasons & bit)
			json_append_string(reasons, sample_invalid_name(bit));
	json_add(object, "dropped_for", reasons);
	if (arm->n > 0) {
		json_add_double(object, "cpu_ns", arm->cost.value);
		json_add_double(object, "cpu_ns_low", arm->cost.lo);
		json_add_double(object, "cpu_ns_high", arm->cost.hi);
		json_add_double(object, "cpu_ns_least", arm->least);
		json_add_double(object, "cv", arm->cv);
		json_add_double(object, "wall_ns", arm->wall);
		json_add_double(object, "map_ns", arm->phases[PHASE_MAP]);
		json_add_double(object, "touch_ns", arm->phases[PHASE_TOUCH]);
		json_add_double(object, "unmap_ns", arm->phases[PHASE_UNMAP]);
		json_add_double(object, "per_cpu_second", arm->per_cpu);
		json_add_double(object, "per_second", arm->per_second);
		json_add_double(object, "faults", arm->faults);
		json_add_double(object, "instructions_k", arm->instructions);
		json_add_double(object, "cycles_k", arm->cycles);
	}
	return object;
}

static struct json *difference_to_json(const struct summary_difference *d,
				       const struct result *result, bool control)
{
	struct json *object = json_new_object();

	json_add_string(object, "arm", result->arms[d->arm].name);
	json_add_string(object, "than", result->arms[0].name);
	summary_add_difference(object, &d->cpu, d->cpu.p);
	json_add_double(object, "ns", d->ns);
	if (d->instructions.n > 0) {
		struct json *instructions = json_new_object();

		summary_add_difference(instructions, &d->instructions, d->instructions.p);
		json_add(object, "instructions_k", instructions);
	} else
		json_add_null(object, "instructions_k");
	if (!control) {
		json_add_double(object, "p_adjusted", d->p);
		json_add_string(object, "verdict", stats_verdict_name(d->verdict));
		json_add_double(object, "bound", 100 * d->bound);
	}
	return object;
}

struct json *summary_to_json(const struct summary *summary, const struct result *result)
{
	struct json *top = json_new_array();

	for (size_t c = 0; c < summary->n; c++) {
		const struct summary_case *one = &summary->cases[c];
		const struct result_case *name = &result->cases[c];
		struct json *object = json_new_object(), *arms = json_new_array(),
			    *differences = json_new_array();

		json_add_string(object, "workload", name->workload);
		json_add_string(object, "unit", name->unit);
		if (name->has_clients)
			json_add_u64(object, "clients", name->clients);
		else
			json_add_null(object, "clients");
		for (size_t i = 0; i < summary->n_arms; i++)
			json_append(arms, arm_to_json(&one->arms[i], &result->arms[i]));
		json_add(object, "arms", arms);
		if (one->control.cpu.n > 0) {
			json_add(object, "control",
				 difference_to_json(&one->control, result, true));
			json_add_double(object, "resolution",
					100 * stats_resolution(&one->control.cpu));
		} else {
			json_add_null(object, "control");
			json_add_null(object, "resolution");
		}
		for (size_t i = 0; i < one->n_differences; i++)
			json_append(differences,
				    difference_to_json(&one->differences[i], result, false));
		json_add(object, "differences", differences);
		json_append(top, object);
	}
	return top;
}
