/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/host-output.h"
#include "cmd/host.h"
#include "ui/output.h"

#include <stdio.h>

/* Loads the whole picture and prints it as JSON if asked for; 1 when text is still to print. */
static int load(const struct cmd *cmd, struct host *host, struct diag *diag)
{
	_cleanup_json_ struct json *json = NULL;
	int r;

	r = host_load(cmd->root, HOST_NEEDS | HOST_VERDICT | HOST_UNITS, host, diag);
	if (r < 0)
		return r;
	if (cmd->args->json == JSON_OFF)
		return 1;
	json = host_to_json(cmd, host, diag);
	return output_json(cmd->args, json);
}

int cmd_status(const struct cmd *cmd)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_host_ struct host host = {};
	int r;

	r = load(cmd, &host, &diag);
	if (r < 0) {
		output_error(cmd->args, cmd->term, &diag, "cannot tell where this host stands");
		return EXIT_FAILED;
	}
	if (r > 0) {
		host_print(cmd, &host);
		putchar('\n');
		host_print_verdict(cmd, &host);
	}
	term_print_diag(cmd->term, stderr, &diag);
	return EXIT_OK;
}

int cmd_check(const struct cmd *cmd)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_host_ struct host host = {};
	int r;

	r = load(cmd, &host, &diag);
	if (r < 0) {
		output_error(cmd->args, cmd->term, &diag, "cannot tell where this host stands");
		return EXIT_FAILED;
	}
	/* one line per problem; silence is good news */
	if (r > 0 && (host.verdict != VERDICT_OK || !cmd->args->quiet) &&
	    host.verdict != VERDICT_UNMANAGED)
		host_print_verdict(cmd, &host);
	if (r > 0 && host.units.counting > 0)
		printf("%zu memory limits or protections of units that run or start at boot "
		       "are "
		       "not enforced (see memcg-policy units)\n",
		       host.units.counting);
	term_print_diag(cmd->term, stderr, &diag);
	return host_exit_code(&host);
}
