/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* entries: what can be booted, what each entry asks for, and what its kernel would make of it.
 */

#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/host.h"
#include "ui/output.h"
#include "ui/table.h"

static struct json *entry_json(const struct boot_entry *e)
{
	struct json *object = json_new_object();

	json_add_string(object, "id", e->id);
	json_add_string(object, "title", e->title);
	json_add_string(object, "kernel", e->kernel);
	json_add_string(object, "source", e->source);
	if (e->line > 0)
		json_add_int(object, "line", e->line);
	else
		json_add_null(object, "line");
	json_add_bool(object, "default", e->is_default);
	json_add_bool(object, "recovery", e->recovery);
	json_add_bool(object, "ours", e->ours);
	json_add_bool(object, "trial", e->trial);
	json_add_string(object, "request", cmdline_request_to_string(e->request));
	json_add_string(object, "token", e->token);
	json_add_string(object, "if_booted", memcg_state_to_string(e->if_booted));
	return object;
}

static int print_json(const struct cmd *cmd, const struct boot_state *state)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *array = json_new_array();

	json_add_int(top, "schema", 1);
	for (size_t i = 0; i < state->entries.n; i++)
		json_append(array, entry_json(&state->entries.items[i]));
	json_add(top, "entries", array);
	return output_json(cmd->args, top);
}

static int add_row(const struct cmd *cmd, struct table *table, const struct boot_entry *e)
{
	_cleanup_free_ char *title = NULL, *notes = NULL;
	const char *cells[5];
	int r = str_printf(&title, "%s%s", e->is_default ? "* " : "  ", e->title);

	if (r >= 0)
		r = str_printf(&notes, "%s%s%s",
			       e->trial	 ? "trial"
			       : e->ours ? ""
					 : "not ours",
			       (!e->ours || e->trial) && e->recovery ? ", " : "",
			       e->recovery ? "recovery" : "");
	if (r < 0)
		return r;
	cells[0] = title;
	cells[1] = e->kernel;
	cells[2] = memcg_state_to_string(e->if_booted);
	cells[3] = e->token;
	cells[4] = notes;
	r = table_add_row(table, ARRAY_SIZE(cells), cells);
	if (r >= 0)
		r = table_set_style(table, cmd->term, 2,
				    e->if_booted == MEMCG_ON	? TERM_GOOD
				    : e->if_booted == MEMCG_OFF ? TERM_BOLD
								: TERM_WARN);
	return r;
}

static int print_table(const struct cmd *cmd, const struct boot *boot,
		       const struct boot_state *state)
{
	static const struct table_column columns[] = {
		{ "  ENTRY", TABLE_TRUNCATE },
		{ "KERNEL", 0 },
		{ "MEMCG", 0 },
		{ "BY", 0 },
		{ "", 0 },
		{},
	};
	_cleanup_table_ struct table *table = NULL;
	int r = table_new(cmd->args, columns, &table);

	for (size_t i = 0; r >= 0 && i < state->entries.n; i++)
		r = add_row(cmd, table, &state->entries.items[i]);
	if (r >= 0)
		r = table_print(table, stdout);
	if (r >= 0 && state->entries.n == 0 && !cmd->args->quiet)
		printf("no boot entries (%s)\n", boot->backend->title);
	return r;
}

int cmd_entries(const struct cmd *cmd)
{
	_cleanup_host_ struct host host = {};
	_cleanup_diag_ struct diag diag = {};
	int r = host_load_boot(cmd->root, &host, &diag);

	if (r >= 0)
		r = cmd->args->json != JSON_OFF ? print_json(cmd, &host.state)
						: print_table(cmd, &host.boot, &host.state);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		output_error(cmd->args, cmd->term, &diag, strerror(-r));
		return EXIT_FAILED;
	}
	term_print_diag(cmd->term, stderr, &diag);
	return EXIT_OK;
}
