/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/bench-files.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/str.h"
#include "bench/compare.h"
#include "bench/plot.h"
#include "bench/result.h"
#include "bench/summary.h"
#include "cmd/bench-report.h"
#include "cmd/cmd.h"
#include "ui/output.h"

#include <stdio.h>

int bench_give_up(const struct cmd *cmd, struct diag *diag, int error)
{
	if (diag_count(diag, DIAG_ERROR) == 0)
		return error;
	output_error(cmd->args, cmd->term, diag, strerror(-error));
	return error == -EXDEV ? EXIT_NOT_COMPARABLE : EXIT_FAILED;
}

/* --- files --- */

/* Opens a file the user named for writing, or standard output for "-". */
static int open_output(const char *path, FILE **ret, struct diag *diag)
{
	FILE *f = streq(path, "-") ? stdout : fopen(path, "we");

	if (!f) {
		int r = -errno;

		diag_error(diag, &(struct diag_where){ .path = path }, "%s", strerror(-r));
		return r;
	}
	*ret = f;
	return 0;
}

static int close_output(const char *path, FILE *f, struct diag *diag)
{
	bool bad = ferror(f) != 0;

	if (f == stdout ? fflush(f) == EOF : fclose(f) == EOF)
		bad = true;
	if (!bad)
		return 0;
	diag_error(diag, &(struct diag_where){ .path = path }, "cannot be written: %s",
		   strerror(errno));
	return -EIO;
}

/* Whether a file could be written, without touching it: it may hold an older result. */
static int check_output(const char *path, struct diag *diag)
{
	_cleanup_free_ char *dir = NULL;
	const char *slash;
	int r;

	if (!path || streq(path, "-") || access(path, W_OK) >= 0)
		return 0;
	r = -errno;
	if (r == -ENOENT) {
		slash = strrchr(path, '/');
		dir = slash ? str_dup_n(path, (size_t)(slash - path) + 1) : strdup(".");
		if (!dir)
			return -ENOMEM;
		r = access(dir, W_OK) < 0 ? -errno : 0;
	}
	if (r < 0)
		diag_error(diag, &(struct diag_where){ .path = path }, "cannot be written: %s",
			   strerror(-r));
	return r;
}

int bench_check_outputs(const struct args *args, struct diag *diag)
{
	int r = check_output(args->output, diag);

	return r < 0 ? r : check_output(args->csv, diag);
}

int bench_write_outputs(const struct args *args, const struct result *result,
			const struct json *document, struct diag *diag)
{
	_cleanup_free_ char *text = NULL;
	FILE *f = NULL;
	int r = 0;

	if (args->output) {
		r = json_print(document, false, &text);
		if (r >= 0)
			r = open_output(args->output, &f, diag);
		if (r < 0)
			return r;
		fprintf(f, "%s\n", text);
		r = close_output(args->output, f, diag);
	}
	if (r < 0 || !args->csv)
		return r;
	r = open_output(args->csv, &f, diag);
	if (r < 0)
		return r;
	r = result_print_csv(result, f);
	return r < 0 ? r : close_output(args->csv, f, diag);
}

/* Text or JSON; the files are written already. */
int bench_show_result(const struct cmd *cmd, const struct result *result,
		      const struct summary *summary, const struct needs *needs,
		      const struct json *document)
{
	int r = cmd->args->json == JSON_OFF ? bench_report_run(cmd, result, summary, needs)
					    : output_json(cmd->args, document);

	if (r < 0)
		return r;
	return summary_is_noisy(summary) ? EXIT_NOISY : EXIT_OK;
}

/* --- report --- */

int bench_report(const struct cmd *cmd)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_result_ struct result result = {};
	_cleanup_summary_ struct summary summary = {};
	_cleanup_json_ struct json *document = NULL;
	int r = result_read(cmd->args->words[1], &result, &diag);

	if (r < 0)
		return bench_give_up(cmd, &diag, r);
	r = summary_make(&result, &summary);
	if (r < 0)
		return r;
	document = bench_report_json(&result, &summary, NULL);
	if (!document)
		return -ENOMEM;
	r = bench_write_outputs(cmd->args, &result, document, &diag);
	if (r >= 0)
		r = bench_show_result(cmd, &result, &summary, NULL, document);
	return r < 0 ? bench_give_up(cmd, &diag, r) : r;
}

/* --- compare --- */

int bench_compare(const struct cmd *cmd)
{
	_cleanup_comparison_ struct comparison comparison = {};
	_cleanup_diag_ struct diag diag = {};
	_cleanup_json_ struct json *document = NULL;
	int r = compare_files(cmd->args->words + 1, cmd->args->n_words - 1, cmd->args->force,
			      &comparison, &diag);

	if (r < 0)
		return bench_give_up(cmd, &diag, r);
	if (cmd->args->json == JSON_OFF)
		r = bench_report_comparison(cmd, &comparison);
	else {
		document = comparison_to_json(&comparison);
		r = document ? output_json(cmd->args, document) : -ENOMEM;
	}
	if (r < 0)
		return r;
	return comparison_is_noisy(&comparison) ? EXIT_NOISY : EXIT_OK;
}

/* --- plot --- */

struct loaded {
	struct result *results;
	struct summary *summaries;
	struct plot_file *files;
	size_t n;
};

static void loaded_done(struct loaded *loaded)
{
	for (size_t i = 0; i < loaded->n; i++) {
		summary_done(&loaded->summaries[i]);
		result_done(&loaded->results[i]);
	}
	free(loaded->results);
	free(loaded->summaries);
	free(loaded->files);
}

static int load(const struct cmd *cmd, struct loaded *loaded, struct diag *diag)
{
	size_t n = cmd->args->n_words - 1;
	int r = 0;

	loaded->results = calloc(n, sizeof(*loaded->results));
	loaded->summaries = calloc(n, sizeof(*loaded->summaries));
	loaded->files = calloc(n, sizeof(*loaded->files));
	if (!loaded->results || !loaded->summaries || !loaded->files)
		return -ENOMEM;
	for (; loaded->n < n && r >= 0; loaded->n++) {
		struct plot_file *file = &loaded->files[loaded->n];

		*file = (struct plot_file){ &loaded->results[loaded->n],
					    &loaded->summaries[loaded->n] };
		r = result_read(cmd->args->words[loaded->n + 1], &loaded->results[loaded->n],
				diag);
		if (r >= 0)
			r = summary_make(file->result, &loaded->summaries[loaded->n]);
	}
	return r;
}

int bench_plot(const struct cmd *cmd)
{
	_cleanup_(loaded_done) struct loaded loaded = {};
	_cleanup_comparison_ struct comparison comparison = {};
	_cleanup_diag_ struct diag diag = {}, apart = {};
	const char *path = cmd->args->output ? cmd->args->output : "-";
	bool compared;
	FILE *f = NULL;
	int r = load(cmd, &loaded, &diag);

	if (r >= 0)
		r = open_output(path, &f, &diag);
	if (r < 0)
		return bench_give_up(cmd, &diag, r);
	/* files that cannot be compared can still be shown beside each other */
	compared = loaded.n > 1 && compare_files(cmd->args->words + 1, loaded.n,
						 cmd->args->force, &comparison, &apart) >= 0;
	r = plot_print(loaded.files, loaded.n, compared ? &comparison : NULL, f);
	if (r >= 0)
		r = close_output(path, f, &diag);
	return r < 0 ? bench_give_up(cmd, &diag, r) : EXIT_OK;
}
