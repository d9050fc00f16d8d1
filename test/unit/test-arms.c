/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Places to measure in, on made-up hosts. */

#include "tree.h"

#include "base/diag.h"
#include "bench/arms.h"
#include "facts/running.h"

static void test_depth(void **state _unused_)
{
	_cleanup_free_ char *own = NULL;
	struct tree tree;

	assert_int_equal(scratch_depth(""), 0);
	assert_int_equal(scratch_depth("/"), 0);
	assert_int_equal(scratch_depth("/a"), 1);
	assert_int_equal(scratch_depth("/a/b/c"), 3);
	tree_init(&tree, ROOT_SNAPSHOT);
	assert_int_equal(arms_usual_depth(tree.root, true), 1);
	/* a kernel thread, two services and a session: the middle one decides */
	tree_write(&tree, "/proc/2/cgroup", "0::/\n");
	tree_write(&tree, "/proc/10/cgroup", "0::/system.slice/a.service\n");
	tree_write(&tree, "/proc/11/cgroup", "0::/system.slice/b.service\n");
	tree_write(&tree, "/proc/12/cgroup", "0::/user.slice/user-0.slice/session-1.scope\n");
	tree_write(&tree, "/proc/13/cgroup",
		   "9:name=systemd:/x\n4:cpu,memory:/a/b:c/d\n2:memory2:/no\n0::/u\n");
	assert_int_equal(arms_usual_depth(tree.root, true), 2);
	assert_int_equal(arms_own_group(tree.root, "13", false, &own), 0);
	assert_string_equal(own, "/a/b:c/d");
	assert_int_equal(arms_own_group(tree.root, "10", false, &own), -ENOENT);
	tree_done(&tree);
}

/* Where the root cgroup cannot be used there is one place, with its control and the reason. */
static void test_here(void **state _unused_)
{
	static const enum memcg_state states[] = { MEMCG_ON, MEMCG_OFF, MEMCG_UNAVAILABLE,
						   MEMCG_UNKNOWN };
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		const struct running running = { .memcg = states[i] };
		const struct arms_request request = { .no_cgroup = states[i] == MEMCG_ON };
		_cleanup_diag_ struct diag diag = {};
		struct arms arms = {};

		assert_int_equal(arms_open(tree.root, &running, &request, &arms, &diag), 0);
		assert_int_equal(arms.n, 2);
		assert_string_equal(arms.items[0].name, "here");
		assert_true(arms.items[1].control);
		assert_non_null(arms.why_here);
		arms_close(&arms, &diag);
	}
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
