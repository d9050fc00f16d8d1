/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* apply: brings the boot configuration in line with the policy. */

#include "cmd/cmd.h"
#include "cmd/write.h"

int cmd_apply(const struct cmd *cmd)
{
	struct write write = { .cmd = cmd, .verb = "apply", .plan = write_plan_boot };

	return write_run(&write);
}
