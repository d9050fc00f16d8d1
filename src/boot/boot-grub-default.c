/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * GRUB whose grub-mkconfig reads /etc/default/grub and nothing beside it: the words are edited
 * where they are written, in the last assignment that counts.
 */

#include "base/diag.h"
#include "boot/grub-trial.h"
#include "boot/grub.h"
#include "boot/shell-edit.h"
#include "boot/shell-quote.h"

static int default_probe(const struct root *root, struct diag *diag _unused_)
{
	_cleanup_grub_ struct grub grub = {};
	int r = grub_find(root, &grub);

	if (r < 0 || (grub.mkconfig && grub.reads_dropins))
		return r;
	if (grub.mkconfig && grub.cfg)
		return 1;
	/* a target: GRUB's menu, or all of GRUB, may come later and will read the file */
	return root_mode(root) == ROOT_OFFLINE &&
	       (grub.mkconfig || grub.cfg || root_exists(root, GRUB_DEFAULT));
}

static int default_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	return grub_read(boot, false, ret, diag);
}

/* These replace GRUB_CMDLINE_LINUX for dom0 of Xen, where our word would not arrive. */
static int check_xen(const struct shell_script *script, struct diag *diag)
{
	for (int i = GRUB_XEN_REPLACE; i <= GRUB_XEN_REPLACE_DEFAULT; i++) {
		_cleanup_shell_value_ struct shell_value value = {};
		struct diag_where where = { .path = GRUB_DEFAULT };
		int r = shell_script_value(script, grub_variables[i], &value);

		if (r < 0)
			return r;
		if (value.known == SHELL_IS_UNSET ||
		    (value.known == SHELL_IS_STATIC && value.size == 0))
			continue;
		shell_position(script->files[value.file].text, value.at, &where.line,
			       &where.column);
		diag_error(diag, &where, "%s is set: not supported yet", grub_variables[i]);
		return -ENOTSUP;
	}
	return 0;
}

/*
 * Edits one variable. Where its value cannot be known, the menu made of it may still tell that
 * there is nothing to do, unless the next menu may have a word against it.
 */
static int edit_variable(struct shell_script *script, const struct boot_state *state,
			 const struct boot_words *words, int variable, struct diag *diag)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	_cleanup_diag_ struct diag trouble = {};
	unsigned flags = words->flags;
	int r;

	/* words against it go from both; the word for it reaches every entry by LINUX */
	if (variable != GRUB_LINUX)
		flags = want == MEMCG_OFF ? CMDLINE_NO_DISABLE : 0;
	r = shell_edit(script, grub_variables[variable], want, flags, &trouble);
	if (r == -ENOTSUP && state->entries_known && state->entries.n > 0 &&
	    boot_n_differing(state, words->want) == 0 &&
	    !grub_defaults_mention(script, want == MEMCG_ON ? CMDLINE_OFF : CMDLINE_ON))
		return 0;
	diag_move(diag, &trouble);
	return r;
}

static int default_plan(const struct boot *boot, const struct boot_state *state,
			const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	_cleanup_shell_script_ struct shell_script script = {};
	_cleanup_grub_ struct grub grub = {};
	int r = grub_find(boot->root, &grub);

	/* what we wrote there is taken back by its record: see take_back */
	if (r < 0 || words->want == BOOT_WANT_NOTHING)
		return r < 0 ? r : grub_plan_refresh(boot, state, words, cs->n > 0, cs);
	r = grub_check_supported(boot->root, &grub, state, diag);
	if (r >= 0)
		r = grub_load_defaults(boot->root, false, NULL, &script, diag);
	if (r >= 0 && script.n == 0)
		r = shell_script_add(&script, GRUB_DEFAULT, "", 0, diag);
	if (r >= 0)
		r = check_xen(&script, diag);
	for (int i = GRUB_LINUX; r >= 0 && i <= GRUB_LINUX_DEFAULT; i++)
		r = edit_variable(&script, state, words, i, diag);
	if (r >= 0 && (script.files[0].size > 0 || root_exists(boot->root, GRUB_DEFAULT)))
		r = changeset_edit(cs, boot->root, GRUB_DEFAULT, ROOT_MAX_GRUB_DEFAULT,
				   script.files[0].text, script.files[0].size, 0644, 0, diag);
	if (r >= 0)
		r = grub_plan_refresh(boot, state, words, cs->n > 0, cs);
	return r;
}

static int load_text(const struct content *content, const char *path, struct shell_script *ret,
		     struct diag *diag)
{
	return shell_script_add(ret, path, content->data ? content->data : "", content->size,
				diag);
}

static int default_take_back(const struct boot *boot _unused_, const char *path,
			     const struct content *before, const struct content *written,
			     const struct content *now, struct content *ret, struct diag *diag)
{
	_cleanup_shell_script_ struct shell_script script = {}, old = {}, new = {};
	int r = grub_trial_take_back(path, now, ret);

	if (r != 0)
		return MIN(r, 0);
	r = load_text(now, path, &script, diag);
	if (r >= 0)
		r = load_text(before, path, &old, diag);
	if (r >= 0)
		r = load_text(written, path, &new, diag);
	for (int i = GRUB_LINUX; r >= 0 && i <= GRUB_LINUX_DEFAULT; i++) {
		_cleanup_shell_value_ struct shell_value a = {}, b = {};

		r = shell_script_value(&old, grub_variables[i], &a);
		if (r >= 0)
			r = shell_script_value(&new, grub_variables[i], &b);
		if (r >= 0)
			r = shell_edit_reverse(&script, grub_variables[i], &a, &b, diag);
	}
	if (r < 0)
		return r;
	ret->data = TAKE_PTR(script.files[0].text);
	ret->size = script.files[0].size;
	return 0;
}

const struct boot_backend boot_grub_default = {
	.name = "grub-default",
	.title = "GRUB, words in " GRUB_DEFAULT,
	.sign = "grub-mkconfig",
	.by = BOOT_BY_GRUB,
	.probe = default_probe,
	.read = default_read,
	.plan = default_plan,
	.plan_refresh = grub_plan_refresh,
	.refresh = grub_refresh,
	.verify = grub_verify,
	.plan_trial = grub_plan_trial,
	.plan_no_trial = grub_plan_no_trial,
	.take_back = default_take_back,
};
