/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* history: the changes made, newest first; -v with what each wrote. */

#include "base/diag.h"
#include "base/json.h"
#include "base/str.h"
#include "boot/record.h"
#include "cmd/cmd.h"
#include "ui/output.h"
#include "ui/table.h"

#include <time.h>

static int format_time(int64_t when, char **ret)
{
	time_t t = (time_t)when;
	struct tm tm;
	char text[64];

	if (!gmtime_r(&t, &tm) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return -EINVAL;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int print_json(const struct cmd *cmd, const struct history *history)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *array = json_new_array();

	json_add_int(top, "schema", 1);
	for (size_t i = history->n; i-- > 0;) {
		const struct record *record = &history->records[i];
		struct json *object = json_new_object(), *paths = json_new_array();
		_cleanup_free_ char *when = NULL;

		if (format_time(record->time, &when) == -ENOMEM)
			json_add(object, "time", NULL);
		json_add_int(object, "number", record->number);
		json_add_string(object, "time", when);
		json_add_string(object, "verb", record->verb);
		json_add_string(object, "version", record->version);
		json_add_string(object, "backend", record->changes.backend);
		json_add_bool(object, "taken_back", record->taken_back);
		for (size_t k = 0; k < record->changes.n; k++)
			json_append_string(paths, record->changes.edits[k].path);
		json_add(object, "files", paths);
		json_append(array, object);
	}
	json_add(top, "changes", array);
	return output_json(cmd->args, top);
}

static int add_row(struct table *table, const struct record *record)
{
	_cleanup_strbuf_ struct strbuf files = {};
	_cleanup_free_ char *number = NULL, *when = NULL;
	const char *cells[5];
	int r = format_time(record->time, &when);

	if (r >= 0)
		r = str_printf(&number, "%u", record->number);
	for (size_t i = 0; i < record->changes.n; i++)
		strbuf_addf(&files, "%s%s", i > 0 ? " " : "", record->changes.edits[i].path);
	if (r < 0 || files.failed)
		return r < 0 ? r : -ENOMEM;
	cells[0] = number;
	cells[1] = when;
	cells[2] = record->verb;
	cells[3] = record->taken_back ? "taken back" : "";
	cells[4] = files.data;
	return table_add_row(table, ARRAY_SIZE(cells), cells);
}

static int print_table(const struct cmd *cmd, const struct history *history)
{
	static const struct table_column columns[] = {
		{ "NR", TABLE_RIGHT },	 { "TIME", 0 },
		{ "COMMAND", 0 },	 { "", 0 },
		{ "FILES", TABLE_WRAP }, {},
	};
	_cleanup_table_ struct table *table = NULL;
	int r = table_new(cmd->args, columns, &table);

	for (size_t i = history->n; r >= 0 && i-- > 0;)
		r = add_row(table, &history->records[i]);
	if (r >= 0)
		r = table_print(table, stdout);
	if (r >= 0 && history->n == 0 && !cmd->args->quiet)
		puts("no changes were made");
	return r;
}

static int print_diffs(const struct cmd *cmd, const struct history *history)
{
	int r = 0;

	for (size_t i = history->n; r >= 0 && i-- > 0;) {
		_cleanup_strbuf_ struct strbuf diff = {};

		printf("\n%u: %s\n", history->records[i].number, history->records[i].verb);
		r = changeset_diff(&history->records[i].changes, &diff);
		if (r >= 0)
			output_diff(cmd->term, diff.data, diff.len);
	}
	return r;
}

int cmd_history(const struct cmd *cmd)
{
	_cleanup_history_ struct history history = {};
	_cleanup_diag_ struct diag diag = {};
	int r = history_load(cmd->root, &history, &diag);

	if (r >= 0 && record_is_pending(cmd->root))
		diag_warning(&diag,
			     &(struct diag_where){
				     .path = RECORD_PENDING,
				     .hint = "memcg-policy apply finishes it or takes it back",
			     },
			     "a change was interrupted");
	if (r >= 0)
		r = cmd->args->json != JSON_OFF ? print_json(cmd, &history)
						: print_table(cmd, &history);
	if (r >= 0 && cmd->args->verbose && cmd->args->json == JSON_OFF)
		r = print_diffs(cmd, &history);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		output_error(cmd->args, cmd->term, &diag, strerror(-r));
		return EXIT_FAILED;
	}
	term_print_diag(cmd->term, stderr, &diag);
	return EXIT_OK;
}
