/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "facts/configs-module.h"

#include <stdio.h>

/* Module directories as depmod makes them: the module is there, built in, not there. */
static void test_states(void **state _unused_)
{
	static const struct {
		const char *command; /* run in the module directory */
		enum configs_module want;
	} cases[] = {
		{ "true", CONFIGS_MODULE_MISSING },
		{ "echo kernel/kernel/configs.ko >modules.builtin", CONFIGS_MODULE_BUILTIN },
		{ "mkdir kernel && echo 'int x;' | cc -xc -c -o kernel/configs.ko -",
		  CONFIGS_MODULE_LOADABLE },
	};
	enum configs_module got;

	if (configs_module_find("/", &got) == -EOPNOTSUPP ||
	    system("command -v depmod >/dev/null") != 0 ||
	    system("command -v cc >/dev/null") != 0) {
		printf("SKIP configs-module: no libkmod, depmod or cc here\n");
		skip();
	}
	assert_int_equal(configs_module_find("/nonexistent", &got), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *command = NULL, *dir = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_LIVE);
		tree_mkdir(&tree, "lib/modules/6.1.0");
		assert_int_equal(str_printf(&command,
					    "cd %s/lib/modules/6.1.0 && touch modules.order "
					    "modules.builtin && %s && depmod -b %s 6.1.0 "
					    ">/dev/null 2>&1",
					    tree.path, cases[i].command, tree.path),
				 0);
		assert_int_equal(system(command), 0);
		assert_int_equal(str_printf(&dir, "%s/lib/modules/6.1.0", tree.path), 0);
		assert_int_equal(configs_module_find(dir, &got), 0);
		if (got != cases[i].want)
			fail_msg("case %zu: %d", i, got);
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_states) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
