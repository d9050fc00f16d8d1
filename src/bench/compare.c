/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/compare.h"

#include "base/json.h"
#include "bench/boots.h"
#include "bench/result.h"

#include <math.h>

void comparison_done(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->n; i++) {
		free(comparison->rows[i].title);
		free(comparison->rows[i].unit);
		free(comparison->rows[i].arm);
		free(comparison->rows[i].base);
	}
	free(comparison->rows);
	for (size_t i = 0; i < 2; i++) {
		free(comparison->sides[i].name);
		free(comparison->sides[i].memcg);
	}
	strv_done(&comparison->warnings);
	*comparison = (struct comparison){};
}

static bool is_measured(const struct result_arm *arm)
{
	return !arm->control && !arm->before;
}

/* The arm of that name, else the only place there was; SIZE_MAX: none. */
static size_t find_arm(const struct result *result, const char *name)
{
	for (size_t i = 0; i < result->n_arms; i++)
		if (streq(result->arms[i].name, name))
			return i;
	return result->arms[0].kind == ARM_HERE ? 0 : SIZE_MAX;
}

static bool is_case(const struct result_case *a, const struct result_case *b)
{
	return streq(a->workload, b->workload) && a->clients == b->clients;
}

/* The logarithm of one file's median; NAN: it has none. */
static double log_median(const struct boot *boot, const struct result_case *c, const char *arm,
			 enum summary_metric metric)
{
	const struct result *result = &boot->result;
	size_t place = find_arm(result, arm);

	for (size_t m = 0; m < result->n_cases && place != SIZE_MAX; m++) {
		size_t cell = m * result->n_arms + place;

		if (is_case(&result->cases[m], c))
			return log(metric == METRIC_CPU ? boot->cpu[cell]
							: boot->instructions[cell]);
	}
	return NAN;
}

/*
 * One value for each boot of a kind; one that was measured several times counts once, with the
 * mean. Room for all boots in values; returns how many there are.
 */
static size_t observe(const struct boots *boots, const char *kind, const struct result_case *c,
		      const char *arm, enum summary_metric metric, double *values)
{
	size_t n = 0;

	for (size_t i = 0; i < boots->n; i++) {
		double sum = 0;
		unsigned times = 0;

		if (boots->items[i].first != i || !streq(boots->items[i].kind, kind))
			continue;
		for (size_t k = i; k < boots->n; k++) {
			double value = boots->items[k].first == i
					       ? log_median(&boots->items[k], c, arm, metric)
					       : NAN;

			if (isfinite(value)) {
				sum += value;
				times++;
			}
		}
		if (times > 0)
			values[n++] = sum / times;
	}
	return n;
}

static int compare_row(const struct boots *boots, const struct comparison *comparison,
		       const struct result_case *c, const char *arm, double *values,
		       struct compare_row *row)
{
	static const enum summary_metric metrics[] = { METRIC_INSTRUCTIONS, METRIC_CPU };
	const char *first = comparison->sides[0].name, *second = comparison->sides[1].name;
	int r;

	/* instructions hardly differ between boots; they count if every boot has them */
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		row->metric = metrics[i];
		row->n[0] = observe(boots, first, c, arm, metrics[i], values);
		row->n[1] = observe(boots, second, c, arm, metrics[i], values + row->n[0]);
		if (row->n[0] == comparison->sides[0].boots &&
		    row->n[1] == comparison->sides[1].boots)
			break;
	}
	if (row->n[0] == 0 || row->n[1] == 0)
		return 0;
	for (size_t i = 0; i < 2; i++) {
		struct stats_estimate median;

		r = stats_median(values + i * row->n[0], row->n[i], &median);
		if (r < 0)
			return r;
		row->values[i] = exp(median.value);
	}
	r = stats_unpaired(values, row->n[0], values + row->n[0], row->n[1], &row->d);
	if (r < 0)
		return r;
	row->p = row->d.p;
	return 1;
}

static const char *base_name(const struct boots *boots, const struct comparison *comparison,
			     const char *arm)
{
	for (size_t i = 0; i < boots->n; i++)
		if (streq(boots->items[i].kind, comparison->sides[0].name)) {
			const struct result *result = &boots->items[i].result;
			size_t place = find_arm(result, arm);

			return place == SIZE_MAX ? arm : result->arms[place].name;
		}
	return arm;
}

static bool has_row(const struct comparison *comparison, const char *title, const char *arm)
{
	for (size_t i = 0; i < comparison->n; i++)
		if (streq(comparison->rows[i].title, title) &&
		    streq(comparison->rows[i].arm, arm))
			return true;
	return false;
}

/* Takes title over. */
static int add_row(struct comparison *comparison, const struct boots *boots,
		   const struct result_case *c, const char *arm, char *title, double *values)
{
	struct compare_row row = { .title = title }, *rows;
	int r = compare_row(boots, comparison, c, arm, values, &row);

	if (r <= 0) {
		free(title);
		return r;
	}
	rows = reallocarray(comparison->rows, comparison->n + 1, sizeof(*rows));
	row.unit = strdup(c->unit);
	row.arm = strdup(arm);
	row.base = strdup(base_name(boots, comparison, arm));
	if (rows) {
		comparison->rows = rows;
		rows[comparison->n++] = row;
	}
	return rows && row.unit && row.arm && row.base ? 0 : -ENOMEM;
}

/* Every workload and place of the second kind of boots that the first kind has too. */
static int add_rows(struct comparison *comparison, const struct boots *boots)
{
	_cleanup_free_ double *values = calloc(boots->n, sizeof(*values));
	int r = 0;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < boots->n; i++) {
		const struct result *result = &boots->items[i].result;

		if (!streq(boots->items[i].kind, comparison->sides[1].name))
			continue;
		for (size_t m = 0; m < result->n_cases * result->n_arms && r >= 0; m++) {
			const struct result_case *c = &result->cases[m / result->n_arms];
			const struct result_arm *arm = &result->arms[m % result->n_arms];
			char *title;

			if (!is_measured(arm))
				continue;
			r = result_case_title(c, &title);
			if (r < 0)
				return r;
			if (has_row(comparison, title, arm->name))
				free(title);
			else
				r = add_row(comparison, boots, c, arm->name, title, values);
		}
	}
	return r;
}

/* Boots of either kind with which the least p, times the rows (Holm), can be significant. */
static size_t boots_needed(size_t rows)
{
	double ways = 2; /* of choosing n of 2n */
	size_t n = 1;

	while (2 / ways * (double)rows > STATS_ALPHA) {
		n++;
		ways *= (double)(2 * n) * (double)(2 * n - 1) / ((double)n * (double)n);
	}
	return MAX(n, (size_t)STATS_LEAST_BOOTS);
}

static int judge(struct comparison *comparison)
{
	_cleanup_free_ double *p = calloc(MAX(comparison->n, 1U), sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < comparison->n; i++)
		p[i] = comparison->rows[i].p;
	r = stats_holm(p, comparison->n);
	if (r < 0)
		return r;
	comparison->boots_needed = boots_needed(comparison->n);
	for (size_t i = 0; i < comparison->n; i++) {
		struct compare_row *row = &comparison->rows[i];
		size_t boots = MIN(row->n[0], row->n[1]);

		row->p = p[i];
		row->verdict = stats_judge(&row->d, row->p, NULL, &row->bound);
		/* no difference could have been significant: more boots help, quiet does not */
		if (boots < STATS_LEAST_BOOTS ||
		    (row->verdict == STATS_NOISY && boots < comparison->boots_needed))
			row->verdict = STATS_TOO_FEW;
	}
	return 0;
}

/* What memcg comes to here: the dearest place, and this host's faults where memcg was on. */
static void find_meaning(struct comparison *comparison, const struct boots *boots)
{
	const struct compare_row *dearest = NULL;

	for (size_t i = 0; i < comparison->n; i++) {
		const struct compare_row *row = &comparison->rows[i];

		if (streq(row->title, "anon") && row->metric == METRIC_CPU &&
		    (!dearest || row->values[1] > dearest->values[1]))
			dearest = row;
	}
	for (size_t i = 0; i < boots->n && dearest && comparison->on_off; i++) {
		const struct boot *boot = &boots->items[i];
		double rate = boot->result.numbers[CONTEXT_FAULT_RATE];

		if (streq(boot->kind, comparison->sides[1].name) && !isnan(rate)) {
			meaning_of_cost(rate, boot->result.numbers[CONTEXT_WATCHED],
					dearest->values[1],
					dearest->values[1] - dearest->values[0],
					dearest->values[0] * expm1(dearest->d.hi),
					&comparison->meaning);
			comparison->has_meaning = true;
			return;
		}
	}
}

int compare_files(char *const *paths, size_t n, bool force, struct comparison *ret,
		  struct diag *diag)
{
	_cleanup_comparison_ struct comparison comparison = {};
	_cleanup_(boots_done) struct boots boots = {};
	int r = boots_read(paths, n, &boots, diag);

	if (r >= 0)
		r = boots_check(&boots, force, &comparison, diag);
	if (r >= 0)
		r = boots_find_sides(&boots, &comparison, diag);
	if (r >= 0)
		r = add_rows(&comparison, &boots);
	if (r >= 0 && comparison.n == 0)
		r = boots_not_comparable(diag, NULL, "memcg-policy bench report FILE shows one",
					 "the files have no workload and place in common");
	if (r >= 0)
		r = judge(&comparison);
	if (r < 0)
		return r;
	find_meaning(&comparison, &boots);
	*ret = comparison;
	comparison = (struct comparison){};
	return 0;
}

bool comparison_is_noisy(const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->n; i++)
		if (comparison->rows[i].verdict == STATS_NOISY ||
		    comparison->rows[i].verdict == STATS_TOO_FEW)
			return true;
	return false;
}

struct json *comparison_to_json(const struct comparison *comparison)
{
	struct json *top = json_new_object(), *sides = json_new_array(),
		    *rows = json_new_array(), *warnings = json_new_array();

	json_add_int(top, "schema", 1);
	json_add_string(top, "kind", "bench-compare");
	json_add_string(top, "question", comparison->on_off ? "memcg" : "other");
	for (size_t i = 0; i < 2; i++) {
		struct json *object = json_new_object();

		json_add_string(object, "name", comparison->sides[i].name);
		json_add_string(object, "memcg", comparison->sides[i].memcg);
		json_add_u64(object, "boots", comparison->sides[i].boots);
		json_append(sides, object);
	}
	json_add(top, "sides", sides);
	for (size_t i = 0; i < comparison->n; i++) {
		const struct compare_row *row = &comparison->rows[i];
		struct json *object = json_new_object();

		json_add_string(object, "workload", row->title);
		json_add_string(object, "unit", row->unit);
		json_add_string(object, "arm", row->arm);
		json_add_string(object, "than", row->base);
		json_add_string(object, "metric",
				row->metric == METRIC_CPU ? "cpu_ns" : "instructions_k");
		json_add_double(object, "before", row->values[0]);
		json_add_double(object, "after", row->values[1]);
		json_add_double(object, "difference", row->values[1] - row->values[0]);
		summary_add_difference(object, &row->d, row->d.p);
		json_add_double(object, "p_adjusted", row->p);
		json_add_string(object, "verdict", stats_verdict_name(row->verdict));
		json_append(rows, object);
	}
	json_add(top, "rows", rows);
	json_add_u64(top, "boots_needed", comparison->boots_needed);
	if (comparison->has_meaning)
		json_add(top, "meaning", meaning_to_json(&comparison->meaning));
	else
		json_add_null(top, "meaning");
	for (size_t i = 0; i < comparison->warnings.n; i++) {
		struct json *warning = json_new_object();

		json_add_string(warning, "text", comparison->warnings.items[i]);
		json_append(warnings, warning);
	}
	json_add(top, "warnings", warnings);
	return top;
}
