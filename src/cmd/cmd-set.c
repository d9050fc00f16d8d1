/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* set POLICY|ROLE: the site policy, and then what it decides, in one changeset. */

#include "base/root.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/write.h"
#include "ui/output.h"

static int plan_set(struct write *w, struct changeset *cs, struct diag *diag)
{
	const char *word = w->cmd->args->words[0];
	/* a later file may win: then nothing is written */
	int r = policy_set_check(&w->host.policy, word, diag);

	if (r >= 0)
		r = write_plan_boot(w, cs, diag);
	/* what is decided is not on trial any more */
	if (r >= 0 && w->host.boot.backend->plan_no_trial)
		r = w->host.boot.backend->plan_no_trial(&w->host.boot, true, cs, diag);
	if (r >= 0)
		r = changeset_edit(cs, w->cmd->root, POLICY_SET_PATH, ROOT_MAX_POLICY,
				   w->policy_content, strlen(w->policy_content), 0644, 0, diag);
	return r;
}

int cmd_set(const struct cmd *cmd)
{
	const char *word = cmd->args->words[0];
	_cleanup_free_ char *verb = NULL, *content = NULL;
	_cleanup_policy_ struct policy policy = {};
	_cleanup_diag_ struct diag diag = {};
	struct write write = { .cmd = cmd, .plan = plan_set };
	int r = str_printf(&verb, "set %s", word);

	if (r < 0)
		return r;
	/* the roles there are, without what set wrote before */
	r = policy_load_with(cmd->root, NULL, &policy, &diag);
	if (r >= 0)
		r = policy_set_content(&policy, word, &content, &diag);
	if (r < 0) {
		output_error(cmd->args, cmd->term, &diag, strerror(-r));
		return r == -ENOENT ? EXIT_USAGE : EXIT_FAILED;
	}
	write.verb = verb;
	write.policy_content = content;
	return write_run(&write);
}
