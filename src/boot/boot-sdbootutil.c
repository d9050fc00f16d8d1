/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * openSUSE's sdbootutil (LOADER_TYPE grub2-bls or systemd-boot): it makes the options of every
 * entry of /etc/kernel/cmdline and, since March 2026, of /etc/kernel/cmdline.d/ behind it. An
 * entry belongs to a snapshot, and takes what that snapshot's files say: only the entries of
 * the snapshot that is booted next are ours.
 */

#include "base/diag.h"
#include "boot/bls-dir.h"
#include "boot/esp.h"
#include "boot/fstab.h"
#include "boot/kernel-cmdline.h"
#include "boot/shell-text.h"
#include "boot/text.h"
#include "boot/tool.h"

#define SYSCONFIG "/etc/sysconfig/bootloader"
#define OURS	  "/etc/kernel/cmdline.d/90-memcg-policy.conf"
enum { MAX_OURS = 4096 };

static const char *const names[] = { "sdbootutil", NULL };

static int sdbootutil_probe(const struct root *root, struct diag *diag _unused_)
{
	_cleanup_free_ char *type = NULL;
	int r = shell_text_value(root, SYSCONFIG, "LOADER_TYPE", &type);

	if (r < 0)
		return r;
	return type && (streq(type, "grub2-bls") || streq(type, "systemd-boot")) &&
	       tool_exists(root, "sdbootutil");
}

/* "@/.snapshots/7/snapshot" of the options, or "". */
static void snapshot_of(const char *args, const char **ret, size_t *ret_size)
{
	const char *p = args ? strstr(args, "subvol=") : NULL;

	*ret = p ? p + strlen("subvol=") : "";
	*ret_size = strcspn(*ret, " ,");
}

static int sdbootutil_read(const struct boot *boot, struct boot_state *ret, struct diag *diag)
{
	static const struct bls_source source = { .dirs = esp_entry_dirs,
						  .reader = BLS_SYSTEMD };
	const char *wanted = "", *has;
	size_t wanted_size = 0, has_size;
	int r = bls_dir_read(boot, &source, ret, diag);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ret->entries.n; i++)
		if (ret->entries.items[i].is_default)
			snapshot_of(ret->entries.items[i].args, &wanted, &wanted_size);
	for (size_t i = 0; i < ret->entries.n; i++) {
		struct boot_entry *entry = &ret->entries.items[i];

		snapshot_of(entry->args, &has, &has_size);
		entry->ours = entry->ours && has_size == wanted_size &&
			      memcmp(has, wanted, has_size) == 0;
	}
	ret->entries_known = true;
	return kernel_cmdline_read(boot, ret, diag);
}

static int sdbootutil_plan_refresh(const struct boot *boot, const struct boot_state *state,
				   const struct boot_words *words, bool edited,
				   struct changeset *cs)
{
	_cleanup_free_ char *tool = NULL;
	int r;

	if (!edited && boot_n_differing(state, words->want) == 0)
		return 0;
	r = tool_find(boot->root, names, &tool);
	return r < 0 ? r
		     : tool_plan(boot, cs,
				 (const char *const[]){ tool, "update-all-entries", NULL });
}

/* The word goes into a file of our own where it is read; words against it go from the admin's.
 */
static int plan_dropin(const struct boot *boot, const struct boot_state *state,
		       const struct boot_words *words, struct changeset *cs, struct diag *diag)
{
	bool off = words->want == BOOT_WANT_OFF;
	struct boot_words remove = { words->want, off ? CMDLINE_NO_DISABLE : 0 };
	const char *word = NULL;
	int r = root_exists(boot->root, KERNEL_CMDLINE)
			? kernel_cmdline_plan(boot, state, &remove, 0, cs, diag)
			: 0;

	if (off && !(words->flags & CMDLINE_NO_DISABLE))
		word = "cgroup_disable=memory\n";
	else if (!off && words->flags & CMDLINE_WRITE_ENABLE)
		word = "cgroup_enable=memory\n";
	if (r >= 0)
		r = changeset_edit(cs, boot->root, OURS, MAX_OURS, word,
				   word ? strlen(word) : 0, 0644, 0, diag);
	return r;
}

static int sdbootutil_plan(const struct boot *boot, const struct boot_state *state,
			   const struct boot_words *words, struct changeset *cs,
			   struct diag *diag)
{
	_cleanup_free_ char *tool = NULL;
	int r = tool_find(boot->root, names, &tool);

	if (r < 0)
		return r;
	if (words->want == BOOT_WANT_NOTHING)
		r = changeset_edit(cs, boot->root, OURS, MAX_OURS, NULL, 0, 0644, 0, diag);
	else if (tool_mentions(boot->root, tool, "cmdline.d"))
		r = plan_dropin(boot, state, words, cs, diag);
	else
		r = kernel_cmdline_plan(boot, state, words, 0, cs, diag);
	return r < 0 ? r : sdbootutil_plan_refresh(boot, state, words, cs->n > 0, cs);
}

static int sdbootutil_refresh(const struct boot *boot, const struct boot_words *words _unused_,
			      struct diag *diag)
{
	_cleanup_free_ char *tool = NULL;
	int r = tool_find(boot->root, names, &tool);

	return r < 0 ? r
		     : tool_run(boot, (const char *const[]){ tool, "update-all-entries", NULL },
				diag);
}

static int sdbootutil_take_back(const struct boot *boot _unused_, const char *path,
				const struct content *before, const struct content *written,
				const struct content *now, struct content *ret,
				struct diag *diag)
{
	if (streq(path, KERNEL_CMDLINE))
		return kernel_cmdline_take_back(path, before, written, now, ret, diag);
	*ret = (struct content){};
	return 0;
}

const struct boot_backend boot_sdbootutil = {
	.name = "sdbootutil",
	.title = "openSUSE's sdbootutil",
	.sign = "sdbootutil and LOADER_TYPE",
	.by = BOOT_BY_GRUB | BOOT_BY_SYSTEMD_BOOT,
	.tried = BOOT_TRIED_FIXTURES,
	.probe = sdbootutil_probe,
	.read = sdbootutil_read,
	.plan = sdbootutil_plan,
	.plan_refresh = sdbootutil_plan_refresh,
	.refresh = sdbootutil_refresh,
	.verify = text_verify,
	.take_back = sdbootutil_take_back,
};

/* --- transactional systems with GRUB: MicroOS, SLE Micro --- */

#define GRUB_DEFAULT "/etc/default/grub"
#define TRANSACTION  "/usr/sbin/transactional-update"

static const struct shell_text grub = { GRUB_DEFAULT, "GRUB_CMDLINE_LINUX",
					"GRUB_CMDLINE_LINUX_DEFAULT" };

static int transactional_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, TRANSACTION) && root_exists(root, GRUB_DEFAULT) &&
	       fstab_root_is_read_only(root);
}

static int transactional_read(const struct boot *boot, struct boot_state *ret,
			      struct diag *diag)
{
	int r = boot_grub_default.read(boot, ret, diag);

	/* the next boot takes the menu of a snapshot that is not this one */
	ret->entries_known = false;
	return r;
}

static int transactional_plan_refresh(const struct boot *boot, const struct boot_state *state,
				      const struct boot_words *words, bool edited,
				      struct changeset *cs)
{
	static const char *const argv[] = { TRANSACTION, "--non-interactive", "grub.cfg",
					    NULL };

	(void)state;
	(void)words;
	return edited ? tool_plan(boot, cs, argv) : 0;
}

static int transactional_plan(const struct boot *boot, const struct boot_state *state,
			      const struct boot_words *words, struct changeset *cs,
			      struct diag *diag)
{
	int r = shell_text_plan(boot, &grub, words, cs, diag);

	return r < 0 ? r : transactional_plan_refresh(boot, state, words, cs->n > 0, cs);
}

static int transactional_refresh(const struct boot *boot,
				 const struct boot_words *words _unused_, struct diag *diag)
{
	static const char *const argv[] = { TRANSACTION, "--non-interactive", "grub.cfg",
					    NULL };

	return tool_run(boot, argv, diag);
}

/* The new snapshot cannot be looked into from here: what it was made of can. */
static int transactional_verify(const struct boot *boot, const struct boot_words *words,
				struct diag *diag)
{
	_cleanup_boot_state_ struct boot_state state = {};
	int r = shell_text_read(boot, &grub, &state);

	if (r < 0 || words->want == BOOT_WANT_NOTHING)
		return r;
	if ((words->want == BOOT_WANT_ON && state.configured == CMDLINE_OFF) ||
	    (words->want == BOOT_WANT_OFF && state.configured == CMDLINE_ON)) {
		diag_error(diag, &(struct diag_where){ .path = GRUB_DEFAULT },
			   "is not as wanted after the change");
		return -EBADMSG;
	}
	return 0;
}

static int transactional_take_back(const struct boot *boot _unused_, const char *path _unused_,
				   const struct content *before, const struct content *written,
				   const struct content *now, struct content *ret,
				   struct diag *diag)
{
	return shell_text_take_back(&grub, before, written, now, ret, diag);
}

const struct boot_backend boot_transactional = {
	.name = "transactional",
	.title = "GRUB of a transactional system",
	.sign = "transactional-update and a read-only /",
	.by = BOOT_BY_GRUB,
	.tried = BOOT_TRIED_FIXTURES,
	.remounts = true,
	.probe = transactional_probe,
	.read = transactional_read,
	.plan = transactional_plan,
	.plan_refresh = transactional_plan_refresh,
	.refresh = transactional_refresh,
	.verify = transactional_verify,
	.take_back = transactional_take_back,
};
