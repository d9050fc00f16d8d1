/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What --profile found, from the result: the share of memcg's functions per workload and place.
 */

#include "cmd/bench-report.h"

#include "base/json.h"
#include "base/str.h"
#include "bench/profile.h"
#include "cmd/cmd.h"
#include "ui/table.h"

#include <math.h>
#include <stdio.h>

enum { FUNCTIONS_SHOWN = 3 };

static double get_number(const struct json *object, const char *key)
{
	double value;

	return json_as_number(json_get(object, key), &value) < 0 ? NAN : value;
}

static int format_share(const struct json *object, const char *key, char **ret)
{
	double share = get_number(object, key);

	return isnan(share) ? str_printf(ret, "-") : str_printf(ret, "%.2f %%", 100 * share);
}

/* "__mod_memcg_lruvec_state 3.9 %, ..." */
static int format_functions(const struct json *functions, char **ret)
{
	_cleanup_strbuf_ struct strbuf text = {};

	for (size_t i = 0; i < json_length(functions) && i < FUNCTIONS_SHOWN; i++) {
		const struct json *one = json_at(functions, i);
		const char *name = json_as_string(json_get(one, "name"));
		_cleanup_free_ char *share = NULL;
		int r = format_share(one, "share", &share);

		if (r < 0)
			return r;
		strbuf_adds(&text, i > 0 ? ", " : "");
		strbuf_adds(&text, name ? name : "?");
		strbuf_adds(&text, " ");
		strbuf_adds(&text, share);
	}
	if (text.failed)
		return -ENOMEM;
	*ret = strdup(text.data ? text.data : "none seen");
	return *ret ? 0 : -ENOMEM;
}

static int add_profile(struct table *table, const struct json *object)
{
	static const enum symbol_group groups[] = { SYMBOL_MEMCONTROL, SYMBOL_PAGE_COUNTER,
						    SYMBOL_RSTAT, SYMBOL_SHARED };
	const char *workload = json_as_string(json_get(object, "workload")),
		   *arm = json_as_string(json_get(object, "arm"));
	_cleanup_strv_ struct strv shares = {};
	_cleanup_free_ char *seen = NULL;
	bool biased = false;
	int r = json_as_bool(json_get(object, "biased"), &biased);

	if (r < 0 || !workload || !arm)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(groups) && r >= 0; i++) {
		_cleanup_free_ char *share = NULL;

		r = format_share(object, symbol_group_name(groups[i]), &share);
		if (r >= 0)
			strv_add(&shares, share);
	}
	if (r >= 0)
		r = strv_error(&shares);
	if (r >= 0 && biased)
		r = str_printf(
			&seen,
			"refused: %.1f %% of the samples are where interrupts are let in "
			"again, so they do not come by NMI",
			100 * get_number(object, symbol_group_name(SYMBOL_INTERRUPTS)));
	else if (r >= 0)
		r = format_functions(json_get(object, "functions"), &seen);
	if (r < 0)
		return r;
	return table_add_row(table, 7,
			     (const char *const[]){ workload, arm, shares.items[0],
						    shares.items[1], shares.items[2],
						    shares.items[3], seen });
}

int bench_report_profile(const struct cmd *cmd, const char *text)
{
	static const struct table_column columns[] = {
		{ "WORKLOAD", 0 },
		{ "PLACE", 0 },
		{ "MEMCONTROL", TABLE_RIGHT },
		{ "PAGE_COUNTER", TABLE_RIGHT },
		{ "RSTAT", TABLE_RIGHT },
		{ "ALSO WHEN OFF", TABLE_RIGHT },
		{ "MOST IN", TABLE_WRAP },
		{},
	};
	_cleanup_table_ struct table *table = NULL;
	_cleanup_json_ struct json *array = NULL;
	double lost = 0;
	size_t offset;
	int r = json_parse(text, strlen(text), &array, &offset);

	if (r >= 0)
		r = table_new(cmd->args, columns, &table);
	for (size_t i = 0; i < json_length(array) && r >= 0; i++) {
		r = add_profile(table, json_at(array, i));
		lost += fmax(0, get_number(json_at(array, i), "lost"));
	}
	if (r >= 0)
		r = table_print(table, stdout);
	if (r >= 0 && !cmd->args->quiet)
		printf("Share of all samples in memcg's functions, a lower bound: what the "
		       "compiler "
		       "put into others\ngoes by their names. %.0f samples were lost.\n",
		       lost);
	return r;
}
