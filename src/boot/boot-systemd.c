/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * systemd-boot with entries of type 1, and unified kernel images (boot/uki.h) beside them.
 * Those there are get their words in place, in one change that can be taken back, and not by
 * kernel-install, which makes every initrd anew; kernels installed later get them by
 * /etc/kernel/cmdline, where kernel-install is what writes entries.
 */

#include "base/diag.h"
#include "boot/bls-dir.h"
#include "boot/esp.h"
#include "boot/kernel-cmdline.h"
#include "boot/systemd-trial.h"
#include "boot/text.h"
#include "boot/uki.h"

/* --- probing --- */

static bool has_entries(const struct root *root)
{
	for (const char *const *dir = esp_entry_dirs; *dir; dir++) {
		_cleanup_strv_ struct strv names = {};

		if (root_list(root, *dir, &names) < 0)
			continue;
		for (size_t i = 0; i < names.n; i++)
			if (bls_is_entry_name(names.items[i], BLS_SYSTEMD) &&
			    !streq(names.items[i], SYSTEMD_TRIAL_ID ".conf"))
				return true;
	}
	return false;
}

static int systemd_probe(const struct root *root, struct diag *diag _unused_)
{
	_cleanup_free_ char *loader = NULL;
	int r = esp_loader(root, &loader);

	if (r < 0)
		return r;
	/* what booted this machine is what counts */
	if (loader)
		return str_skip_prefix(loader, "systemd-boot") && has_entries(root);
	if (root_mode(root) == ROOT_LIVE && root_exists(root, "/sys/firmware/efi"))
		return 0;
	r = esp_has_systemd_boot(root);
	return r > 0 ? has_entries(root) : r;
}

/* --- reading --- */

static int systemd_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_boot_state_ struct boot_state state = {};
	_cleanup_free_ char *chosen = NULL;
	_cleanup_bls_entry_ struct bls_entry head = {};
	struct bls_source source = {
		.dirs = esp_entry_dirs,
		.reader = BLS_SYSTEMD,
		.ret_head = &head,
	};
	int r = esp_chosen(boot->root, &chosen);

	source.chosen = chosen;
	if (r >= 0)
		r = bls_dir_read(boot, &source, &state, diag);
	/* its menu has both kinds */
	if (r >= 0)
		r = uki_read(boot, &(struct uki_menu){ .chosen = chosen, .rival = &head },
			     &state, diag);
	if (r >= 0)
		r = systemd_trial_read(boot->root, &state);
	if (r >= 0)
		r = kernel_cmdline_read(boot, &state, diag);
	if (r < 0)
		return r;
	state.entries_known = true;
	*ret = state;
	state = (struct boot_state){};
	return 0;
}

/* --- changing --- */

static bool has_ours(const struct boot_state *state)
{
	for (size_t i = 0; i < state->entries.n; i++)
		if (state->entries.items[i].ours)
			return true;
	return false;
}

/* Whether kernel-install writes the entries: it calls them TOKEN-RELEASE. */
static bool by_kernel_install(const struct boot_state *state)
{
	for (size_t i = 0; i < state->entries.n; i++) {
		const struct boot_entry *entry = &state->entries.items[i];

		if (entry->ours && entry->kernel && str_has_suffix(entry->id, entry->kernel) &&
		    strlen(entry->id) > strlen(entry->kernel))
			return true;
	}
	return false;
}

static int systemd_plan(const struct boot *boot, const struct boot_state *state,
			const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	static const struct bls_source source = { .dirs = esp_entry_dirs,
						  .reader = BLS_SYSTEMD };
	size_t before = cs->n;
	int r = 0;

	if (words->want == BOOT_WANT_NOTHING)
		return text_plan_verify(boot, state, words, cs->n > 0, cs);
	if (by_kernel_install(state) || root_exists(boot->root, KERNEL_CMDLINE))
		r = kernel_cmdline_plan(boot, state, words, 0, cs, diag);
	if (r >= 0)
		r = bls_dir_plan(boot, &source, state, words, cs, diag);
	if (r >= 0)
		r = uki_plan(boot, state, words, cs, diag);
	if (r >= 0 && cs->n == before && state->entries.n > 0 && !has_ours(state)) {
		diag_error(diag, &(struct diag_where){ .hint = "memcg-policy entries" },
			   "none of the entries is this system's: of another machine id, or of "
			   "kernels that are not here");
		return -ENOTSUP;
	}
	if (r < 0 || cs->refresh == REFRESH_PRINT)
		return r;
	return text_plan_verify(boot, state, words, cs->n > 0, cs);
}

static int systemd_take_back(const struct boot *boot _unused_, const char *path,
			     const struct content *before, const struct content *written,
			     const struct content *now, struct content *ret, struct diag *diag)
{
	if (streq(path, KERNEL_CMDLINE))
		return kernel_cmdline_take_back(path, before, written, now, ret, diag);
	if (str_has_suffix(path, "/" UKI_ADDON) || systemd_trial_is(path)) {
		*ret = (struct content){};
		return 0;
	}
	return bls_take_back(BLS_SYSTEMD, path, before, written, now, ret, diag);
}

const struct boot_backend boot_systemd = {
	.name = "systemd-boot",
	.title = "systemd-boot",
	.sign = "its entries",
	.by = BOOT_BY_SYSTEMD_BOOT | BOOT_BY_STUB,
	.tried = BOOT_TRIED_REAL,
	.probe = systemd_probe,
	.read = systemd_read,
	.plan = systemd_plan,
	.make = uki_make,
	.plan_refresh = text_plan_verify,
	.refresh = systemd_trial_refresh,
	.verify = systemd_trial_verify,
	.plan_trial = systemd_plan_trial,
	.plan_no_trial = systemd_plan_no_trial,
	.take_back = systemd_take_back,
};
