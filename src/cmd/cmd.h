/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The verbs. Each returns an exit code of exit-codes.h, or a negative errno when it failed
 * without having printed why (main prints that, once).
 */

#include "base/macro.h"
#include "exit-codes.h"
#include "ui/cli.h"
#include "ui/term.h"

struct root;

/* What every verb gets; all borrowed. */
struct cmd {
	const struct args *args;
	const struct root *root;
	const struct term *term;
};

int cmd_apply(const struct cmd *cmd);
int cmd_bench(const struct cmd *cmd);
int cmd_capture(const struct cmd *cmd);
int cmd_check(const struct cmd *cmd);
int cmd_entries(const struct cmd *cmd);
int cmd_explain(const struct cmd *cmd);
int cmd_history(const struct cmd *cmd);
int cmd_needs(const struct cmd *cmd);
int cmd_set(const struct cmd *cmd);
int cmd_status(const struct cmd *cmd);
int cmd_trial(const struct cmd *cmd);
int cmd_undo(const struct cmd *cmd);
int cmd_units(const struct cmd *cmd);
int cmd_unset(const struct cmd *cmd);
int cmd_warn(const struct cmd *cmd);
