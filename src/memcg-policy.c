/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* main(): parse by the tables, open the root, run the verb, map its result to an exit code. */

#include "base/diag.h"
#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "exit-codes.h"
#include "ui/cli.h"
#include "ui/output.h"
#include "ui/term.h"

#include <stdio.h>

/* one a line, so that two can be added at once */
/* clang-format off */
static int (*const verb_functions[_VERB_MAX])(const struct cmd *cmd) = {
	[VERB_APPLY] = cmd_apply,
	[VERB_BENCH] = cmd_bench,
	[VERB_CAPTURE] = cmd_capture,
	[VERB_CHECK] = cmd_check,
	[VERB_ENTRIES] = cmd_entries,
	[VERB_EXPLAIN] = cmd_explain,
	[VERB_HISTORY] = cmd_history,
	[VERB_NEEDS] = cmd_needs,
	[VERB_SET] = cmd_set,
	[VERB_STATUS] = cmd_status,
	[VERB_TRIAL] = cmd_trial,
	[VERB_UNDO] = cmd_undo,
	[VERB_UNITS] = cmd_units,
	[VERB_UNSET] = cmd_unset,
	[VERB_WARN] = cmd_warn,
};
/* clang-format on */

/* The environment cannot redirect a root tool: what we run gets a known PATH and locale. */
static int open_root(const struct args *args, struct root **ret, struct diag *diag)
{
	const char *path = args->root ? args->root : args->snapshot ? args->snapshot : "/";
	enum root_mode mode = args->root       ? ROOT_OFFLINE
			      : args->snapshot ? ROOT_SNAPSHOT
					       : ROOT_LIVE;
	int r = root_open(path, mode, ret);

	if (r < 0)
		diag_error(diag, &(struct diag_where){ .path = path }, "%s", strerror(-r));
	return r;
}

static int run(int argc, char **argv)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_(args_done) struct args args = {};
	_cleanup_root_ struct root *root = NULL;
	struct pager pager;
	struct term term;
	int r;

	r = cli_parse(argc, argv, &args, &diag);
	term_init(&term, &args);
	if (r < 0) {
		output_error(&args, &term, &diag, strerror(-r));
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	if (args.help) {
		cli_print_help(stdout,
			       argc > 2 && args.verb != VERB_STATUS ? (int)args.verb : -1);
		return EXIT_OK;
	}
	if (args.version) {
		puts("memcg-policy " VERSION "\n" FEATURES);
		return EXIT_OK;
	}
	if (args.dump_table)
		return cli_print_table(stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	r = args.json == JSON_OFF ? 0 : json_open();
	if (r < 0)
		diag_error(&diag, NULL, "--json needs libjson-c, which is not installed");
	else
		r = open_root(&args, &root, &diag);
	if (r >= 0) {
		term_open_pager(&args, &pager);
		r = verb_functions[args.verb](&(struct cmd){ &args, root, &term });
		term_close_pager(&pager);
	}
	if (r < 0) {
		output_error(&args, &term, &diag, strerror(-r));
		return EXIT_FAILED;
	}
	return r;
}

int main(int argc, char **argv)
{
	int r = run(argc, argv);

	/* a full disk behind a redirection is an error too */
	if (fflush(stdout) == EOF || ferror(stdout)) {
		fputs("memcg-policy: cannot write standard output\n", stderr);
		return r == EXIT_OK ? EXIT_FAILED : r;
	}
	return r;
}
