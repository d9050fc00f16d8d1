/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * trial: boots once with the other setting. Only where the loader forgets it before it boots,
 * so that the boot behind is as before, whatever happens during the trial.
 */

#include "base/diag.h"
#include "base/root.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/write.h"
#include "ui/output.h"

/* What does the same: where there is a menu, its editor, which forgets too. */
static const char *instead(const struct boot_backend *backend, enum boot_want want)
{
	if (backend->by & (BOOT_BY_GRUB | BOOT_BY_SYSTEMD_BOOT))
		return want == BOOT_WANT_ON ? "press e in the boot menu and take "
					      "cgroup_disable=memory out of "
					      "the line: that holds for one boot"
					    : "press e in the boot menu and put "
					      "cgroup_disable=memory on the "
					      "line: that holds for one boot";
	return want == BOOT_WANT_ON ? "memcg-policy set on; later: memcg-policy undo"
				    : "memcg-policy set off; later: memcg-policy undo";
}

static int refuse(const struct write *w, enum boot_want want, struct diag *diag)
{
	diag_error(diag, &(struct diag_where){ .hint = instead(w->host.boot.backend, want) },
		   "%s: that it forgets a choice for one boot, whatever happens then, was not "
		   "shown",
		   w->host.boot.backend->title);
	return -ENOTSUP;
}

/* The boots to come are as asked for anyway: at most there is a trial of the opposite. */
static int plan_none(const struct write *w, enum boot_want want, struct changeset *cs,
		     struct diag *diag)
{
	diag_notice(diag, NULL, "memcg will be %s at every boot: there is nothing to try",
		    boot_want_to_string(want));
	if (!w->host.boot.backend->plan_no_trial)
		return 0;
	return w->host.boot.backend->plan_no_trial(&w->host.boot, true, cs, diag);
}

static int plan_trial(struct write *w, struct changeset *cs, struct diag *diag)
{
	enum boot_want want = boot_want_from_string(w->cmd->args->words[0]);
	const struct boot_backend *backend = w->host.boot.backend;
	const struct boot_entry *lasting = w->host.after_entry;
	struct boot_words words;
	int r;

	if (lasting && boot_entry_is(lasting, want) &&
	    w->host.after == (want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF))
		return plan_none(w, want, cs, diag);
	if (!backend->plan_trial)
		return refuse(w, want, diag);
	r = boot_words(&w->host.boot, want, &words, diag);
	if (r >= 0)
		r = backend->plan_trial(&w->host.boot, &w->host.state, &words, cs, diag);
	if (r < 0)
		return r;
	cs->want = want;
	cs->once = true;
	cs->backend = strdup(backend->name);
	return cs->backend ? 0 : -ENOMEM;
}

int cmd_trial(const struct cmd *cmd)
{
	const char *want = cmd->args->words[0];
	struct write write = { .cmd = cmd, .plan = plan_trial, .ignores_policy = true };
	_cleanup_diag_ struct diag diag = {};
	_cleanup_free_ char *verb = NULL;

	if (!streq(want, "on") && !streq(want, "off")) {
		diag_error(&diag, &(struct diag_where){ .hint = "memcg-policy --help" },
			   "trial takes \"on\" or \"off\", not \"%s\"", want);
		output_error(cmd->args, cmd->term, &diag, "wrong usage");
		return EXIT_USAGE;
	}
	if (str_printf(&verb, "trial %s", want) < 0)
		return -ENOMEM;
	write.verb = verb;
	return write_run(&write);
}
