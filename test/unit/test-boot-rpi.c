/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "loader.h"

#include "base/str.h"

#include <stdio.h>

/* What becomes of cmdline.txt; NULL: it is refused with this errno, and stays. */
static void test_change(void **state _unused_)
{
	static const struct {
		const char *text;
		enum boot_want want;
		const char *expected;
		int r;
	} cases[] = {
		{ "console=tty1 root=x rootwait\n", BOOT_WANT_ON,
		  "console=tty1 root=x rootwait cgroup_enable=memory\n" },
		{ "console=tty1 root=x rootwait \n", BOOT_WANT_OFF,
		  "console=tty1 root=x rootwait cgroup_disable=memory \n" },
		{ "a  b\r\n", BOOT_WANT_OFF, "a  b cgroup_disable=memory\r\n" },
		{ "a b", BOOT_WANT_OFF, "a b cgroup_disable=memory" },
		{ "a cgroup_enable=cpuset cgroup_enable=memory b\n", BOOT_WANT_OFF,
		  "a cgroup_enable=cpuset b cgroup_disable=memory\n" },
		{ "a -- cgroup_enable=memory\n", BOOT_WANT_ON,
		  "a cgroup_enable=memory -- cgroup_enable=memory\n" },
		{ "a cgroup_disable=memory\n", BOOT_WANT_OFF, "a cgroup_disable=memory\n" },
		{ "a\n\n\n", BOOT_WANT_OFF, "a cgroup_disable=memory\n\n\n" },
		/* a second line, an imager's first boot, an open quote */
		{ "a\nb\n", BOOT_WANT_ON, NULL, -EPERM },
		{ "a systemd.run=/boot/firstrun.sh\n", BOOT_WANT_ON, NULL, -EPERM },
		{ "a=\"b\n", BOOT_WANT_OFF, NULL, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(loader_result_done) struct loader_result result = {};
		_cleanup_free_ char *got = NULL;
		const char *want = cases[i].expected ? cases[i].expected : cases[i].text;
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		tree_write(&tree, "/boot/firmware/config.txt", "[all]\narm_64bit=1\n");
		tree_write(&tree, "/boot/firmware/cmdline.txt", cases[i].text);
		result = loader_run(&tree, cases[i].want);
		assert_string_equal(result.backend, "rpi");
		got = tree_read(&tree, "/boot/firmware/cmdline.txt");
		if (!streq(got, want))
			fail_msg("case %zu: \"%s\", not \"%s\"", i, got, want);
		if (result.r < 0 ? result.r != cases[i].r
				 : result.r != (streq(cases[i].text, want) ? CHANGESET_UNCHANGED
									   : CHANGESET_CHANGED))
			fail_msg("case %zu: %d", i, result.r);
		assert_int_equal(result.r<0, diag_count(&result.diag, DIAG_ERROR)> 0);
		tree_done(&tree);
	}
}

/* The file that is read, and no other. */
static void test_which(void **state _unused_)
{
	static const char line[] = "root=x\n", off[] = "root=x cgroup_disable=memory\n";
	static const struct {
		const char *config_path;
		const char *config;
		const char *changed;
	} cases[] = {
		{ "/boot/firmware/config.txt", "", "/boot/firmware/cmdline.txt" },
		{ "/boot/firmware/config.txt", "cmdline=b.txt\n", "/boot/firmware/b.txt" },
		{ "/boot/firmware/config.txt", "[pi4]\ncmdline=b.txt\n", NULL },
		{ "/boot/firmware/config.txt", "os_prefix=current/\n",
		  "/boot/firmware/current/cmdline.txt" },
		{ "/boot/config.txt", "", "/boot/cmdline.txt" },
	};
	static const char *const files[] = { "/boot/cmdline.txt", "/boot/firmware/cmdline.txt",
					     "/boot/firmware/b.txt",
					     "/boot/firmware/current/cmdline.txt" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(loader_result_done) struct loader_result result = {};
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		tree_write(&tree, cases[i].config_path, cases[i].config);
		tree_write(&tree, "/boot/firmware/current/kernel8.img", "");
		tree_write(&tree, "/boot/firmware/current/bcm2711-rpi-4-b.dtb", "");
		for (size_t k = 0; k < ARRAY_SIZE(files); k++)
			if (str_skip_prefix(cases[i].config_path, "/boot/firmware") || k == 0)
				tree_write(&tree, files[k], line);
		result = loader_run(&tree, BOOT_WANT_OFF);
		assert_int_equal(result.r, cases[i].changed ? CHANGESET_CHANGED : -ENOTSUP);
		for (size_t k = 0; k < ARRAY_SIZE(files); k++) {
			_cleanup_free_ char *got = tree_read(&tree, files[k]);

			if (got &&
			    !streq(got, streq_ptr(files[k], cases[i].changed) ? off : line))
				fail_msg("case %zu: %s: %s", i, files[k], got);
		}
		tree_done(&tree);
	}
}

/* Ubuntu's slots: what is written and not booted yet is the next boot's. */
static void test_slots(void **state _unused_)
{
	static const struct {
		const char *state;
		const char *entries;
		bool both;
	} cases[] = {
		{ "unknown\n", "current/cmdline.txt none o|new/cmdline.txt none d o", true },
		{ "bad\n", "current/cmdline.txt none d o", false },
		{ "good\n", "current/cmdline.txt none d o", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(loader_result_done) struct loader_result result = {};
		_cleanup_free_ char *new = NULL, *current = NULL, *entries = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		tree_write(&tree, "/boot/firmware/config.txt",
			   "[all]\nkernel=vmlinuz\nos_prefix=current/\n"
			   "[tryboot]\nos_prefix=new/\n");
		tree_write(&tree, "/boot/firmware/current/vmlinuz", "");
		tree_write(&tree, "/boot/firmware/current/bcm2711-rpi-4-b.dtb", "");
		tree_write(&tree, "/boot/firmware/current/cmdline.txt", "a\n");
		tree_write(&tree, "/boot/firmware/new/cmdline.txt", "b\n");
		tree_write(&tree, "/boot/firmware/new/state", cases[i].state);
		entries = loader_entries(&tree);
		assert_string_equal(entries, cases[i].entries);
		result = loader_run(&tree, BOOT_WANT_OFF);
		assert_int_equal(result.r, CHANGESET_CHANGED);
		current = tree_read(&tree, "/boot/firmware/current/cmdline.txt");
		new = tree_read(&tree, "/boot/firmware/new/cmdline.txt");
		assert_string_equal(current, "a cgroup_disable=memory\n");
		assert_string_equal(new, cases[i].both ? "b cgroup_disable=memory\n" : "b\n");
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_which),
		cmocka_unit_test(test_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
