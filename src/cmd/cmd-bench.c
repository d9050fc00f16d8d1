/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* bench run, env, list; the words that work on result files are in bench-files.c. */

#include "base/diag.h"
#include "base/json.h"
#include "base/str.h"
#include "bench/arms.h"
#include "bench/env.h"
#include "bench/plan.h"
#include "bench/result.h"
#include "bench/run.h"
#include "bench/summary.h"
#include "cmd/bench-files.h"
#include "cmd/bench-report.h"
#include "cmd/cmd.h"
#include "facts/facts.h"
#include "needs/needs.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/table.h"

#include <stdio.h>

/* --- run --- */

static void show_progress(void *data, const struct run_progress *progress)
{
	static const char *const names[] = {
		[RUN_WATCHING] = "watching",
		[RUN_CALIBRATING] = "calibrating",
		[RUN_MEASURING] = "measuring",
		[RUN_PROFILING] = "profiling",
	};

	progress_show(data, names[progress->stage], progress->done, progress->left_s);
}

static void announce(const struct cmd *cmd, const struct plan *plan)
{
	if (cmd->args->quiet)
		return;
	fprintf(stderr, "memcg-policy: measuring %zu workload%s with up to %.0f MiB of memory",
		plan->n_cases, plan->n_cases == 1 ? "" : "s", (double)plan->bytes / 0x1p20);
	if (plan->fixed_rounds)
		fprintf(stderr, ", %u rounds", plan->rounds);
	else
		fprintf(stderr, ", about %.0f s",
			(double)(plan->budget_ns + plan->watch_ns) / 1e9);
	fputs("; Ctrl-C ends it\n", stderr);
}

static int finish_run(const struct cmd *cmd, const struct result *result, struct diag *diag)
{
	_cleanup_summary_ struct summary summary = {};
	_cleanup_json_ struct json *document = NULL;
	_cleanup_needs_ struct needs needs = {};
	_cleanup_diag_ struct diag ignored = {}; /* "needs" prints these */
	int r = needs_find(cmd->root, NULL, NULL, &needs, &ignored);

	if (r >= 0)
		r = summary_make(result, &summary);
	if (r < 0)
		return r;
	if (cmd->args->output || cmd->args->json != JSON_OFF) {
		document = bench_report_json(result, &summary, &needs);
		if (!document)
			return -ENOMEM;
	}
	r = bench_write_outputs(cmd->args, result, document, diag);
	if (r < 0)
		return r;
	return bench_show_result(cmd, result, &summary, &needs, document);
}

static int run(const struct cmd *cmd, const struct running *running, struct diag *diag)
{
	const struct args *args = cmd->args;
	const struct plan_request request = {
		.preset = args->quick	   ? PLAN_QUICK
			  : args->thorough ? PLAN_THOROUGH
					   : PLAN_STANDARD,
		.workload = args->workload,
		.clients = args->clients,
		.rounds = args->rounds,
		.seed = args->seed,
		.cpus = args->cpus,
		.target = args->target,
		.max_time = args->max_time,
		.watch = args->watch,
		.dir = args->dir,
		.profile = args->profile,
	};
	const struct arms_request where = { args->where, args->no_cgroup };
	_cleanup_plan_ struct plan plan = {};
	_cleanup_result_ struct result result = {};
	struct progress progress;
	const struct run_hooks hooks = { show_progress, &progress };
	int interrupted, r;

	if (args->quick + args->standard + args->thorough > 1) {
		diag_error(diag, &(struct diag_where){ .hint = "memcg-policy bench --help" },
			   "--quick, --standard and --thorough exclude each other");
		return -EINVAL;
	}
	r = plan_make(cmd->root, &request, &plan, diag);

	if (r >= 0)
		r = bench_check_outputs(args, diag);
	if (r < 0)
		return r;
	announce(cmd, &plan);
	progress_init(&progress, args);
	r = run_plan(cmd->root, running, &plan, &where, args->label, &hooks, &result,
		     &interrupted, diag);
	progress_clear(&progress);
	if (r == -EINTR)
		diag_error(diag, &(struct diag_where){},
			   "ended by a signal (%s); nothing was measured to the end, and the "
			   "cgroups are removed",
			   strsignal(interrupted));
	return r < 0 ? r : finish_run(cmd, &result, diag);
}

static int bench_run(const struct cmd *cmd)
{
	_cleanup_facts_ struct facts facts = {};
	_cleanup_diag_ struct diag diag = {};
	int r = facts_load(cmd->root, &facts);

	if (r < 0)
		return r;
	if (!cmd->args->no_cgroup) {
		r = arms_enter_scope(cmd->root, &facts.running);
		if (r < 0)
			diag_warning(&diag, &(struct diag_where){},
				     "no scope from systemd-run (%s): measuring without",
				     strerror(-r));
	}
	r = run(cmd, &facts.running, &diag);
	if (r < 0) {
		int status = bench_give_up(cmd, &diag, r);

		/* a value of the command line that was not understood */
		return r == -EINVAL && status == EXIT_FAILED ? EXIT_USAGE : status;
	}
	term_print_diag(cmd->term, stderr, &diag);
	return r;
}

/* --- list, env --- */

static int bench_list(const struct cmd *cmd)
{
	static const struct table_column columns[] = {
		{ "WORKLOAD", 0 },
		{ "UNIT", 0 },
		{ "WHAT IT DOES", TABLE_WRAP },
		{},
	};
	_cleanup_table_ struct table *table = NULL;
	_cleanup_json_ struct json *top = json_new_object();
	struct json *array = json_new_array();
	int r = table_new(cmd->args, columns, &table);

	for (size_t i = 0; i < n_workloads && r >= 0; i++) {
		const struct workload *w = workloads[i];
		struct json *object = json_new_object();

		r = table_add_row(table, 3, (const char *const[]){ w->name, w->unit, w->help });
		json_add_string(object, "name", w->name);
		json_add_string(object, "group", w->group);
		json_add_string(object, "unit", w->unit);
		json_add_string(object, "help", w->help);
		json_append(array, object);
	}
	json_add_int(top, "schema", 1);
	json_add(top, "workloads", array);
	if (r >= 0)
		r = cmd->args->json == JSON_OFF ? table_print(table, stdout)
						: output_json(cmd->args, top);
	return r < 0 ? r : EXIT_OK;
}

static int print_env(const struct cmd *cmd, const struct env *env)
{
	static const enum term_style styles[] = {
		[ENV_OK] = TERM_GOOD,
		[ENV_WARN] = TERM_WARN,
		[ENV_UNKNOWN] = TERM_DIM,
	};
	static const struct table_column columns[] = {
		{ "CHECK", 0 },
		{ "STATE", 0 },
		{ "SEEN", TABLE_WRAP },
		{},
	};
	_cleanup_table_ struct table *table = NULL;
	int r = table_new(cmd->args, columns, &table);

	for (size_t i = 0; i < env->n && r >= 0; i++) {
		const struct env_check *check = &env->checks[i];

		r = table_add_row(table, 3,
				  (const char *const[]){ check->name,
							 env_state_name(check->state),
							 check->text });
		if (r >= 0)
			r = table_set_style(table, cmd->term, 1, styles[check->state]);
	}
	return r < 0 ? r : table_print(table, stdout);
}

static int bench_env(const struct cmd *cmd)
{
	_cleanup_facts_ struct facts facts = {};
	_cleanup_env_ struct env env = {};
	_cleanup_json_ struct json *top = NULL;
	struct json *array;
	uint64_t watch_ns = 0;
	int r = 0;

	if (cmd->args->watch && plan_parse_time(cmd->args->watch, &watch_ns) < 0) {
		_cleanup_diag_ struct diag diag = {};

		diag_error(&diag, &(struct diag_where){ .hint = "memcg-policy bench --help" },
			   "--watch does not take \"%s\"; expected a time like 10s",
			   cmd->args->watch);
		output_error(cmd->args, cmd->term, &diag, "");
		return EXIT_USAGE;
	}
	r = facts_load(cmd->root, &facts);
	if (r >= 0)
		r = env_look(cmd->root, &facts.running, watch_ns, &env);
	if (r >= 0 && cmd->args->json == JSON_OFF)
		r = print_env(cmd, &env);
	if (r < 0 || cmd->args->json == JSON_OFF)
		return r < 0 ? r : EXIT_OK;
	top = json_new_object();
	array = json_new_array();
	for (size_t i = 0; i < env.n; i++) {
		struct json *object = json_new_object();

		json_add_string(object, "name", env.checks[i].name);
		json_add_string(object, "state", env_state_name(env.checks[i].state));
		json_add_string(object, "text", env.checks[i].text);
		json_append(array, object);
	}
	json_add_int(top, "schema", 1);
	json_add(top, "checks", array);
	r = output_json(cmd->args, top);
	return r < 0 ? r : EXIT_OK;
}

/* --- the words behind bench --- */

static const struct {
	const char *name;
	int (*function)(const struct cmd *cmd);
	size_t min_files, max_files;
} sub_words[] = {
	{ "run", bench_run, 0, 0 },
	{ "env", bench_env, 0, 0 },
	{ "list", bench_list, 0, 0 },
	{ "report", bench_report, 1, 1 },
	{ "compare", bench_compare, 2, SIZE_MAX },
	{ "plot", bench_plot, 1, SIZE_MAX },
};

int cmd_bench(const struct cmd *cmd)
{
	const struct diag_where hint = { .hint = "memcg-policy bench --help" };
	_cleanup_diag_ struct diag diag = {};
	const char *word = cmd->args->n_words > 0 ? cmd->args->words[0] : "run";
	size_t files = cmd->args->n_words > 0 ? cmd->args->n_words - 1 : 0;

	for (size_t i = 0; i < ARRAY_SIZE(sub_words); i++) {
		if (!streq(sub_words[i].name, word))
			continue;
		if (files >= sub_words[i].min_files && files <= sub_words[i].max_files)
			return sub_words[i].function(cmd);
		if (files < sub_words[i].min_files)
			diag_error(&diag, &hint, "bench %s needs %s", word,
				   sub_words[i].min_files > 1 ? "two result files or more"
							      : "a result file");
		else
			diag_error(&diag, &hint, "bench %s does not take \"%s\"", word,
				   cmd->args->words[1 + sub_words[i].max_files]);
		output_error(cmd->args, cmd->term, &diag, "");
		return EXIT_USAGE;
	}
	diag_error(&diag, &hint,
		   "bench does not know \"%s\" (run, env, list, compare, report, plot)", word);
	output_error(cmd->args, cmd->term, &diag, "");
	return EXIT_USAGE;
}
