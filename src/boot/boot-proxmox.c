/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Proxmox: proxmox-boot-tool copies kernels to the ESPs of /etc/kernel/proxmox-boot-uuids,
 * which are not mounted, and makes systemd-boot entries of /etc/kernel/cmdline or a grub.cfg of
 * GRUB's defaults there. Which of the two an ESP has is up to the machine: both get the words.
 */

#include "base/diag.h"
#include "boot/kernel-cmdline.h"
#include "boot/text.h"
#include "boot/tool.h"

#define UUIDS "/etc/kernel/proxmox-boot-uuids"

static int proxmox_probe(const struct root *root, struct diag *diag _unused_)
{
	struct stat st;

	return root_stat(root, UUIDS, &st) >= 0 && st.st_size > 0 &&
	       tool_exists(root, "proxmox-boot-tool");
}

static bool has_grub(const struct boot *boot)
{
	_cleanup_diag_ struct diag ignored = {};

	return boot_grub_dropin.probe(boot->root, &ignored) > 0;
}

static int proxmox_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	int r = has_grub(boot) ? boot_grub_dropin.read(boot, ret, diag) : 0;

	if (r < 0)
		return r;
	/* what the machine reads is on ESPs that are not mounted */
	ret->entries_known = false;
	if (!root_exists(boot->root, KERNEL_CMDLINE))
		return 0;
	free(ret->configured_path);
	ret->configured_path = NULL;
	return kernel_cmdline_read(boot, ret, diag);
}

static int proxmox_plan_refresh(const struct boot *boot, const struct boot_state *state,
				const struct boot_words *words, bool edited,
				struct changeset *cs)
{
	static const char *const names[] = { "proxmox-boot-tool", NULL };
	_cleanup_free_ char *tool = NULL;
	int r = 0;

	if (!edited && boot_n_differing(state, words->want) == 0)
		return 0;
	if (has_grub(boot))
		r = boot_grub_dropin.plan_refresh(boot, state, words, edited, cs);
	if (r >= 0)
		r = tool_find(boot->root, names, &tool);
	return r < 0 ? r : tool_plan(boot, cs, (const char *const[]){ tool, "refresh", NULL });
}

static int proxmox_plan(const struct boot *boot, const struct boot_state *state,
			const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	int r = 0;

	if (has_grub(boot))
		r = boot_grub_dropin.plan(boot, state, words, cs, diag);
	if (r >= 0 && words->want != BOOT_WANT_NOTHING &&
	    root_exists(boot->root, KERNEL_CMDLINE))
		r = kernel_cmdline_plan(boot, state, words, 0, cs, diag);
	if (r < 0)
		return r;
	for (size_t i = 0; i < cs->n_commands; i++)
		strv_done(&cs->commands[i].argv);
	cs->n_commands = 0;
	cs->refresh = REFRESH_NONE;
	return proxmox_plan_refresh(boot, state, words, cs->n > 0, cs);
}

static int proxmox_refresh(const struct boot *boot, const struct boot_words *words,
			   struct diag *diag)
{
	static const char *const names[] = { "proxmox-boot-tool", NULL };
	_cleanup_free_ char *tool = NULL;
	int r = tool_find(boot->root, names, &tool);

	if (r >= 0 && has_grub(boot) && root_exists(boot->root, "/boot/grub/grub.cfg"))
		r = boot_grub_dropin.refresh(boot, words, diag);
	return r < 0 ? r : tool_run(boot, (const char *const[]){ tool, "refresh", NULL }, diag);
}

/* The ESPs cannot be looked at; what they are made of can. */
static int proxmox_verify(const struct boot *boot, const struct boot_words *words,
			  struct diag *diag)
{
	_cleanup_boot_state_ struct boot_state state = {};
	int r = 0;

	if (has_grub(boot))
		r = boot_grub_dropin.verify(boot, words, diag);
	if (r >= 0)
		r = kernel_cmdline_read(boot, &state, diag);
	if (r < 0 || words->want == BOOT_WANT_NOTHING ||
	    !root_exists(boot->root, KERNEL_CMDLINE))
		return r;
	if ((words->want == BOOT_WANT_ON && state.configured == CMDLINE_OFF) ||
	    (words->want == BOOT_WANT_OFF && state.configured == CMDLINE_ON)) {
		diag_error(diag, &(struct diag_where){ .path = KERNEL_CMDLINE },
			   "is not as wanted after the change");
		return -EBADMSG;
	}
	return 0;
}

static int proxmox_take_back(const struct boot *boot, const char *path,
			     const struct content *before, const struct content *written,
			     const struct content *now, struct content *ret, struct diag *diag)
{
	if (streq(path, KERNEL_CMDLINE))
		return kernel_cmdline_take_back(path, before, written, now, ret, diag);
	if (boot_grub_dropin.take_back)
		return boot_grub_dropin.take_back(boot, path, before, written, now, ret, diag);
	*ret = (struct content){};
	return 0;
}

const struct boot_backend boot_proxmox = {
	.name = "proxmox",
	.title = "proxmox-boot-tool",
	.sign = "/etc/kernel/proxmox-boot-uuids",
	.by = BOOT_BY_GRUB | BOOT_BY_SYSTEMD_BOOT,
	.tried = BOOT_TRIED_FIXTURES,
	.probe = proxmox_probe,
	.read = proxmox_read,
	.plan = proxmox_plan,
	.plan_refresh = proxmox_plan_refresh,
	.refresh = proxmox_refresh,
	.verify = proxmox_verify,
	.take_back = proxmox_take_back,
};
