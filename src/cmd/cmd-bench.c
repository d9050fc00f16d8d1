/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"

int cmd_bench(const struct cmd *cmd _unused_)
{
	return -ENOSYS;
}
