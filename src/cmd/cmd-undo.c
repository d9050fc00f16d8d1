/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* undo: takes the last change back. unset: takes everything back. */

#include "boot/record.h"
#include "boot/undo.h"
#include "cmd/cmd.h"
#include "cmd/write.h"

static int plan_undo(struct write *w, struct changeset *cs, struct diag *diag)
{
	enum undo_what what = w->cmd->args->verb == VERB_UNSET ? UNDO_ALL : UNDO_LAST;
	_cleanup_history_ struct history history = {};
	int r = history_load(w->cmd->root, &history, diag);

	if (r < 0)
		return r;
	r = undo_plan(&w->host.boot, &w->host.state, &history, what, cs, diag);
	if (r == 0)
		diag_notice(diag, NULL, "there is no change to take back");
	for (size_t i = 0; i < cs->n; i++)
		strv_add_unique(&w->taken_back, cs->edits[i].path);
	/* also of what was put back by other means meanwhile */
	for (size_t i = 0; what == UNDO_ALL && i < history.n; i++)
		for (size_t k = 0; k < history.records[i].changes.n; k++)
			strv_add_unique(&w->taken_back,
					history.records[i].changes.edits[k].path);
	if (strv_error(&w->taken_back) < 0)
		return -ENOMEM;
	return MIN(r, 0);
}

int cmd_undo(const struct cmd *cmd)
{
	struct write write = {
		.cmd = cmd, .verb = "undo", .plan = plan_undo, .ignores_policy = true
	};

	return write_run(&write);
}

int cmd_unset(const struct cmd *cmd)
{
	struct write write = {
		.cmd = cmd, .verb = "unset", .plan = plan_undo, .ignores_policy = true
	};

	return write_run(&write);
}
