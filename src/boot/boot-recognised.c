/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Loaders that are recognised and not written to: what they would boot is shown where a file
 * says it, and what to do is said in their own words. Writing comes when it was tried for real.
 */

#include "base/diag.h"
#include "boot/efi-option.h"
#include "boot/recognised-read.h"
#include "boot/tool.h"

/* What to do by hand. */
struct boot_advice {
	const char *path; /* what the message is about; the first that is there is taken */
	const char *text;
	const char *off;
	const char *on;
};

/* Nothing to do where every entry is as wanted already; else exit status 5 with the advice. */
static int advise(const struct boot *boot, const struct boot_state *state,
		  const struct boot_words *words, struct changeset *cs _unused_,
		  struct diag *diag)
{
	const struct boot_advice *advice = boot->backend->advice;

	size_t ours = 0;

	for (size_t i = 0; state->entries_known && i < state->entries.n; i++)
		ours += state->entries.items[i].ours;
	if (words->want == BOOT_WANT_NOTHING ||
	    (ours > 0 && boot_n_differing(state, words->want) == 0))
		return 0;
	while (advice[1].text && !root_exists(boot->root, advice->path))
		advice++;
	diag_error(diag,
		   &(struct diag_where){
			   .path = advice->path,
			   .hint = words->want == BOOT_WANT_OFF ? advice->off : advice->on,
		   },
		   "%s", advice->text);
	return -ENOTSUP;
}

const struct boot_backend boot_nixos = {
	.name = "nixos",
	.title = "NixOS",
	.found_by = (const char *const[]){ "/etc/NIXOS", NULL },
	.read = recognised_read_menu,
	.plan = advise,
	.advice =
		(const struct boot_advice[]){
			{ "/etc/nixos/configuration.nix",
			  "NixOS makes its boot entries of its configuration",
			  "boot.kernelParams = [ \"cgroup_disable=memory\" ]; then: "
			  "nixos-rebuild boot",
			  "take \"cgroup_disable=memory\" out of boot.kernelParams, then: "
			  "nixos-rebuild boot" },
			{} },
};

const struct boot_backend boot_kernelstub = {
	.name = "kernelstub",
	.title = "kernelstub",
	.found_by = (const char *const[]){ "/etc/kernelstub/configuration", NULL },
	.read = recognised_read_menu,
	.plan = advise,
	.advice =
		(const struct boot_advice[]){
			{ "/etc/kernelstub/configuration",
			  "kernelstub writes the boot entries out of this file",
			  "kernelstub -a cgroup_disable=memory",
			  "kernelstub -d cgroup_disable=memory" },
			{} },
};

const struct boot_backend boot_limine = {
	.name = "limine",
	.title = "Limine",
	.found_by =
		(const char *const[]){ "/boot/limine.conf", "/boot/limine/limine.conf",
				       "/efi/limine.conf", "/boot/EFI/limine/limine.conf",
				       "/efi/EFI/limine/limine.conf", "/boot/efi/limine.conf",
				       "/boot/limine.cfg", "/boot/limine/limine.cfg",
				       "/etc/default/limine", NULL },
	.read = recognised_read_limine,
	.plan = advise,
	.advice =
		(const struct boot_advice[]){
			{ "/etc/default/limine",
			  "limine-entry-tool writes the boot entries out of this file",
			  "KERNEL_CMDLINE[default]+=\" cgroup_disable=memory\" in this file, "
			  "then: limine-update",
			  "take cgroup_disable=memory out of this file, then: limine-update" },
			{ "/boot/limine.conf", "Limine's entries are written by hand",
			  "add cgroup_disable=memory to the cmdline: of each entry",
			  "take cgroup_disable=memory out of the cmdline: of each entry" },
			{} },
};

const struct boot_backend boot_refind = {
	.name = "refind",
	.title = "rEFInd",
	.found_by = (const char *const[]){ "/boot/refind_linux.conf", NULL },
	.read = recognised_read_refind,
	.plan = advise,
	.advice =
		(const struct boot_advice[]){
			{ "/boot/refind_linux.conf", "rEFInd's options are written by hand",
			  "add cgroup_disable=memory to the second quoted text of each line",
			  "take cgroup_disable=memory out of the second quoted text of each "
			  "line" },
			{} },
};

static int zipl_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, "/etc/zipl.conf") ||
	       (tool_exists(root, "zipl") && root_exists(root, "/boot/loader/entries"));
}

const struct boot_backend boot_zipl = {
	.name = "zipl",
	.title = "zipl",
	.sign = "/etc/zipl.conf, or zipl and entries",
	.probe = zipl_probe,
	.read = recognised_read_zipl,
	.plan = advise,
	.advice =
		(const struct boot_advice[]){
			{ "/boot/loader/entries",
			  "zipl boots what it last copied of these entries",
			  "add cgroup_disable=memory to each options line and to "
			  "/etc/kernel/cmdline, then: zipl",
			  "take cgroup_disable=memory out of each options line and of "
			  "/etc/kernel/cmdline, then: zipl" },
			{ "/etc/zipl.conf", "zipl boots what it last copied of this file",
			  "add cgroup_disable=memory to each parameters= line, then: zipl",
			  "take cgroup_disable=memory out of each parameters= line, then: "
			  "zipl" },
			{} },
};

const struct boot_backend boot_petitboot = {
	.name = "petitboot",
	.title = "petitboot",
	.found_by = (const char *const[]){ "/etc/kboot.conf", "/boot/kboot.conf", NULL },
	.read = recognised_read_kboot,
	.plan = advise,
	.advice =
		(const struct boot_advice[]){
			{ "/etc/kboot.conf", "petitboot's entries are written by hand",
			  "add cgroup_disable=memory inside the quotes of each entry",
			  "take cgroup_disable=memory out of each entry" },
			{ "/boot/kboot.conf", "petitboot's entries are written by hand",
			  "add cgroup_disable=memory inside the quotes of each entry",
			  "take cgroup_disable=memory out of each entry" },
			{} },
};

static int zfsbootmenu_probe(const struct root *root, struct diag *diag _unused_)
{
	return root_exists(root, "/etc/zfsbootmenu/config.yaml") &&
	       !root_exists(root, "/boot/grub/grub.cfg");
}

const struct boot_backend boot_zfsbootmenu = {
	.name = "zfsbootmenu",
	.title = "ZFSBootMenu",
	.sign = "/etc/zfsbootmenu/config.yaml",
	.probe = zfsbootmenu_probe,
	.read = recognised_read_nothing,
	.plan = advise,
	.advice =
		(const struct boot_advice[]){
			{ "/etc/zfsbootmenu/config.yaml",
			  "ZFSBootMenu takes the command line from a property of the root file "
			  "system",
			  "zfs set org.zfsbootmenu:commandline=\"... cgroup_disable=memory\", "
			  "with what \"zfs get\" shows in place of the dots",
			  "zfs set org.zfsbootmenu:commandline=..., with what \"zfs get\" "
			  "shows "
			  "but cgroup_disable=memory" },
			{} },
};

const struct boot_backend boot_efistub = {
	.name = "efistub",
	.title = "EFI boot entries of the firmware",
	.sign = "the firmware's entry BootCurrent",
	.probe = efi_option_probe,
	.read = efi_option_read,
	.plan = advise,
	.advice =
		(const struct boot_advice[]){
			{ NULL,
			  "the firmware starts the kernel itself, with the options of its boot "
			  "entry",
			  "make the entry anew with its options (efibootmgr -u shows them) and "
			  "cgroup_disable=memory: efibootmgr --create --label ... --loader ... "
			  "--unicode ...",
			  "make the entry anew with its options (efibootmgr -u shows them) but "
			  "cgroup_disable=memory: efibootmgr --create --label ... --loader ... "
			  "--unicode ..." },
			{} },
};
