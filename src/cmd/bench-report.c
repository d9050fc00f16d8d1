/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/bench-report.h"

#include "base/json.h"
#include "base/str.h"
#include "bench/compare.h"
#include "bench/meaning.h"
#include "bench/result.h"
#include "bench/summary.h"
#include "cmd/cmd.h"
#include "policy/need.h"
#include "ui/output.h"
#include "ui/table.h"

#include <math.h>
#include <stdio.h>

static int format_ns(double ns, char **ret)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;

	if (isnan(ns))
		return str_printf(ret, "-");
	for (; fabs(ns) >= 9999.5 && unit + 1 < ARRAY_SIZE(units); unit++)
		ns /= 1000;
	return str_printf(ret, "%.*f %s",
			  fabs(ns) >= 99.95   ? 0
			  : fabs(ns) >= 9.995 ? 1
					      : 2,
			  ns, units[unit]);
}

static int format_percent(double ratio, char **ret)
{
	double percent = 100 * ratio;

	if (!isfinite(percent))
		return str_printf(ret, "?");
	return str_printf(ret, "%+.*f %%",
			  fabs(percent) >= 99.5	  ? 0
			  : fabs(percent) >= 0.95 ? 1
						  : 2,
			  percent);
}

static int format_interval(const struct stats_difference *d, char **ret)
{
	_cleanup_free_ char *value = NULL, *lo = NULL, *hi = NULL;
	int r = format_percent(expm1(d->value), &value);

	if (d->n == 0)
		return str_printf(ret, "-");
	if (r >= 0)
		r = format_percent(expm1(d->lo), &lo);
	if (r >= 0)
		r = format_percent(expm1(d->hi), &hi);
	return r < 0 ? r
		     : str_printf(ret, "%s [%s, %s]", value, isfinite(d->lo) ? lo : "?", hi);
}

/* "cost +4.1 %": the same words everywhere. few: what there are too few of. */
static int format_verdict(enum stats_verdict verdict, double ratio, double bound,
			  const char *few, char **ret)
{
	_cleanup_free_ char *value = NULL;
	int r = format_percent(ratio, &value);

	if (r < 0)
		return r;
	switch (verdict) {
	case STATS_COST:
	case STATS_SAVING:
		return str_printf(ret, "cost %s", value);
	case STATS_NO_DIFFERENCE:
		return str_printf(ret, "no difference larger than %.1f %%", 100 * bound);
	case STATS_TOO_FEW:
		return str_printf(ret, "too few %s", few);
	default:
		if (isfinite(bound))
			return str_printf(ret, "too noisy (%.1f %%)", 100 * bound);
		return str_printf(ret, "too noisy");
	}
}

static enum term_style verdict_style(enum stats_verdict verdict)
{
	switch (verdict) {
	case STATS_COST:
		return TERM_BOLD;
	case STATS_SAVING:
	case STATS_NO_DIFFERENCE:
		return TERM_GOOD;
	default:
		return TERM_WARN;
	}
}

/* --- tables --- */

/* One row a workload and arm that is compared with arm 0. */
static int add_difference(const struct cmd *cmd, struct table *table,
			  const struct result *result, size_t c, const struct summary_case *one,
			  const struct summary_difference *d)
{
	_cleanup_free_ char *title = NULL, *base = NULL, *mine = NULL, *interval = NULL,
			    *resolution = NULL, *verdict = NULL, *instructions = NULL;
	int r = result_case_title(&result->cases[c], &title);

	if (r >= 0)
		r = format_ns(one->arms[0].cost.value, &base);
	if (r >= 0)
		r = format_ns(one->arms[d->arm].cost.value, &mine);
	if (r >= 0)
		r = format_interval(&d->cpu, &interval);
	if (r >= 0)
		r = str_printf(&resolution, "%.1f %%",
			       100 * stats_resolution(&one->control.cpu));
	if (r >= 0 && d->instructions.n > 0)
		r = format_interval(&d->instructions, &instructions);
	if (r >= 0)
		r = format_verdict(d->verdict, expm1(d->cpu.value), d->bound, "samples",
				   &verdict);
	if (r >= 0) {
		const char *cells[] = { title,
					result->cases[c].unit,
					base,
					result->arms[d->arm].name,
					mine,
					interval,
					one->control.cpu.n > 0 ? resolution : NULL,
					verdict,
					instructions };

		r = table_add_row(table, 8 + (d->instructions.n > 0), cells);
	}
	if (r >= 0)
		r = table_set_style(table, cmd->term, 7, verdict_style(d->verdict));
	return r;
}

static bool has_instructions(const struct summary *summary)
{
	for (size_t c = 0; c < summary->n; c++)
		for (size_t i = 0; i < summary->cases[c].n_differences; i++)
			if (summary->cases[c].differences[i].instructions.n > 0)
				return true;
	return false;
}

static int print_differences(const struct cmd *cmd, const struct result *result,
			     const struct summary *summary)
{
	_cleanup_table_ struct table *table = NULL;
	_cleanup_free_ char *base = NULL;
	struct table_column columns[] = {
		{ "WORKLOAD", 0 },
		{ "UNIT", 0 },
		{ NULL, TABLE_RIGHT }, /* the base arm's name */
		{ "ARM", 0 },
		{ "", TABLE_RIGHT },
		{ "DIFFERENCE", 0 },
		{ "CONTROL", TABLE_RIGHT },
		{ "VERDICT", 0 },
		{ has_instructions(summary) ? "KERNEL INSTRUCTIONS" : NULL, 0 },
		{},
	};
	int r = str_printf(&base, "%s", result->arms[0].name);

	for (char *p = base; r >= 0 && *p; p++)
		*p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
	columns[2].name = base;
	if (r >= 0)
		r = table_new(cmd->args, columns, &table);
	for (size_t c = 0; c < summary->n && r >= 0; c++)
		for (size_t i = 0; i < summary->cases[c].n_differences && r >= 0; i++)
			r = add_difference(cmd, table, result, c, &summary->cases[c],
					   &summary->cases[c].differences[i]);
	return r < 0 ? r : table_print(table, stdout);
}

static int add_arm(struct table *table, const char *title, const char *name,
		   const struct summary_arm *arm)
{
	_cleanup_free_ char *cost = NULL, *least = NULL, *cv = NULL, *map = NULL, *touch = NULL,
			    *unmap = NULL, *faults = NULL, *n = NULL, *dropped = NULL;
	const double *phases = arm->phases;
	int r = format_ns(arm->cost.value, &cost);

	if (r >= 0)
		r = format_ns(arm->least, &least);
	if (r >= 0)
		r = str_printf(&cv, "%.1f %%", 100 * arm->cv);
	if (r >= 0)
		r = format_ns(phases[PHASE_MAP] > 0 ? phases[PHASE_MAP] : NAN, &map);
	if (r >= 0)
		r = format_ns(phases[PHASE_TOUCH] > 0 ? phases[PHASE_TOUCH] : NAN, &touch);
	if (r >= 0)
		r = format_ns(phases[PHASE_UNMAP] > 0 ? phases[PHASE_UNMAP] : NAN, &unmap);
	if (r >= 0)
		r = str_printf(&faults, "%.3f", arm->faults);
	if (r >= 0)
		r = str_printf(&n, "%zu", arm->n);
	if (r >= 0)
		r = arm->dropped ? str_printf(&dropped, "%zu (%s)", arm->dropped,
					      sample_invalid_name(arm->reasons))
				 : str_printf(&dropped, "0");
	if (r >= 0) {
		const char *cells[] = { title, name,  cost,   least, cv,     map,
					touch, unmap, faults, n,     dropped };

		r = table_add_row(table, ARRAY_SIZE(cells), cells);
	}
	return r;
}

/* One row a workload and arm: for a run in one place, and with --verbose. */
static int print_arms(const struct cmd *cmd, const struct result *result,
		      const struct summary *summary)
{
	static const struct table_column columns[] = {
		{ "WORKLOAD", 0 },	    { "ARM", 0 },
		{ "MEDIAN", TABLE_RIGHT },  { "LEAST", TABLE_RIGHT },
		{ "CV", TABLE_RIGHT },	    { "MAP", TABLE_RIGHT },
		{ "TOUCH", TABLE_RIGHT },   { "UNMAP", TABLE_RIGHT },
		{ "FAULTS", TABLE_RIGHT },  { "VALID", TABLE_RIGHT },
		{ "DROPPED", TABLE_RIGHT }, {},
	};
	_cleanup_table_ struct table *table = NULL;
	int r = table_new(cmd->args, columns, &table);

	for (size_t c = 0; c < summary->n && r >= 0; c++) {
		_cleanup_free_ char *title = NULL;

		r = result_case_title(&result->cases[c], &title);
		for (size_t i = 0; i < summary->n_arms && r >= 0; i++) {
			const struct summary_arm *arm = &summary->cases[c].arms[i];

			if (arm->n + arm->dropped > 0)
				r = add_arm(table, title, result->arms[i].name, arm);
		}
	}
	return r < 0 ? r : table_print(table, stdout);
}

/* The page-fault test's rows: rates, so more is better, and no verdict is taken from them. */
static int print_rates(const struct cmd *cmd, const struct result *result,
		       const struct summary *summary)
{
	static const struct table_column columns[] = { { "HMEAN", 0 }, {} };
	_cleanup_table_ struct table *table = NULL;
	size_t n_arms = MIN(summary->n_arms, (size_t)ARMS_MAX);
	int r = table_new(cmd->args, columns, &table);

	/* the root before any child has kernel objects only, and comes last */
	while (n_arms > 0 && result->arms[n_arms - 1].before)
		n_arms--;
	for (size_t i = 0; i < n_arms && r >= 0; i++)
		r = table_add_column(table, result->arms[i].name, TABLE_RIGHT);
	for (size_t c = 0; c < summary->n && r >= 0; c++)
		for (int wall = 0; wall <= 1 && r >= 0; wall++) {
			const struct result_case *name = &result->cases[c];
			char *cells[ARMS_MAX + 1] = {};

			if (!streq(name->unit, "page"))
				continue;
			r = str_printf(&cells[0], "%s %s-%u", name->workload,
				       wall ? "faults/sec" : "faults/cpu", name->clients);
			for (size_t i = 0; i < n_arms && r >= 0; i++) {
				const struct summary_arm *arm = &summary->cases[c].arms[i];
				double rate = wall ? arm->per_second : arm->per_cpu;

				if (arm->n > 0 && isfinite(rate))
					r = str_printf(&cells[i + 1], "%.0f",
						       rate * arm->faults);
				else
					r = str_printf(&cells[i + 1], "-");
			}
			if (r >= 0)
				r = table_add_row(table, n_arms + 1,
						  (const char *const *)cells);
			for (size_t i = 0; i < ARRAY_SIZE(cells); i++)
				free(cells[i]);
		}
	return r < 0 ? r : table_print(table, stdout);
}

/* --- sentences --- */

/* Which question the numbers answer; saying it is as important as the numbers. */
static void print_question(const struct result *result)
{
	const char *memcg = result->text[CONTEXT_MEMCG], *why = result->text[CONTEXT_WHY_HERE];

	if (result->arms[0].kind == ARM_ROOT && result->n_arms > 2)
		puts("Answered: what charging in a child cgroup costs against the root cgroup, "
		     "in "
		     "this boot.\nNot answered: what memcg as a whole costs. Most of that is "
		     "paid "
		     "in the root cgroup\ntoo; it takes boots with memcg off, and "
		     "\"memcg-policy bench compare\".");
	else if (streq_ptr(memcg, "off") || streq_ptr(memcg, "unavailable"))
		printf("Measured in one place: memcg is %s. This is the off half of "
		       "\"memcg-policy bench\ncompare\", which needs at least %d boots of "
		       "either kind to tell.\n",
		       memcg, STATS_LEAST_BOOTS);
	else
		printf("Measured in one place (%s): nothing is compared within this boot, "
		       "only the control\ntells how much this host resolves.\n",
		       why ? why : "as asked for");
}

static int print_share(double share)
{
	if (share >= 0.0001)
		return printf("%.2f %%", 100 * share);
	return printf("less than 0.01 %%");
}

static void print_meaning(const struct meaning *meaning, const char *what,
			  const struct needs *needs)
{
	bool first = true;

	if (!isnan(meaning->all_share)) {
		printf("This host takes %.0f page faults a second (watched for %.0f s). All of "
		       "them "
		       "cost about ",
		       meaning->fault_rate, meaning->watched_s);
		print_share(meaning->all_share);
		puts(" of one CPU,\nand off cannot save more of them than that.");
		if (!isnan(meaning->cost_share)) {
			printf("%s comes to at most ", what);
			print_share(meaning->cost_share);
			puts(" of one CPU here.");
		}
		puts("Other costs of memcg (kernel objects, sockets, flushing of statistics, "
		     "its own "
		     "memory)\nare in no page fault.");
	}
	for (size_t i = 0; needs && i < needs->n; i++) {
		const struct need *need = &needs->items[i];

		if (need->in_use != NEED_YES || need->level < NEED_DEGRADED)
			continue;
		printf("%s%s (%s)", first ? "Off would break: " : ", ", need->id,
		       need_level_to_string(need->level));
		first = false;
	}
	if (!first)
		puts(".\n\"memcg-policy needs -v\" says how.");
	else if (needs && !needs->incomplete)
		puts("Off would break nothing that was found here.");
}

static void print_host(const struct result *result)
{
	char *const *text = result->text;
	const double *numbers = result->numbers;

	printf("Linux %s, memcg %s (cgroup %s), %s, %.0f CPUs%s\n",
	       text[CONTEXT_KERNEL] ? text[CONTEXT_KERNEL] : "?",
	       text[CONTEXT_MEMCG] ? text[CONTEXT_MEMCG] : "unknown",
	       text[CONTEXT_HIERARCHY] ? text[CONTEXT_HIERARCHY] : "?",
	       text[CONTEXT_CPU] ? text[CONTEXT_CPU] : "unknown CPU", numbers[CONTEXT_CPUS],
	       streq_ptr(text[CONTEXT_HYPERVISOR], "no") || !text[CONTEXT_HYPERVISOR]
		       ? ""
		       : ", virtual");
	printf("%s%s%.0f rounds, seed %.0f. CPU time per unit; + costs more; 95 %% "
	       "intervals.\n\n",
	       text[CONTEXT_LABEL] ? text[CONTEXT_LABEL] : "", text[CONTEXT_LABEL] ? ": " : "",
	       numbers[CONTEXT_ROUNDS], numbers[CONTEXT_SEED]);
}

int bench_report_run(const struct cmd *cmd, const struct result *result,
		     const struct summary *summary, const struct needs *needs)
{
	bool compared = summary->n > 0 && summary->cases[0].n_differences > 0;
	struct meaning meaning;
	int r = 0;

	if (!cmd->args->quiet)
		print_host(result);
	if (compared)
		r = print_differences(cmd, result, summary);
	if (r >= 0 && compared && cmd->args->verbose)
		putchar('\n');
	if (r >= 0 && (!compared || cmd->args->verbose))
		r = print_arms(cmd, result, summary);
	if (r >= 0) {
		putchar('\n');
		r = print_rates(cmd, result, summary);
	}
	if (r >= 0 && result->profile) {
		putchar('\n');
		r = bench_report_profile(cmd, result->profile);
	}
	if (r < 0 || cmd->args->quiet)
		return r;
	putchar('\n');
	print_question(result);
	meaning_of_run(result, summary, &meaning);
	putchar('\n');
	print_meaning(&meaning, "Charging in a child", needs);
	for (size_t i = 0; i < result->warnings.n; i++)
		fprintf(stderr, "memcg-policy: warning: %s\n", result->warnings.items[i]);
	return 0;
}

static struct json *needs_in_use(const struct needs *needs)
{
	struct json *array = json_new_array();

	for (size_t i = 0; i < needs->n; i++) {
		struct json *object;

		if (needs->items[i].in_use != NEED_YES)
			continue;
		object = json_new_object();
		json_add_string(object, "id", needs->items[i].id);
		json_add_string(object, "level", need_level_to_string(needs->items[i].level));
		json_append(array, object);
	}
	return array;
}

struct json *bench_report_json(const struct result *result, const struct summary *summary,
			       const struct needs *needs)
{
	struct json *top = result_to_json(result);
	struct meaning meaning;

	meaning_of_run(result, summary, &meaning);
	json_add(top, "summary", summary_to_json(summary, result));
	json_add(top, "meaning", meaning_to_json(&meaning));
	if (needs)
		json_add(top, "needs", needs_in_use(needs));
	else
		json_add_null(top, "needs");
	return top;
}

/* --- boots --- */

static int format_value(const struct compare_row *row, double value, char **ret)
{
	return row->metric == METRIC_CPU ? format_ns(value, ret)
					 : str_printf(ret, "%.0f", value);
}

static int add_compare_row(const struct cmd *cmd, struct table *table,
			   const struct compare_row *row)
{
	_cleanup_free_ char *before = NULL, *after = NULL, *more = NULL, *place = NULL,
			    *interval = NULL, *verdict = NULL;
	int r = format_value(row, row->values[0], &before);

	if (r >= 0)
		r = format_value(row, row->values[1], &after);
	if (r >= 0)
		r = format_value(row, row->values[1] - row->values[0], &more);
	if (r >= 0 && streq(row->arm, row->base))
		r = str_printf(&place, "%s", row->arm);
	else if (r >= 0)
		r = str_printf(&place, "%s - %s", row->arm, row->base);
	if (r >= 0)
		r = format_interval(&row->d, &interval);
	if (r >= 0)
		r = format_verdict(row->verdict, expm1(row->d.value), row->bound, "boots",
				   &verdict);
	if (r >= 0) {
		const char *cells[] = { row->title, row->unit, place,	 before,
					after,	    more,      interval, verdict };

		r = table_add_row(table, ARRAY_SIZE(cells), cells);
	}
	return r < 0 ? r : table_set_style(table, cmd->term, 7, verdict_style(row->verdict));
}

static void print_comparison_end(const struct comparison *comparison)
{
	const struct compare_side *sides = comparison->sides;

	if (comparison->on_off)
		puts("Answered: what memcg costs, boots with it on against boots with it off.");
	else
		printf("Answered: what differs between \"%s\" and \"%s\"; memcg is %s and "
		       "%s.\n",
		       sides[0].name, sides[1].name, sides[0].memcg ? sides[0].memcg : "mixed",
		       sides[1].memcg ? sides[1].memcg : "mixed");
	if (MIN(sides[0].boots, sides[1].boots) < comparison->boots_needed)
		printf("Boots: %zu against %zu. It takes %zu of either kind before so many "
		       "rows can be told\nfrom chance, however large the difference.\n",
		       sides[0].boots, sides[1].boots, comparison->boots_needed);
	if (comparison->has_meaning) {
		putchar('\n');
		print_meaning(&comparison->meaning, "Memcg", NULL);
	}
}

int bench_report_comparison(const struct cmd *cmd, const struct comparison *comparison)
{
	const struct table_column columns[] = {
		{ "WORKLOAD", 0 },
		{ "UNIT", 0 },
		{ "PLACE", 0 },
		{ comparison->sides[0].name, TABLE_RIGHT },
		{ comparison->sides[1].name, TABLE_RIGHT },
		{ "MORE", TABLE_RIGHT },
		{ "DIFFERENCE", 0 },
		{ "VERDICT", 0 },
		{},
	};
	_cleanup_table_ struct table *table = NULL;
	int r = table_new(cmd->args, columns, &table);

	for (size_t i = 0; i < comparison->n && r >= 0; i++)
		r = add_compare_row(cmd, table, &comparison->rows[i]);
	if (r >= 0)
		r = table_print(table, stdout);
	if (r < 0)
		return r;
	for (size_t i = 0; i < comparison->warnings.n; i++)
		fprintf(stderr, "memcg-policy: warning: %s\n", comparison->warnings.items[i]);
	if (!cmd->args->quiet) {
		putchar('\n');
		print_comparison_end(comparison);
	}
	return 0;
}
