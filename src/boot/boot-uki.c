/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Unified kernel images alone: started by the firmware, or by systemd-boot without entries. */

#include "base/diag.h"
#include "boot/esp.h"
#include "boot/kernel-cmdline.h"
#include "boot/systemd-trial.h"
#include "boot/text.h"
#include "boot/uki.h"

static int probe_ukis(const struct root *root, struct diag *diag _unused_)
{
	_cleanup_free_ char *loader = NULL;
	_cleanup_strv_ struct strv paths = {};
	int r = esp_loader(root, &loader);

	if (r < 0)
		return r;
	/* GRUB boots its own menu, whatever lies beside it */
	if (loader ? str_skip_prefix(loader, "GRUB") != NULL
		   : (root_exists(root, "/boot/grub/grub.cfg") ||
		      root_exists(root, "/boot/grub2/grub.cfg")) &&
			     esp_has_systemd_boot(root) <= 0)
		return 0;
	r = uki_list(root, &paths);
	return r < 0 ? r : paths.n > 0;
}

static int read_ukis(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	_cleanup_free_ char *chosen = NULL;
	int r = esp_chosen(boot->root, &chosen);

	if (r >= 0)
		r = uki_read(boot, &(struct uki_menu){ .chosen = chosen }, ret, diag);
	if (r >= 0)
		r = systemd_trial_read(boot->root, ret);
	if (r >= 0)
		r = kernel_cmdline_read(boot, ret, diag);
	ret->entries_known = r >= 0 && ret->entries.n > 0;
	return r;
}

static int plan_ukis(const struct boot *boot, const struct boot_state *state,
		     const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	size_t ours = 0;
	int r = 0;

	for (size_t i = 0; i < state->entries.n; i++)
		ours += state->entries.items[i].ours;
	if (words->want != BOOT_WANT_NOTHING && ours == 0) {
		diag_error(diag, &(struct diag_where){ .hint = "memcg-policy entries" },
			   "none of the unified kernel images is this system's: another "
			   "os-release, or a kernel without modules here");
		return -ENOTSUP;
	}
	if (words->want != BOOT_WANT_NOTHING)
		r = uki_plan(boot, state, words, cs, diag);
	if (r < 0 || cs->refresh == REFRESH_PRINT)
		return r;
	return text_plan_verify(boot, state, words, cs->n > 0, cs);
}

static int take_back_ukis(const struct boot *boot _unused_, const char *path,
			  const struct content *before, const struct content *written,
			  const struct content *now, struct content *ret, struct diag *diag)
{
	if (streq(path, KERNEL_CMDLINE))
		return kernel_cmdline_take_back(path, before, written, now, ret, diag);
	*ret = (struct content){}; /* the add-on goes, whoever signed it anew */
	return 0;
}

const struct boot_backend boot_uki = {
	.name = "uki",
	.title = "unified kernel images",
	.sign = "unified kernel images",
	.by = BOOT_BY_STUB,
	.tried = BOOT_TRIED_REAL,
	.probe = probe_ukis,
	.read = read_ukis,
	.plan = plan_ukis,
	.make = uki_make,
	.plan_refresh = text_plan_verify,
	.refresh = systemd_trial_refresh,
	.verify = systemd_trial_verify,
	.plan_trial = systemd_plan_trial,
	.plan_no_trial = systemd_plan_no_trial,
	.take_back = take_back_ukis,
};
