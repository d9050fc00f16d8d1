/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "facts/kernel-log.h"

#include <string.h>

static void test_log(void **state _unused_)
{
	static const struct {
		const char *log;
		enum answer answer;
	} cases[] = {
		{ "", ANSWER_UNKNOWN },
		{ "<6>[    0.000000] cgroup: Enabling memory control group subsystem\n",
		  ANSWER_YES },
		/* 5.12 and before */
		{ "<6>[    0.000000] Enabling memory control group subsystem", ANSWER_YES },
		{ "<6>[    0.000000][    T0] cgroup: Enabling cpuset control group "
		  "subsystem\n",
		  ANSWER_YES },
		{ "<6>[    0.000000] cgroup: Disabling memory control group subsystem\n",
		  ANSWER_UNKNOWN },
		{ "<6>Enabling memory control group subsystem\n", ANSWER_YES },
		/* a program's words: facility 1 */
		{ "<14>[    3.1] cgroup: Enabling memory control group subsystem\n",
		  ANSWER_UNKNOWN },
		{ "[    3.1] cgroup: Enabling memory control group subsystem\n",
		  ANSWER_UNKNOWN },
		{ "<6>[    3.1] x: Enabling memory control group subsystem\n", ANSWER_UNKNOWN },
		{ "<6>[    3.1] cgroup: Enabling memory control group subsystems\n",
		  ANSWER_UNKNOWN },
		/* 5.15 and later; 5.14 */
		{ "<5>[    0.1] Unknown kernel command line parameters \"splash "
		  "cgroup_memory=1 cgroup_enable=memory\", will be passed to user space.\n",
		  ANSWER_NO },
		{ "<5>[    0.1] Unknown kernel command line parameters "
		  "\"cgroup-enable=memory\", will be passed to user space.\n",
		  ANSWER_NO },
		{ "<5>[    0.1] Unknown command line parameters: cgroup_enable=memory\n",
		  ANSWER_NO },
		{ "<5>[    0.1] Unknown kernel command line parameters "
		  "\"xcgroup_enable=memory cgroup_enable\", will be passed to user space.\n",
		  ANSWER_UNKNOWN },
		{ "<5>[    0.1] Kernel command line: cgroup_enable=memory\n", ANSWER_UNKNOWN },
		/* cut anywhere */
		{ "<6>[    0.000000", ANSWER_UNKNOWN },
		{ "<", ANSWER_UNKNOWN },
		{ "<6", ANSWER_UNKNOWN },
		{ "<6>", ANSWER_UNKNOWN },
		{ "\n\n<999999999999999999>[x] Enabling y", ANSWER_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (kernel_log_honours_enable(cases[i].log, strlen(cases[i].log)) !=
		    cases[i].answer)
			fail_msg("%s", cases[i].log);
}

static void test_environment(void **state _unused_)
{
	static const char no[] = "HOME=/\0cgroup_enable=memory\0TERM=linux";
	static const char other[] = "HOME=cgroup_enable=memory\0cgroup_enabled=memory\0";
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	assert_int_equal(kernel_environment_honours_enable(tree.root), ANSWER_UNKNOWN);
	tree_write_n(&tree, "proc/1/environ", no, sizeof(no) - 1);
	assert_int_equal(kernel_environment_honours_enable(tree.root), ANSWER_NO);
	tree_write_n(&tree, "proc/1/environ", other, sizeof(other) - 1);
	assert_int_equal(kernel_environment_honours_enable(tree.root), ANSWER_UNKNOWN);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
