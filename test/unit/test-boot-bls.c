/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "loader.h"

#include "base/str.h"
#include "boot/grubenv.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define MID	"0123456789abcdef0123456789abcdef"
#define ENTRIES "/boot/loader/entries/"
#define E1	ENTRIES MID "-6.5.6-300.fc39.x86_64.conf"
#define E2	ENTRIES MID "-6.5.10-300.fc39.x86_64.conf"
#define RESCUE	ENTRIES MID "-0-rescue.conf"
#define ARGS	"root=UUID=x ro rhgb quiet"

static const char mkconfig[] = "#!/bin/sh\n# --no-grubenv-update\n";

static void entry(const struct tree *tree, const char *path, const char *release,
		  const char *options)
{
	_cleanup_free_ char *text = NULL;

	assert_int_equal(
		str_printf(&text,
			   "title Fedora Linux (%s) 39\nversion %s\nlinux /vmlinuz-%s\n"
			   "initrd /initramfs-%s.img\noptions %s\n"
			   "grub_users $grub_users\ngrub_arg --unrestricted\n",
			   release, release, release, release, options),
		0);
	tree_write(tree, path, text);
}

static void fedora(const struct tree *tree, const char *options)
{
	tree_write(tree, "/etc/machine-id", MID "\n");
	tree_write(tree, "/usr/sbin/grub2-mkconfig", mkconfig);
	tree_write(tree, "/boot/grub2/grub.cfg", "insmod blscfg\nblscfg\n");
	tree_write(tree, "/etc/default/grub",
		   "GRUB_CMDLINE_LINUX=\"rhgb quiet\"\nGRUB_ENABLE_BLSCFG=true\n");
	tree_mkdir(tree, "/usr/lib/modules/6.5.6-300.fc39.x86_64");
	tree_mkdir(tree, "/usr/lib/modules/6.5.10-300.fc39.x86_64");
	entry(tree, E1, "6.5.6-300.fc39.x86_64", options);
	entry(tree, E2, "6.5.10-300.fc39.x86_64", options);
	entry(tree, RESCUE, "0-rescue", options);
}

static void expect(const struct tree *tree, const char *path, const char *needle, bool there)
{
	_cleanup_free_ char *text = tree_read(tree, path);

	assert_non_null(text);
	if (!strstr(text, needle) == there)
		fail_msg("%s: \"%s\" %s: %s", path, needle, there ? "missing" : "there", text);
}

static void set_time(const struct tree *tree, const char *path, time_t seconds)
{
	const struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
	_cleanup_free_ char *full = NULL;

	assert_int_equal(str_printf(&full, "%s%s", tree->path, path), 0);
	assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

static bool newer(const struct tree *tree, const char *a, const char *b)
{
	struct stat x, y;

	assert_int_equal(root_stat(tree->root, a, &x), 0);
	assert_int_equal(root_stat(tree->root, b, &y), 0);
	return x.st_mtim.tv_sec != y.st_mtim.tv_sec ? x.st_mtim.tv_sec > y.st_mtim.tv_sec
						    : x.st_mtim.tv_nsec > y.st_mtim.tv_nsec;
}

static void test_fedora(void **state _unused_)
{
	_cleanup_(loader_result_done) struct loader_result result = {};
	_cleanup_free_ char *entries = NULL;
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	fedora(&tree, ARGS);
	tree_write(&tree, "/etc/kernel/cmdline", ARGS "\n");
	set_time(&tree, "/etc/default/grub", 1000);
	set_time(&tree, "/etc/kernel/cmdline", 1000);
	result = loader_run(&tree, BOOT_WANT_OFF);
	assert_string_equal(result.backend, "bls");
	assert_int_equal(result.r, CHANGESET_CHANGED);
	assert_string_equal(result.commands, "");
	expect(&tree, E1, "options " ARGS " cgroup_disable=memory\ngrub_users $grub_users\n",
	       true);
	expect(&tree, E2, "options " ARGS " cgroup_disable=memory\n", true);
	expect(&tree, RESCUE, "cgroup", false);
	expect(&tree, "/etc/kernel/cmdline", ARGS " cgroup_disable=memory\n", true);
	expect(&tree, "/etc/default/grub",
	       "GRUB_CMDLINE_LINUX=\"rhgb quiet cgroup_disable=memory\"\n", true);
	assert_false(newer(&tree, "/etc/default/grub", "/etc/kernel/cmdline"));
	entries = loader_entries(&tree);
	assert_string_equal(entries, MID "-6.5.10-300.fc39.x86_64 off d o|" MID
					 "-6.5.6-300.fc39.x86_64 off o|" MID "-0-rescue none");
	loader_result_done(&result);
	result = loader_run(&tree, BOOT_WANT_OFF);
	assert_int_equal(result.r, CHANGESET_UNCHANGED);
	loader_result_done(&result);
	result = loader_run(&tree, BOOT_WANT_ON);
	assert_int_equal(result.r, CHANGESET_CHANGED);
	expect(&tree, E1, "options " ARGS "\n", true);
	expect(&tree, "/etc/kernel/cmdline", "cgroup", false);
	expect(&tree, "/etc/default/grub", "cgroup", false);
	tree_done(&tree);
}

/* The plug-in acts on which of the two is the newer. */
static void test_times(void **state _unused_)
{
	static const struct {
		const char *defaults; /* GRUB_CMDLINE_LINUX */
		const char *cmdline;
		time_t defaults_time, cmdline_time;
		bool pending;
	} cases[] = {
		{ "rhgb quiet", ARGS, 1000, 2000, false },
		/* newer, and the same: nothing is pending */
		{ "rhgb quiet", ARGS, 2000, 1000, false },
		/* RHEL 9 images: the defaults lack what the kernels get */
		{ "", ARGS, 1000, 2000, false },
		/* only one of the two is to be changed */
		{ "rhgb quiet cgroup_disable=memory", ARGS, 1000, 2000, false },
		{ "rhgb quiet", ARGS " cgroup_disable=memory", 1000, 2000, false },
		/* an administrator's change that was not carried out yet stays the newer */
		{ "rhgb quiet iommu=pt", ARGS, 2000, 1000, true },
		{ "rhgb quiet iommu=pt cgroup_disable=memory", ARGS, 2000, 1000, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(loader_result_done) struct loader_result result = {};
		_cleanup_free_ char *text = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		fedora(&tree, ARGS);
		assert_int_equal(str_printf(&text,
					    "GRUB_CMDLINE_LINUX=\"%s\"\n"
					    "GRUB_ENABLE_BLSCFG=true\n",
					    cases[i].defaults),
				 0);
		tree_write(&tree, "/etc/default/grub", text);
		tree_write(&tree, "/etc/kernel/cmdline", cases[i].cmdline);
		set_time(&tree, "/etc/default/grub", cases[i].defaults_time);
		set_time(&tree, "/etc/kernel/cmdline", cases[i].cmdline_time);
		result = loader_run(&tree, BOOT_WANT_OFF);
		assert_int_equal(result.r, CHANGESET_CHANGED);
		if (newer(&tree, "/etc/default/grub", "/etc/kernel/cmdline") !=
		    cases[i].pending)
			fail_msg("case %zu", i);
		assert_int_equal(diag_count(&result.diag, DIAG_WARNING), cases[i].pending);
		tree_done(&tree);
	}
}

/* Variables stay as they are; a second options line is not GRUB's. */
static void test_entries(void **state _unused_)
{
	static const struct {
		const char *options;
		const char *want;
	} cases[] = {
		{ ARGS " $tuned_params", ARGS " $tuned_params cgroup_disable=memory\n" },
		{ ARGS "\noptions cgroup_enable=memory",
		  ARGS " cgroup_disable=memory\noptions cgroup_enable=memory\n" },
		{ ARGS " -- x", ARGS " cgroup_disable=memory -- x\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(loader_result_done) struct loader_result result = {};
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		fedora(&tree, cases[i].options);
		result = loader_run(&tree, BOOT_WANT_OFF);
		assert_int_equal(result.r, CHANGESET_CHANGED);
		expect(&tree, E1, cases[i].want, true);
		/* not made for a system that does not run */
		assert_false(root_exists(tree.root, "/etc/kernel/cmdline"));
		tree_done(&tree);
	}
}

/* GRUB would stop at what is left. */
static void test_emptied(void **state _unused_)
{
	_cleanup_(loader_result_done) struct loader_result result = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	fedora(&tree, "cgroup_disable=memory");
	result = loader_run(&tree, BOOT_WANT_ON);
	assert_int_equal(result.r, -ENOTSUP);
	expect(&tree, E1, "options cgroup_disable=memory\n", true);
	tree_done(&tree);
}

static void write_env(const struct tree *tree, const char *body)
{
	char block[GRUBENV_SIZE];
	size_t n = strlen(body);

	assert_true(n <= sizeof(block));
	memset(block, '#', sizeof(block));
	memcpy(block, body, n);
	tree_write_n(tree, "/boot/grub2/grubenv", block, sizeof(block));
}

/* RHEL 8: the common part is in grubenv, which keeps its size, inode and other variables. */
static void test_kernelopts(void **state _unused_)
{
	_cleanup_(loader_result_done) struct loader_result result = {};
	struct stat before, after;
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	fedora(&tree, "$kernelopts $tuned_params");
	write_env(&tree, "# GRUB Environment Block\nsaved_entry=" MID
			 "-6.5.6-300.fc39.x86_64\nkernelopts=" ARGS "\nboot_success=0\n");
	assert_int_equal(root_stat(tree.root, "/boot/grub2/grubenv", &before), 0);
	result = loader_run(&tree, BOOT_WANT_OFF);
	assert_int_equal(result.r, CHANGESET_CHANGED);
	expect(&tree, E1, "options $kernelopts $tuned_params\n", true);
	expect(&tree, "/boot/grub2/grubenv",
	       "kernelopts=" ARGS " cgroup_disable=memory\nboot_success=0\n####", true);
	assert_int_equal(root_stat(tree.root, "/boot/grub2/grubenv", &after), 0);
	assert_int_equal(after.st_size, GRUBENV_SIZE);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_false(root_exists(tree.root, "/etc/kernel/cmdline"));
	loader_result_done(&result);
	result = loader_run(&tree, BOOT_WANT_ON);
	assert_int_equal(result.r, CHANGESET_CHANGED);
	expect(&tree, "/boot/grub2/grubenv", "kernelopts=" ARGS "\nboot_success=0\n####", true);
	tree_done(&tree);
}

static void test_no_room(void **state _unused_)
{
	_cleanup_(loader_result_done) struct loader_result result = {};
	_cleanup_free_ char *body = NULL;
	char filler[900];
	struct tree tree;

	memset(filler, 'x', sizeof(filler) - 1);
	filler[sizeof(filler) - 1] = '\0';
	assert_int_equal(str_printf(&body, "# GRUB Environment Block\nkernelopts=%s y=%s\n",
				    ARGS, filler),
			 0);
	tree_init(&tree, ROOT_OFFLINE);
	fedora(&tree, "$kernelopts");
	write_env(&tree, body);
	result = loader_run(&tree, BOOT_WANT_OFF);
	/* 1024 bytes hold it as it is, and nothing more */
	assert_int_equal(result.r,
			 strlen(body) + strlen(" cgroup_disable=memory") > GRUBENV_SIZE
				 ? -ENOTSUP
				 : CHANGESET_CHANGED);
	tree_done(&tree);
}

/* Entries of others, broken ones, and what is no file: reported, and never written. */
static void test_foreign(void **state _unused_)
{
	static const char other[] = ENTRIES "fedcba9876543210fedcba9876543210-5.0.conf";
	static const char boom[] = ENTRIES "0123456-89abcde-6.5.6.conf";
	static const char broken[] = ENTRIES MID "-broken.conf";
	_cleanup_(loader_result_done) struct loader_result result = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	fedora(&tree, ARGS);
	entry(&tree, other, "5.0", ARGS);
	entry(&tree, boom, "6.5.6", ARGS);
	tree_write(&tree, broken,
		   "title B\nlinux /vmlinuz-6.5.6-300.fc39.x86_64\n\noptions x\n");
	tree_mkdir(&tree, ENTRIES "dir.conf");
	result = loader_run(&tree, BOOT_WANT_OFF);
	assert_int_equal(result.r, CHANGESET_CHANGED);
	expect(&tree, other, "cgroup", false);
	expect(&tree, boom, "cgroup", false);
	expect(&tree, broken, "cgroup", false);
	expect(&tree, E1, "cgroup_disable=memory", true);
	assert_true(diag_count(&result.diag, DIAG_WARNING) > 0);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fedora),	cmocka_unit_test(test_times),
		cmocka_unit_test(test_entries), cmocka_unit_test(test_kernelopts),
		cmocka_unit_test(test_no_room), cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_emptied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
