/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "loader.h"

#include "base/str.h"

#include <stdio.h>

#define MID "0123456789abcdef0123456789abcdef"
#define DEB "/boot/loader/entries/" MID "-6.1.0-18-amd64.conf"

struct file {
	const char *path;
	const char *text;
};

/* A root, and what one change makes of its files; a file that is not named keeps its bytes. */
static const struct {
	const char *name;
	enum boot_want want;
	const char *backend;
	int r;
	const char *commands;
	struct file files[10];
	struct file expected[4];
} cases[] = {
	{ "systemd-boot, kernel-install",
	  BOOT_WANT_OFF,
	  "systemd-boot",
	  CHANGESET_CHANGED,
	  "",
	  { { "/boot/EFI/systemd/systemd-bootx64.efi", "" },
	    { "/etc/machine-id", MID "\n" },
	    { "/etc/kernel/cmdline", "root=UUID=x ro\n" },
	    { "/boot/loader/loader.conf", "timeout 3\n" },
	    { "/boot/" MID "/6.1.0-18-amd64/linux", "" },
	    { "/usr/lib/modules/6.1.0-18-amd64/x", "" },
	    { DEB, "# made by kernel-install\ntitle Debian\nversion    6.1.0-18-amd64\n"
		   "machine-id " MID "\noptions    root=UUID=x ro systemd.machine_id=" MID
		   "\nlinux /" MID "/6.1.0-18-amd64/linux\n" } },
	  { { "/etc/kernel/cmdline", "root=UUID=x ro cgroup_disable=memory\n" },
	    { DEB, "# made by kernel-install\ntitle Debian\nversion    6.1.0-18-amd64\n"
		   "machine-id " MID "\noptions    root=UUID=x ro systemd.machine_id=" MID
		   " cgroup_disable=memory\nlinux /" MID "/6.1.0-18-amd64/linux\n" } } },
	/* never made for a system that does not run */
	{ "systemd-boot, no /etc/kernel/cmdline",
	  BOOT_WANT_OFF,
	  "systemd-boot",
	  CHANGESET_CHANGED,
	  "",
	  { { "/efi/EFI/systemd/systemd-bootx64.efi", "" },
	    { "/etc/machine-id", MID "\n" },
	    { "/efi/loader/entries/" MID "-6.1.conf",
	      "version 6.1\nmachine-id " MID "\noptions root=x\nlinux /l\n" } },
	  { { "/efi/loader/entries/" MID "-6.1.conf",
	      "version 6.1\nmachine-id " MID
	      "\noptions root=x cgroup_disable=memory\nlinux /l\n" },
	    { "/etc/kernel/cmdline", NULL } } },
	{ "systemd-boot, by hand, another system beside it",
	  BOOT_WANT_OFF,
	  "systemd-boot",
	  CHANGESET_CHANGED,
	  "",
	  { { "/boot/EFI/systemd/systemd-bootx64.efi", "" },
	    { "/etc/machine-id", MID "\n" },
	    { "/boot/vmlinuz-linux", "" },
	    { "/boot/loader/entries/arch.conf",
	      "title Arch\nlinux /vmlinuz-linux\ninitrd /initramfs-linux.img\n"
	      "options root=PARTUUID=y rw\n" },
	    { "/boot/loader/entries/fedcba9876543210fedcba9876543210-5.conf",
	      "version 5\nlinux /other\noptions root=z\n" },
	    { "/boot/loader/entries/memtest.conf", "title M\nefi /memtest.efi\n" } },
	  { { "/boot/loader/entries/arch.conf",
	      "title Arch\nlinux /vmlinuz-linux\ninitrd /initramfs-linux.img\n"
	      "options root=PARTUUID=y rw cgroup_disable=memory\n" } } },
	{ "systemd-boot, counted boots, no options",
	  BOOT_WANT_OFF,
	  "systemd-boot",
	  CHANGESET_CHANGED,
	  "",
	  { { "/efi/EFI/systemd/systemd-bootx64.efi", "" },
	    { "/etc/machine-id", MID "\n" },
	    { "/efi/loader/entries/" MID "-6.1+3-1.conf",
	      "version 6.1\nmachine-id " MID "\nlinux /l" } },
	  { { "/efi/loader/entries/" MID "-6.1+3-1.conf",
	      "version 6.1\nmachine-id " MID
	      "\nlinux /l\noptions cgroup_disable=memory\n" } } },
	{ "raspi-firmware, new file",
	  BOOT_WANT_OFF,
	  "raspi-firmware",
	  CHANGESET_CHANGED,
	  "/usr/sbin/update-initramfs -u -k all\n",
	  { { "/etc/kernel/postinst.d/z50-raspi-firmware", "" },
	    { "/boot/firmware/config.txt", "kernel=vmlinuz-6.1.0-18-arm64\n" },
	    { "/boot/firmware/cmdline.txt", "console=tty0 root=x rw rootwait \n" } },
	  { { "/etc/default/raspi-extra-cmdline", "cgroup_disable=memory\n" } } },
	{ "raspi-firmware, the admin's file",
	  BOOT_WANT_ON,
	  "raspi-firmware",
	  CHANGESET_CHANGED,
	  "/usr/sbin/update-initramfs -u -k all\n",
	  { { "/etc/kernel/postinst.d/z50-raspi-firmware", "" },
	    { "/boot/firmware/config.txt", "kernel=vmlinuz-6.1.0-18-arm64\n" },
	    { "/etc/default/raspi-extra-cmdline", "a cgroup_disable=memory b\n" },
	    { "/boot/firmware/cmdline.txt", "root=x a cgroup_disable=memory b\n" } },
	  { { "/etc/default/raspi-extra-cmdline", "a b\n" } } },
	{ "Alpine",
	  BOOT_WANT_OFF,
	  "update-extlinux",
	  CHANGESET_CHANGED,
	  "/sbin/update-extlinux\n",
	  { { "/sbin/update-extlinux", "" },
	    { "/etc/update-extlinux.conf", "overwrite=1\ndefault_kernel_opts=\"quiet ro\"\n" },
	    { "/boot/extlinux.conf",
	      "LABEL virt\n  LINUX vmlinuz-virt\n  APPEND root=x ro\n" } },
	  { { "/etc/update-extlinux.conf",
	      "overwrite=1\ndefault_kernel_opts=\"quiet ro cgroup_disable=memory\"\n" } } },
	{ "Alpine, overwrite=0",
	  BOOT_WANT_OFF,
	  "update-extlinux",
	  -ENOTSUP,
	  "",
	  { { "/sbin/update-extlinux", "" },
	    { "/etc/update-extlinux.conf", "overwrite=0\ndefault_kernel_opts=\"quiet ro\"\n" },
	    { "/boot/extlinux.conf",
	      "LABEL virt\n  LINUX vmlinuz-virt\n  APPEND root=x\n" } } },
	{ "Jetson",
	  BOOT_WANT_OFF,
	  "extlinux",
	  CHANGESET_CHANGED,
	  "",
	  { { "/boot/extlinux/extlinux.conf",
	      "TIMEOUT 30\nDEFAULT primary\n\nLABEL primary\n      MENU LABEL primary kernel\n"
	      "      LINUX /boot/Image\n      INITRD /boot/initrd\n"
	      "      APPEND ${cbootargs} root=/dev/mmcblk0p1 rw rootwait\n\n# LABEL backup\n"
	      "#    APPEND ${cbootargs}\n" } },
	  { { "/boot/extlinux/extlinux.conf",
	      "TIMEOUT 30\nDEFAULT primary\n\nLABEL primary\n      MENU LABEL primary kernel\n"
	      "      LINUX /boot/Image\n      INITRD /boot/initrd\n"
	      "      APPEND ${cbootargs} root=/dev/mmcblk0p1 rw rootwait "
	      "cgroup_disable=memory\n\n# LABEL backup\n#    APPEND ${cbootargs}\n" } } },
	{ "extlinux, generated by something",
	  BOOT_WANT_OFF,
	  "extlinux",
	  -ENOTSUP,
	  "",
	  { { "/boot/extlinux/extlinux.conf",
	      "## generated automatically\nLABEL l0\n linux /v\n append root=x\n" } } },
	{ "flash-kernel",
	  BOOT_WANT_OFF,
	  "flash-kernel",
	  CHANGESET_CHANGED,
	  "/usr/sbin/flash-kernel\n",
	  { { "/usr/sbin/flash-kernel", "" },
	    { "/etc/default/flash-kernel",
	      "LINUX_KERNEL_CMDLINE=\"quiet\"\n"
	      "LINUX_KERNEL_CMDLINE_DEFAULTS=\"cgroup_enable=memory\"\n" } },
	  { { "/etc/default/flash-kernel",
	      "LINUX_KERNEL_CMDLINE=\"quiet cgroup_disable=memory\"\n"
	      "LINUX_KERNEL_CMDLINE_DEFAULTS=\"\"\n" } } },
	{ "flash-kernel, a value that breaks its sed",
	  BOOT_WANT_OFF,
	  "flash-kernel",
	  -ENOTSUP,
	  "",
	  { { "/usr/sbin/flash-kernel", "" },
	    { "/etc/default/flash-kernel", "LINUX_KERNEL_CMDLINE=\"a=b!c\"\n" } } },
	{ "Proxmox with systemd-boot",
	  BOOT_WANT_OFF,
	  "proxmox",
	  CHANGESET_CHANGED,
	  "/usr/sbin/proxmox-boot-tool refresh\n",
	  { { "/etc/kernel/proxmox-boot-uuids", "ABCD-1234\n" },
	    { "/usr/sbin/proxmox-boot-tool", "" },
	    { "/etc/kernel/cmdline", "root=ZFS=rpool/ROOT/pve-1 boot=zfs\n" } },
	  { { "/etc/kernel/cmdline",
	      "root=ZFS=rpool/ROOT/pve-1 boot=zfs cgroup_disable=memory\n" } } },
	{ "Armbian",
	  BOOT_WANT_OFF,
	  "armbian",
	  CHANGESET_CHANGED,
	  "",
	  { { "/boot/armbianEnv.txt",
	      "verbosity=1\nextraargs=net.ifnames=0 a=b\ndocker_optimizations=on\n" } },
	  { { "/boot/armbianEnv.txt", "verbosity=1\nextraargs=net.ifnames=0 a=b "
				      "cgroup_disable=memory\ndocker_optimizations=off\n" } } },
	{ "Armbian, neither line",
	  BOOT_WANT_OFF,
	  "armbian",
	  CHANGESET_CHANGED,
	  "",
	  { { "/boot/armbianEnv.txt", "verbosity=1\nrootdev=UUID=x" } },
	  { { "/boot/armbianEnv.txt", "verbosity=1\nrootdev=UUID=x\nextraargs=cgroup_disable="
				      "memory\ndocker_optimizations=off\n" } } },
	{ "Armbian, on",
	  BOOT_WANT_ON,
	  "armbian",
	  CHANGESET_CHANGED,
	  "",
	  { { "/boot/armbianEnv.txt", "extraargs=cgroup_disable=pressure,memory x\n" } },
	  { { "/boot/armbianEnv.txt", "extraargs=cgroup_disable=pressure x\n" } } },
	{ "sdbootutil with cmdline.d",
	  BOOT_WANT_OFF,
	  "sdbootutil",
	  CHANGESET_CHANGED,
	  "/usr/bin/sdbootutil update-all-entries\n",
	  { { "/etc/sysconfig/bootloader", "LOADER_TYPE=\"grub2-bls\"\n" },
	    { "/usr/bin/sdbootutil", "for f in /etc/kernel/cmdline.d/*; do :; done\n" },
	    { "/etc/kernel/cmdline", "root=UUID=x cgroup_enable=memory\n" } },
	  { { "/etc/kernel/cmdline.d/90-memcg-policy.conf", "cgroup_disable=memory\n" },
	    { "/etc/kernel/cmdline", "root=UUID=x\n" } } },
	{ "sdbootutil before",
	  BOOT_WANT_OFF,
	  "sdbootutil",
	  CHANGESET_CHANGED,
	  "/usr/bin/sdbootutil update-all-entries\n",
	  { { "/etc/sysconfig/bootloader", "LOADER_TYPE=\"systemd-boot\"\n" },
	    { "/usr/bin/sdbootutil", "#!/bin/bash\n" },
	    { "/etc/kernel/cmdline", "root=UUID=x\n" } },
	  { { "/etc/kernel/cmdline", "root=UUID=x cgroup_disable=memory\n" } } },
	{ "MicroOS with GRUB",
	  BOOT_WANT_OFF,
	  "transactional",
	  CHANGESET_CHANGED,
	  "/usr/sbin/transactional-update --non-interactive grub.cfg\n",
	  { { "/etc/fstab", "UUID=x / btrfs ro 0 0\n" },
	    { "/usr/sbin/transactional-update", "" },
	    { "/usr/sbin/grub2-mkconfig", "" },
	    { "/boot/grub2/grub.cfg", "" },
	    { "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"\"\n"
				   "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n" } },
	  { { "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"cgroup_disable=memory\"\n"
				   "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n" } } },
	{ "Silverblue",
	  BOOT_WANT_OFF,
	  "ostree",
	  -ENOTSUP,
	  "",
	  { { "/ostree/repo/config", "" },
	    { "/usr/bin/rpm-ostree", "" },
	    { "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"\"\n" },
	    { "/boot/loader/entries/ostree-1.conf",
	      "version 1\noptions root=x ostree=/ostree/boot.1/f/0\nlinux "
	      "/ostree/f/vmlinuz\n" } } },
	{ "NixOS", BOOT_WANT_OFF, "nixos", -ENOTSUP, "", { { "/etc/NIXOS", "" } } },
	{ "Pop!_OS",
	  BOOT_WANT_OFF,
	  "kernelstub",
	  -ENOTSUP,
	  "",
	  { { "/etc/kernelstub/configuration", "{}" },
	    { "/boot/efi/EFI/systemd/systemd-bootx64.efi", "" },
	    { "/boot/efi/loader/entries/Pop_OS-current.conf",
	      "title Pop\nlinux /v\noptions root=x\n" } } },
	{ "limine",
	  BOOT_WANT_OFF,
	  "limine",
	  -ENOTSUP,
	  "",
	  { { "/boot/limine.conf", "/Arch\n  cmdline: root=x\n" } } },
	{ "rEFInd",
	  BOOT_WANT_OFF,
	  "refind",
	  -ENOTSUP,
	  "",
	  { { "/boot/refind_linux.conf", "\"Boot\" \"root=x ro\"\n" } } },
	{ "rEFInd, as wanted",
	  BOOT_WANT_OFF,
	  "refind",
	  CHANGESET_UNCHANGED,
	  "",
	  { { "/boot/refind_linux.conf", "\"Boot\" \"ro cgroup_disable=memory\"\n" } } },
	{ "zipl",
	  BOOT_WANT_OFF,
	  "zipl",
	  -ENOTSUP,
	  "",
	  { { "/etc/zipl.conf", "[linux]\nparameters=\"root=x\"\n" } } },
	{ "ZFSBootMenu",
	  BOOT_WANT_ON,
	  "zfsbootmenu",
	  -ENOTSUP,
	  "",
	  { { "/etc/zfsbootmenu/config.yaml", "" } } },
};

/* The fragment of u-boot-menu is a program: what it does is asked of sh. */
static void test_u_boot_menu(void **state _unused_)
{
	static const struct {
		const char *defaults;
		enum boot_want want;
		int r;
		const char *value; /* U_BOOT_PARAMETERS behind the fragment */
	} rows[] = {
		{ "", BOOT_WANT_OFF, CHANGESET_CHANGED, "cgroup_disable=memory ro quiet" },
		{ "U_BOOT_PARAMETERS=\"ro splash\"\n", BOOT_WANT_OFF, CHANGESET_CHANGED,
		  "cgroup_disable=memory ro splash" },
		{ "U_BOOT_PARAMETERS=\"a cgroup_enable=cpuset,memory -- b\"\n", BOOT_WANT_OFF,
		  CHANGESET_CHANGED, "cgroup_disable=memory a cgroup_enable=cpuset -- b" },
		{ "U_BOOT_PARAMETERS=\"a cgroup_disable=memory\"\n", BOOT_WANT_ON,
		  CHANGESET_CHANGED, "a" },
		{ "U_BOOT_PARAMETERS=\"a\"\n", BOOT_WANT_ON, CHANGESET_UNCHANGED, NULL },
		{ "U_BOOT_PARAMETERS=$(echo b)\n", BOOT_WANT_OFF, CHANGESET_CHANGED,
		  "cgroup_disable=memory b" },
	};
	static const char ours[] = "/etc/u-boot-menu/conf.d/zz-memcg-policy.conf";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(loader_result_done) struct loader_result result = {};
		_cleanup_free_ char *command = NULL;
		char line[256] = "";
		struct tree tree;
		FILE *sh;

		tree_init(&tree, ROOT_OFFLINE);
		tree_write(&tree, "/usr/sbin/u-boot-update", ". /usr/share/u-boot-menu/x\n");
		tree_write(&tree, "/usr/share/u-boot-menu/read-config",
			   "for f in /etc/u-boot-menu/conf.d/*.conf\n");
		tree_write(&tree, "/etc/default/u-boot", rows[i].defaults);
		result = loader_run(&tree, rows[i].want);
		assert_string_equal(result.backend, "u-boot-menu");
		if (result.r != rows[i].r)
			fail_msg("row %zu: %d", i, result.r);
		if (!rows[i].value) {
			assert_false(root_exists(tree.root, ours));
			tree_done(&tree);
			continue;
		}
		assert_string_equal(result.commands, "/usr/sbin/u-boot-update\n");
		assert_int_equal(
			str_printf(&command,
				   "set -eu; . %s/etc/default/u-boot; . %s%s 2>/dev/null; "
				   "printf %%s \"$U_BOOT_PARAMETERS\"",
				   tree.path, tree.path, ours),
			0);
		sh = popen(command, "r");
		assert_non_null(sh);
		assert_true(fgets(line, sizeof(line), sh) != NULL);
		assert_int_equal(pclose(sh), 0);
		if (!streq(line, rows[i].value))
			fail_msg("row %zu: \"%s\", not \"%s\"", i, line, rows[i].value);
		tree_done(&tree);
	}
}

static void check_files(const struct tree *tree, size_t i)
{
	for (size_t k = 0; k < ARRAY_SIZE(cases[i].expected) && cases[i].expected[k].path;
	     k++) {
		const struct file *file = &cases[i].expected[k];
		_cleanup_free_ char *got = tree_read(tree, file->path);

		if (!streq_ptr(got, file->text))
			fail_msg("%s: %s: \"%s\", not \"%s\"", cases[i].name, file->path, got,
				 file->text);
	}
	for (size_t k = 0; k < ARRAY_SIZE(cases[i].files) && cases[i].files[k].path; k++) {
		const struct file *file = &cases[i].files[k];
		_cleanup_free_ char *got = tree_read(tree, file->path);
		bool changed = false;

		for (size_t m = 0; m < ARRAY_SIZE(cases[i].expected); m++)
			changed |= streq_ptr(cases[i].expected[m].path, file->path);
		if (!changed && !streq_ptr(got, file->text))
			fail_msg("%s: %s: \"%s\"", cases[i].name, file->path, got);
	}
}

static void test_change(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(loader_result_done) struct loader_result result = {};
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].files) && cases[i].files[k].path;
		     k++)
			tree_write(&tree, cases[i].files[k].path, cases[i].files[k].text);
		result = loader_run(&tree, cases[i].want);
		for (size_t k = 0; k < result.diag.n; k++)
			if (result.r != cases[i].r)
				print_message("%s: %s\n", cases[i].name,
					      result.diag.messages[k].text);
		if (!streq(result.backend, cases[i].backend) || result.r != cases[i].r)
			fail_msg("%s: %s, %d", cases[i].name, result.backend, result.r);
		if (result.r >= 0 && !streq(result.commands, cases[i].commands))
			fail_msg("%s: \"%s\"", cases[i].name, result.commands);
		check_files(&tree, i);
		loader_result_done(&result);
		/* doing it twice is doing it once, but for a menu that is still to be made */
		if (cases[i].r == CHANGESET_CHANGED && !*cases[i].commands) {
			result = loader_run(&tree, cases[i].want);
			if (result.r != CHANGESET_UNCHANGED)
				fail_msg("%s: again: %d", cases[i].name, result.r);
		}
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_u_boot_menu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
