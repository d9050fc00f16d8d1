/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * trial: boots once with the other setting. Only where the loader can be trusted to forget it;
 * no loader was shown to yet, so that it is refused everywhere, with the reason.
 */

#include "base/diag.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "ui/output.h"

int cmd_trial(const struct cmd *cmd)
{
	const char *want = cmd->args->words[0];
	_cleanup_diag_ struct diag diag = {};

	if (!streq(want, "on") && !streq(want, "off")) {
		diag_error(&diag, &(struct diag_where){ .hint = "memcg-policy --help" },
			   "trial takes \"on\" or \"off\", not \"%s\"", want);
		output_error(cmd->args, cmd->term, &diag, "wrong usage");
		return EXIT_USAGE;
	}
	diag_error(
		&diag,
		&(struct diag_where){
			.hint = streq(want, "on")
					? "memcg-policy set on; later: memcg-policy undo"
					: "memcg-policy set off; later: memcg-policy undo",
		},
		"booting once with memcg %s is not supported yet: that a boot loader forgets "
		"it whatever happens was not shown for any",
		want);
	output_error(cmd->args, cmd->term, &diag, "refused");
	return EXIT_IMPOSSIBLE;
}
