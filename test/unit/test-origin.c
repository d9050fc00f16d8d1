/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Captured machines after a reboot: where the word of the running kernel's line comes from. */

#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "cmd/host.h"

#include <fcntl.h>
#include <sys/stat.h>

#define HEAD                  \
	"set default=\"0\"\n" \
	"### BEGIN /etc/grub.d/10_linux ###\n"
#define ENTRY(id, release, words)              \
	"menuentry '" id "' --id '" id "' {\n" \
	"\tlinux /boot/vmlinuz-" release " root=/dev/sda1 ro quiet" words "\n}\n"
#define MENU_OFF \
	HEAD ENTRY("new", "6.1.0-20", " cgroup_disable=memory") ENTRY("old", "6.1.0-18", "")
#define MENU_ON HEAD ENTRY("new", "6.1.0-20", "") ENTRY("old", "6.1.0-18", "")
#define IMAGE	"BOOT_IMAGE=/boot/vmlinuz-6.1.0-20 "
#define LINE	"root=/dev/sda1 ro quiet"
#define OFF	" cgroup_disable=memory"

static const char cfg[] = "boot/grub/grub.cfg";
static const char cmdline[] = "proc/cmdline";
static const char release[] = "proc/sys/kernel/osrelease";
static const char config[] = "boot/config-6.1.0-20";
static const char bootargs[] = "proc/device-tree/chosen/bootargs";
static const char loader_type[] = "proc/sys/kernel/bootloader_type";

struct file {
	const char *path, *text;
};

static const struct machine {
	const char *name;
	struct file files[7];
	enum origin_kind kind;
	const char *path; /* NULL: none */
	unsigned line;
	const char *booted; /* NULL: none */
	enum answer kexec;
} machines[] = {
	{ "no word",
	  { { cfg, MENU_ON }, { cmdline, IMAGE LINE "\n" } },
	  ORIGIN_NONE,
	  NULL,
	  0,
	  "new",
	  ANSWER_UNKNOWN },
	{ "the entry that booted",
	  { { cfg, MENU_OFF }, { cmdline, IMAGE LINE OFF "\n" } },
	  ORIGIN_ENTRY,
	  "/boot/grub/grub.cfg",
	  4,
	  "new",
	  ANSWER_UNKNOWN },
	{ "an entry that is not the default",
	  { { cfg, MENU_OFF },
	    { cmdline, "BOOT_IMAGE=(hd0,gpt1)/boot/vmlinuz-6.1.0-18 " LINE "\n" } },
	  ORIGIN_NONE,
	  NULL,
	  0,
	  "old",
	  ANSWER_UNKNOWN },
	{ "typed",
	  { { cfg, MENU_ON }, { cmdline, IMAGE LINE OFF "\n" } },
	  ORIGIN_UNKNOWN,
	  NULL,
	  0,
	  "new",
	  ANSWER_UNKNOWN },
	{ "typed, and another entry has it",
	  { { cfg, MENU_OFF },
	    { cmdline, "BOOT_IMAGE=/boot/vmlinuz-6.1.0-18 " LINE OFF "\n" } },
	  ORIGIN_UNKNOWN,
	  NULL,
	  0,
	  "old",
	  ANSWER_UNKNOWN },
	{ "no entry has these words",
	  { { cfg, MENU_ON }, { cmdline, "root=/dev/nfs" OFF "\n" } },
	  ORIGIN_UNKNOWN,
	  NULL,
	  0,
	  NULL,
	  ANSWER_UNKNOWN },
	{ "another entry has it, and none is known to have booted",
	  { { cfg, MENU_OFF }, { cmdline, "root=/dev/nfs" OFF "\n" } },
	  ORIGIN_ENTRY,
	  "/boot/grub/grub.cfg",
	  4,
	  NULL,
	  ANSWER_UNKNOWN },
	{ "the defaults, and the menu does not have it yet",
	  { { cfg, MENU_ON },
	    { "etc/default/grub",
	      "# a comment\nGRUB_CMDLINE_LINUX=\"cgroup_disable=memory\"\n" },
	    { cmdline, IMAGE LINE OFF "\n" } },
	  ORIGIN_DEFAULTS,
	  "/etc/default/grub",
	  2,
	  "new",
	  ANSWER_UNKNOWN },
	{ "bootconfig",
	  { { cfg, MENU_ON },
	    { "proc/bootconfig",
	      "init.x = \"1\"\nkernel.cgroup_disable = \"cpu\", \"memory\"\n" },
	    { cmdline, "cgroup_disable=\"cpu,memory\" " IMAGE LINE "\n" } },
	  ORIGIN_BOOTCONFIG,
	  "/proc/bootconfig",
	  2,
	  "new",
	  ANSWER_UNKNOWN },
	{ "bootconfig about something else",
	  { { cfg, MENU_ON },
	    { "proc/bootconfig",
	      "kernel.cgroup_disable = \"pressure\"\nkernel.memory = \"1\"\n" },
	    { cmdline, "cgroup_disable=pressure " IMAGE LINE OFF "\n" } },
	  ORIGIN_UNKNOWN,
	  NULL,
	  0,
	  "new",
	  ANSWER_UNKNOWN },
	{ "bootconfig that says on, a line that says off",
	  { { cfg, MENU_ON },
	    { "proc/bootconfig", "kernel.cgroup_enable = \"memory\"\n" },
	    { cmdline, "cgroup_enable=memory " IMAGE LINE OFF "\n" } },
	  ORIGIN_UNKNOWN,
	  NULL,
	  0,
	  "new",
	  ANSWER_UNKNOWN },
	{ "built in",
	  { { cfg, MENU_ON },
	    { release, "6.1.0-20\n" },
	    { config, "CONFIG_X86=y\nCONFIG_MEMCG=y\nCONFIG_CMDLINE_BOOL=y\n"
		      "CONFIG_CMDLINE=\"cgroup_disable=memory\"\n" },
	    { cmdline, "cgroup_disable=memory " IMAGE LINE "\n" } },
	  ORIGIN_BUILT_IN,
	  "/boot/config-6.1.0-20",
	  4,
	  "new",
	  ANSWER_UNKNOWN },
	{ "built into another kernel",
	  { { cfg, MENU_ON },
	    { release, "6.1.0-18\n" },
	    { config, "CONFIG_X86=y\nCONFIG_MEMCG=y\nCONFIG_CMDLINE_BOOL=y\n"
		      "CONFIG_CMDLINE=\"cgroup_disable=memory\"\n" },
	    { cmdline, "cgroup_disable=memory BOOT_IMAGE=/boot/vmlinuz-6.1.0-18 " LINE "\n" } },
	  ORIGIN_UNKNOWN,
	  NULL,
	  0,
	  "old",
	  ANSWER_UNKNOWN },
	{ "a board: its tree has the loader's whole line, which tells nothing",
	  { { cfg, MENU_ON },
	    { "proc/device-tree/model", "Radxa ROCK 5B" },
	    { bootargs, "cgroup_disable=memory " LINE },
	    { cmdline, "cgroup_disable=memory " LINE "\n" } },
	  ORIGIN_UNKNOWN,
	  NULL,
	  0,
	  "new",
	  ANSWER_UNKNOWN },
	{ "a Raspberry Pi with EFI: its stub wrote the tree",
	  { { cfg, MENU_ON },
	    { "sys/firmware/efi/fw_platform_size", "64\n" },
	    { "proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4" },
	    { bootargs, "cgroup_disable=memory " LINE },
	    { cmdline, "cgroup_disable=memory " LINE "\n" } },
	  ORIGIN_UNKNOWN,
	  NULL,
	  0,
	  "new",
	  ANSWER_UNKNOWN },
	{ "Raspberry Pi",
	  { { "boot/firmware/config.txt", "[all]\n" },
	    { "boot/firmware/start4.elf", "" },
	    { "boot/firmware/cmdline.txt", "console=tty1 root=/dev/mmcblk0p2\n" },
	    { "proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4" },
	    { bootargs,
	      "cgroup_disable=memory smsc95xx.macaddr=0 console=tty1 root=/dev/mmcblk0p2" },
	    { cmdline,
	      "cgroup_disable=memory smsc95xx.macaddr=0 console=tty1 root=/dev/mmcblk0p2\n" } },
	  ORIGIN_DEVICE_TREE,
	  "/proc/device-tree/chosen/bootargs",
	  0,
	  "cmdline.txt",
	  ANSWER_UNKNOWN },
	{ "kexec on x86",
	  { { cfg, MENU_ON }, { loader_type, "208\n" }, { cmdline, IMAGE LINE OFF "\n" } },
	  ORIGIN_UNKNOWN,
	  NULL,
	  0,
	  "new",
	  ANSWER_YES },
	{ "GRUB on x86",
	  { { cfg, MENU_OFF }, { loader_type, "114\n" }, { cmdline, IMAGE LINE OFF "\n" } },
	  ORIGIN_ENTRY,
	  "/boot/grub/grub.cfg",
	  4,
	  "new",
	  ANSWER_NO },
	{ "kexec on a machine with a device tree",
	  { { cfg, MENU_ON },
	    { "proc/device-tree/chosen/linux,booted-from-kexec", "" },
	    { cmdline, LINE "\n" } },
	  ORIGIN_NONE,
	  NULL,
	  0,
	  "new",
	  ANSWER_YES },
	{ "a loader that has no number",
	  { { cfg, MENU_ON }, { loader_type, "0\n" }, { cmdline, LINE "\n" } },
	  ORIGIN_NONE,
	  NULL,
	  0,
	  "new",
	  ANSWER_UNKNOWN },
};

static void load(const struct tree *tree, struct host *host)
{
	_cleanup_diag_ struct diag diag = {};

	tree_write(tree, "usr/sbin/grub-mkconfig", "default/grub.d\n");
	assert_int_equal(host_load_boot(tree->root, host, &diag), 0);
}

static void test_machines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		const struct machine *m = &machines[i];
		_cleanup_host_ struct host host = {};
		const struct origin *origin = &host.origin;
		struct tree tree;

		print_message("%s\n", m->name);
		tree_init(&tree, ROOT_SNAPSHOT);
		for (size_t k = 0; k < ARRAY_SIZE(m->files) && m->files[k].path; k++)
			tree_write(&tree, m->files[k].path, m->files[k].text);
		load(&tree, &host);
		assert_int_equal(origin->kind, m->kind);
		assert_true(streq_ptr(origin->path, m->path));
		assert_int_equal(origin->line, m->line);
		assert_true(streq_ptr(origin->booted ? origin->booted->id : NULL, m->booted));
		assert_int_equal(origin->kexec, m->kexec);
		assert_int_equal(origin->changed, ANSWER_UNKNOWN);
		assert_true(!origin_text(origin) == (m->kind == ORIGIN_NONE));
		tree_done(&tree);
	}
}

/* Whether the entries are older than this boot; and nothing is said of another system's. */
static void test_changed(void **state)
{
	static const struct {
		time_t written;
		const char *stat;
		enum answer changed;
	} cases[] = {
		{ 1000, "cpu 0\nbtime 2000\n", ANSWER_NO },
		{ 3000, "cpu 0\nbtime 2000\n", ANSWER_YES },
		{ 1000, "cpu 0\n", ANSWER_UNKNOWN },
		{ 1000, "cpu 0\nbtime x\n", ANSWER_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct timespec times[] = { { .tv_sec = cases[i].written },
						  { .tv_sec = cases[i].written } };
		_cleanup_host_ struct host host = {};
		_cleanup_free_ char *path = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_LIVE);
		tree_write(&tree, cfg, MENU_ON);
		tree_write(&tree, cmdline, IMAGE LINE OFF "\n");
		tree_write(&tree, "proc/stat", cases[i].stat);
		assert_true(str_printf(&path, "%s/%s", tree.path, cfg) >= 0);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		load(&tree, &host);
		assert_int_equal(host.origin.changed, cases[i].changed);
		tree_done(&tree);
	}
}

static void test_offline(void **state)
{
	_cleanup_host_ struct host host = {};
	struct tree tree;

	(void)state;
	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, cfg, MENU_OFF);
	tree_write(&tree, cmdline, IMAGE LINE OFF "\n");
	load(&tree, &host);
	assert_int_equal(host.origin.kind, ORIGIN_NONE);
	assert_null(host.origin.booted);
	assert_int_equal(host.origin.kexec, ANSWER_NOT_LOOKED);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_offline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
