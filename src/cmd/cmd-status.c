/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "boot/initrd.h"
#include "cmd/cmd.h"
#include "cmd/host-output.h"
#include "cmd/host.h"
#include "cmd/unit-views.h"
#include "ui/output.h"

#include <stdio.h>

/*
 * Where a manager runs it is asked, as "units" does: only it knows which units are active, and
 * instances that no file names. Without it the files are what was counted.
 */
static int count_live_units(const struct cmd *cmd, struct host *host, struct diag *diag)
{
	_cleanup_diag_ struct diag ignored = {}; /* "units" says it */
	_cleanup_unit_views_ struct unit_views views = {};
	int r;

	if (root_mode(cmd->root) != ROOT_LIVE || !root_exists(cmd->root, "/run/systemd/system"))
		return 0;
	r = unit_views_load(cmd, host, &views, &ignored);
	if (r < 0)
		return r;
	if (views.items[0].view.by_files) {
		diag_notice(diag, &(struct diag_where){ .hint = "memcg-policy units" },
			    "units are counted by their files: %s",
			    views.items[0].view.by_files_why ?: "the manager cannot be asked");
		return 0;
	}
	unit_findings_count(&views.items[0].view.findings, &host->units);
	return 0;
}

/* An initrd with an older decision speaks of that one at each boot, and may halt by it. */
static int look_at_initrd(const struct cmd *cmd, const struct host *host, struct diag *diag)
{
	_cleanup_free_ char *now = NULL, *carried = NULL;
	int r = initrd_observed(cmd->root, &carried);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = initrd_text(decision_to_string(host->decision.memcg), host_required(host), &now);
	/* until the reboot it is the old one that was seen */
	if (r < 0 || streq(carried, now) || host->verdict == VERDICT_REBOOT_REQUIRED)
		return r;
	*strchrnul(carried, '\n') = '\0';
	diag_warning(diag,
		     &(struct diag_where){ .path = INITRD_OBSERVATION,
					   .hint = "memcg-policy apply" },
		     "the initrd of this boot was built with %s, it is %s%s now", carried,
		     decision_to_string(host->decision.memcg),
		     host_required(host) ? " and required" : "");
	return 0;
}

/* Loads the whole picture and prints it as JSON if asked for; 1 when text is still to print. */
static int load(const struct cmd *cmd, struct host *host, struct diag *diag)
{
	_cleanup_json_ struct json *json = NULL;
	int r;

	r = host_load(cmd->root, HOST_NEEDS | HOST_VERDICT | HOST_UNITS, host, diag);
	if (r >= 0)
		r = count_live_units(cmd, host, diag);
	if (r >= 0)
		r = look_at_initrd(cmd, host, diag);
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
