/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/diag.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "facts/running.h"
#include "needs/needs.h"
#include "ui/output.h"
#include "ui/table.h"

static const char *state_text(const struct need *need)
{
	switch (need->in_use) {
	case NEED_YES:
		return "in use";
	case NEED_UNKNOWN:
		return "unknown";
	default:
		return "installed";
	}
}

static enum term_style state_style(const struct need *need)
{
	return need->in_use == NEED_YES	      ? TERM_BOLD
	       : need->in_use == NEED_UNKNOWN ? TERM_WARN
					      : TERM_DIM;
}

static int evidence_text(const struct need_evidence *e, char **ret)
{
	if (e->line > 0)
		return str_printf(ret, "%s (%s:%u)", e->text, e->path, e->line);
	return str_printf(ret, "%s (%s)", e->text, e->path);
}

/* One row per need, and one more for each further piece of evidence. */
static int add_need(const struct cmd *cmd, struct table *table, const struct need *need)
{
	for (size_t i = 0; i == 0 || i < need->n_evidence; i++) {
		_cleanup_free_ char *seen = NULL;
		const char *cells[4] = {};
		int r;

		if (i < need->n_evidence) {
			r = evidence_text(&need->evidence[i], &seen);
			if (r < 0)
				return r;
		}
		if (i == 0) {
			cells[0] = need->id;
			cells[1] = need_level_to_string(need->level);
			cells[2] = state_text(need);
		}
		cells[3] = seen;
		r = table_add_row(table, ARRAY_SIZE(cells), cells);
		if (r >= 0 && i == 0)
			r = table_set_style(table, cmd->term, 2, state_style(need));
		if (r < 0)
			return r;
	}
	return 0;
}

static int print_text(const struct cmd *cmd, const struct needs *needs)
{
	static const struct table_column columns[] = {
		{ "NEED", 0 }, { "LEVEL", 0 }, { "STATE", 0 }, { "SEEN", TABLE_WRAP }, {}
	};
	_cleanup_table_ struct table *table = NULL;
	int r = table_new(cmd->args, columns, &table);

	for (size_t i = 0; r >= 0 && i < needs->n; i++)
		r = add_need(cmd, table, &needs->items[i]);
	if (r >= 0)
		r = table_print(table, stdout);
	if (r < 0)
		return r;
	if (needs->n == 0 && !cmd->args->quiet)
		puts("Nothing that needs or uses memcg was found.");
	for (size_t i = 0; cmd->args->verbose && i < needs->n; i++) {
		const struct need *need = &needs->items[i];

		printf("\n%s: %s\n  With memcg off: %s\n", need->id, need->title, need->effect);
		if (need->documentation)
			printf("  %s\n", need->documentation);
	}
	return 0;
}

static int print_json(const struct cmd *cmd, const struct needs *needs, const struct diag *diag)
{
	_cleanup_json_ struct json *top = json_new_object();

	json_add_int(top, "schema", 1);
	json_add(top, "needs", needs_to_json(needs));
	json_add(top, "warnings", output_warnings(diag));
	return output_json(cmd->args, top);
}

int cmd_needs(const struct cmd *cmd)
{
	_cleanup_needs_ struct needs needs = {};
	_cleanup_running_ struct running running = {};
	_cleanup_diag_ struct diag diag = {};
	int r;

	r = running_look(cmd->root, NULL, &running);
	if (r >= 0)
		r = needs_find(cmd->root, &running, NULL, &needs, &diag);
	if (r < 0)
		return r;
	term_print_diag(cmd->term, stderr, &diag);
	r = cmd->args->json == JSON_OFF ? print_text(cmd, &needs)
					: print_json(cmd, &needs, &diag);
	return r < 0 ? r : EXIT_OK;
}
