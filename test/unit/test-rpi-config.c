/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "boot/rpi-config.h"

#include <stdio.h>

#define PI4 "Raspberry Pi 4 Model B Rev 1.4"

static void test_filters(void **state _unused_)
{
	static const struct {
		const char *filter;
		const char *model;
		int want;
	} cases[] = {
		{ "pi4", PI4, 1 },
		{ "PI4", PI4, 1 },
		{ "pi3", PI4, 0 },
		{ "pi400", PI4, 0 },
		{ "pi4", "Raspberry Pi 400 Rev 1.0", 1 },
		{ "pi4", NULL, -1 },
		{ "cm4", "Raspberry Pi Compute Module 4 Rev 1.0", 1 },
		{ "pi4", "Raspberry Pi Compute Module 4 Rev 1.0", 1 },
		{ "cm4", "Raspberry Pi Compute Module 4S Rev 1.0", 0 },
		{ "pi0w", "Raspberry Pi Zero 2 W Rev 1.0", 1 },
		{ "pi02", "Raspberry Pi Zero W Rev 1.1", 0 },
		{ "pi9", PI4, -1 },
		{ "pi4", "Some Board", -1 },
		{ "none", PI4, 0 },
		{ "tryboot", PI4, 0 },
		{ "gpio4=1", PI4, -1 },
		{ "EDID=X", PI4, -1 },
		{ "0x1234", PI4, -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (rpi_filter_holds(cases[i].filter, strlen(cases[i].filter),
				     cases[i].model) != cases[i].want)
			fail_msg("[%s] on %s", cases[i].filter, cases[i].model);
}

static void test_config(void **state _unused_)
{
	static const struct {
		const char *text;
		const char *model;
		const char *want; /* below /boot/firmware; NULL: cannot be told */
		unsigned line;	  /* that is to blame */
	} cases[] = {
		{ "", NULL, "cmdline.txt" },
		{ "# cmdline=x\narm_64bit=1\n", NULL, "cmdline.txt" },
		{ "cmdline=other.txt\n", NULL, "other.txt" },
		{ "cmdline=other.txt\r\n", NULL, "other.txt" },
		{ "  cmdline=a.txt \ncmdline=b.txt", NULL, "b.txt" },
		{ "[pi4]\ncmdline=four.txt\n", PI4, "four.txt" },
		{ "[pi3]\ncmdline=three.txt\n", PI4, "cmdline.txt" },
		{ "[pi4]\ncmdline=four.txt\n[all]\n", NULL, NULL, 2 },
		/* a later one that is certain settles it */
		{ "[pi4]\ncmdline=four.txt\n[all]\ncmdline=all.txt\n", NULL, "all.txt" },
		{ "cmdline=a.txt\n[pi4]\ncmdline=a.txt\n", NULL, "a.txt" },
		{ "[pi4]\narm_freq=2000\n", NULL, "cmdline.txt" },
		{ "[none]\ncmdline=x.txt\n", NULL, "cmdline.txt" },
		{ "[none]\n[pi4]\ncmdline=x.txt\n", PI4, "cmdline.txt" },
		{ "[none]\n[all]\ncmdline=x.txt\n", PI4, "x.txt" },
		{ "[tryboot]\ncmdline=x.txt\n", NULL, "cmdline.txt" },
		/* kinds add up, the same kind replaces */
		{ "[gpio4=1]\n[pi4]\ncmdline=x.txt\n", PI4, NULL, 3 },
		{ "[pi3]\n[gpio4=1]\ncmdline=x.txt\n", PI4, "cmdline.txt" },
		{ "[pi3]\n[pi4]\ncmdline=x.txt\n", PI4, "x.txt" },
		{ "[pi4\ncmdline=x.txt\n", PI4, "x.txt" },
		/* the prefix counts only where kernel and device tree are */
		{ "os_prefix=current/\n", NULL, "current/cmdline.txt" },
		{ "os_prefix=missing/\n", NULL, "cmdline.txt" },
		{ "os_prefix=half/\n", NULL, NULL },
		{ "os_prefix=current/\nkernel=vmlinuz\n", NULL, "current/cmdline.txt" },
		{ "os_prefix=current/\nkernel=nope.img\n", NULL, NULL },
		{ "os_prefix=current/\ncmdline=a.txt\n", NULL, "current/a.txt" },
		{ "os_prefix=current/\ncmdline=/a.txt\n", NULL, "a.txt" },
		{ "[pi5]\nos_prefix=current/\n", NULL, NULL, 2 },
		{ "os_prefix=*/\n", NULL, "cmdline.txt" },
		{ "include more.txt\n", NULL, "included.txt" },
		{ "[none]\ninclude more.txt\n", NULL, "cmdline.txt" },
		{ "include loop.txt\n", NULL, NULL },
		{ "include nothing-here.txt\n", NULL, "cmdline.txt" },
		{ "boot_ramdisk=1\n", NULL, NULL },
		{ "boot_ramdisk=0\n", NULL, "cmdline.txt" },
		{ "cmdline=../x\n", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_rpi_config_ struct rpi_config config = {};
		_cleanup_free_ char *want = NULL;
		struct tree tree;
		int r;

		tree_init(&tree, ROOT_OFFLINE);
		tree_write(&tree, "/boot/firmware/config.txt", cases[i].text);
		tree_write(&tree, "/boot/firmware/current/kernel8.img", "");
		tree_write(&tree, "/boot/firmware/current/vmlinuz", "");
		tree_write(&tree, "/boot/firmware/current/bcm2711-rpi-4-b.dtb", "");
		tree_write(&tree, "/boot/firmware/half/kernel8.img", "");
		tree_write(&tree, "/boot/firmware/more.txt", "cmdline=included.txt\n");
		tree_write(&tree, "/boot/firmware/loop.txt", "include loop.txt\n");
		r = rpi_config_load(tree.root, "/boot/firmware", cases[i].model, &config);
		if (cases[i].want)
			assert_int_equal(str_printf(&want, "/boot/firmware/%s", cases[i].want),
					 0);
		if (!streq_ptr(config.cmdline_path, want))
			fail_msg("case %zu: %s, not %s", i, config.cmdline_path, want);
		assert_int_equal(r < 0, strstr(cases[i].text, "loop") != NULL);
		assert_int_equal(!config.why, !!want);
		assert_int_equal(config.why_line, cases[i].line);
		tree_done(&tree);
	}
}

static void test_missing(void **state _unused_)
{
	_cleanup_rpi_config_ struct rpi_config config = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	assert_int_equal(rpi_config_load(tree.root, "/boot", NULL, &config), 0);
	assert_string_equal(config.cmdline_path, "/boot/cmdline.txt");
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
