/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "facts/machine.h"

static void test_detect(void **state _unused_)
{
	static const struct {
		const char *head;
		const char *want;
	} cases[] = {
		{ "\x7f"
		  "ELF\2\1\1\0________\2\0\x3e\0",
		  "x86_64" },
		{ "\x7f"
		  "ELF\2\1\1\0________\3\0\xb7\0",
		  "aarch64" },
		{ "\x7f"
		  "ELF\1\1\1\0________\2\0\x28\0",
		  "armv7l" },
		{ "\x7f"
		  "ELF\2\2\1\0________\0\2\0\x16",
		  "s390x" },
		{ "\x7f"
		  "ELF\2\1\1\0________\2\0\xff\xff",
		  NULL },
		{ "#!/bin/sh -x -x -x -x", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *name = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		tree_write_n(&tree, "usr/bin/sh", cases[i].head, 20);
		tree_symlink(&tree, "usr/bin", "bin");
		assert_int_equal(machine_detect(tree.root, &name), 0);
		if (!streq_ptr(name, cases[i].want))
			fail_msg("case %zu: %s", i, name);
		tree_done(&tree);
	}
}

static void test_line(void **state _unused_)
{
	assert_int_equal(machine_line_max("x86_64", NULL), 2047);
	assert_int_equal(machine_line_max("i686", NULL), 2047);
	assert_int_equal(machine_line_max("armv7l", NULL), 1023);
	assert_int_equal(machine_line_max("aarch64", NULL), 2047);
	assert_int_equal(machine_line_max("ppc64le", NULL), 2047);
	assert_int_equal(machine_line_max("s390x", NULL), 4095);
	assert_int_equal(machine_line_max("sparc64", NULL), 2047);
	assert_int_equal(machine_line_max("sparc", NULL), 255);
	assert_int_equal(machine_line_max("riscv64", "6.12.5"), 1023);
	assert_int_equal(machine_line_max("riscv64", "7.2.8"), 2047);
	assert_int_equal(machine_line_max("riscv64", NULL), 1023);
	assert_int_equal(machine_line_max("vax", NULL), 0);
	assert_int_equal(machine_line_max(NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_detect),
		cmocka_unit_test(test_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
