/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The report of status, check and explain: one JSON object, or lines for people. */

#include "base/macro.h"

struct cmd;
struct diag;
struct host;
struct json;

/* The object of docs/schema/status.json. warnings are those of diag. */
struct json *host_to_json(const struct cmd *cmd, const struct host *host,
			  const struct diag *diag) _must_check_;

/* The lines of status, without the verdict. */
void host_print(const struct cmd *cmd, const struct host *host);
/* The verdict, and the one command to run next. */
void host_print_verdict(const struct cmd *cmd, const struct host *host);

/* The exit status of check for the verdict alone. */
int host_exit_code(const struct host *host) _pure_;
