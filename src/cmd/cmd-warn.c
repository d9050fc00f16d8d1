/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/atomic.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/root.h"
#include "base/str.h"
#include "base/systemd.h"
#include "cmd/cmd.h"
#include "cmd/host.h"
#include "cmd/warn.h"
#include "ui/output.h"
#include "units/unit-live.h"

#include <stdio.h>

/* What was told in this boot: /run is empty after the next one. */
#define MEMORY "/run/memcg-policy/warned"

enum {
	/* packages wait for us */
	MANAGER_TIMEOUT_MS = 5000,
	MEMORY_MAX = 16 * 1024 * 1024,
};

/* Sends what was not told yet. */
static int send_records(struct warn_records *records)
{
	for (size_t i = 0; i < records->n; i++) {
		const struct warn_record *record = &records->items[i];
		int r;

		if (record->told)
			continue;
		r = systemd_journal_send((const char *const *)record->fields.items,
					 record->fields.n);
		if (r < 0)
			return r;
	}
	return 0;
}

static int remember(const struct root *root, const struct warn_records *records,
		    const struct content *before)
{
	_cleanup_content_ struct content after = {};
	int r = warn_remember(records, &after.data);

	if (r >= 0)
		r = atomic_mkdir(root, "/run/memcg-policy", 0755, NULL);
	if (r < 0)
		return r;
	after.size = strlen(after.data);
	r = atomic_put(root, MEMORY, before, &after, 0600, 0);
	/* another run was here meanwhile, and told the same */
	return r == -ESTALE ? 0 : MIN(r, 0);
}

static int tell(const struct root *root, struct warn_records *records, struct diag *diag)
{
	_cleanup_content_ struct content before = {};
	int r = content_read(root, MEMORY, MEMORY_MAX, &before);

	if (r < 0 && r != -EFBIG)
		return r;
	r = warn_recall(records, before.data ?: "");
	if (r >= 0)
		r = send_records(records);
	if (r < 0)
		return r;
	r = remember(root, records, &before);
	if (r < 0 && r != -ENOMEM) {
		diag_warning(diag, &(struct diag_where){ .path = MEMORY },
			     "cannot be written, the next run tells all again: %s",
			     strerror(-r));
		r = 0;
	}
	return r;
}

/* --- what there is to tell --- */

static int add_units(const struct cmd *cmd, const struct host *host,
		     struct warn_records *records, struct diag *diag)
{
	const struct running *running = &host->facts.running;
	const struct unit_basis basis = { running->memcg, running->hierarchy, false,
					  running->why };
	const struct unit_owner owner = {};
	_cleanup_systemd_ struct systemd *systemd = NULL;
	_cleanup_unit_view_ struct unit_view view = {};
	int r;

	r = systemd_open(MANAGER_TIMEOUT_MS, &systemd);
	if (r == -ENOMEM)
		return r;
	r = unit_view_load(cmd->root, &owner, &basis, running, systemd, &view, diag);
	if (r < 0)
		return r;
	return warn_add_units(records, cmd->root, &view);
}

/* The configuration and the default entry are as decided, and the kernel is not. */
static int add_difference(const struct host *host, struct warn_records *records)
{
	/* a trial is what somebody asked for */
	if (host->verdict != VERDICT_REBOOT_REQUIRED || host_runs_trial(host))
		return 0;
	return warn_add_difference(records, decision_to_string(host->decision.memcg),
				   memcg_state_to_string(host->facts.running.memcg));
}

/* --- what was done --- */

static size_t count_new(const struct warn_records *records)
{
	size_t n = 0;

	for (size_t i = 0; i < records->n; i++)
		n += !records->items[i].told;
	return n;
}

static int print_json(const struct cmd *cmd, const struct warn_records *records,
		      const struct diag *diag)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *list = json_new_array();

	json_add_int(top, "schema", 1);
	for (size_t i = 0; i < records->n; i++) {
		const struct warn_record *record = &records->items[i];
		struct json *item;

		if (record->told)
			continue;
		item = json_new_object();
		json_add_string(item, "message", record->message);
		json_add_int(item, "priority", record->priority);
		json_append(list, item);
	}
	json_add(top, "records", list);
	json_add_u64(top, "told_before", records->n - count_new(records));
	json_add(top, "warnings", output_warnings(diag));
	return output_json(cmd->args, top);
}

static int print(const struct cmd *cmd, const struct warn_records *records,
		 const struct diag *diag)
{
	size_t n = count_new(records);

	if (cmd->args->json != JSON_OFF)
		return print_json(cmd, records, diag);
	if (!cmd->args->quiet && n > 0)
		printf("%zu record%s sent to the journal: journalctl -b -t memcg-policy\n", n,
		       n == 1 ? "" : "s");
	return 0;
}

int cmd_warn(const struct cmd *cmd)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_host_ struct host host = {};
	_cleanup_warn_records_ struct warn_records records = {};
	int r;

	if (root_mode(cmd->root) != ROOT_LIVE || geteuid() != 0) {
		diag_error(&diag, &(struct diag_where){},
			   "the journal of the running system is written by root");
		output_error(cmd->args, cmd->term, &diag, NULL);
		return EXIT_FAILED;
	}
	if (!root_exists(cmd->root, "/run/systemd/system"))
		return EXIT_OK; /* another init: there is nobody to tell */
	r = host_load(cmd->root, HOST_VERDICT, &host, &diag);
	if (r == -ENOMEM)
		return r;
	/* a policy that is not understood keeps nobody from hearing about units */
	if (r >= 0)
		r = add_difference(&host, &records);
	else if (host.facts.running.memcg == MEMCG_NOT_LOOKED)
		r = facts_load(cmd->root, &host.facts);
	else
		r = 0;
	if (r >= 0)
		r = add_units(cmd, &host, &records, &diag);
	if (r >= 0)
		r = tell(cmd->root, &records, &diag);
	if (r == -EOPNOTSUPP) {
		diag_error(&diag, &(struct diag_where){ .hint = "install libsystemd" },
			   "libsystemd is not there: nothing was sent to the journal");
		output_error(cmd->args, cmd->term, &diag, NULL);
		return EXIT_FAILED;
	}
	if (r < 0)
		return r;
	term_print_diag(cmd->term, stderr, &diag);
	r = print(cmd, &records, &diag);
	return r < 0 ? r : EXIT_OK;
}
