/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "units/unit-cgroup.h"
#include "units/unit-setting.h"

#include <stdio.h>

#define GROUP "/system.slice/foo.service"

/* The tree as systemd leaves it: memory in the root, in system.slice, in the service. */
static void make_tree(struct tree *t)
{
	tree_init(t, ROOT_LIVE);
	tree_write(t, "t/cgroup.controllers", "cpu io memory pids\n");
	tree_write(t, "t/system.slice/cgroup.controllers", "cpu memory pids\n");
	tree_write(t, "t/system.slice/memory.current", "4096\n");
	tree_write(t, "t" GROUP "/cgroup.controllers", "memory pids\n");
	tree_write(t, "t" GROUP "/cgroup.procs", "17\n");
	tree_write(t, "t" GROUP "/memory.current", "4096\n");
	tree_write(t, "t" GROUP "/memory.max", "1073741824\n");
	tree_write(t, "t" GROUP "/memory.high", "max\n");
	tree_write(t, "t" GROUP "/memory.min", "0\n");
	tree_write(t, "t" GROUP "/memory.zswap.writeback", "0\n");
}

static void look(const struct tree *t, bool v1, const char *cgroup, const char *setting,
		 uint64_t want, enum unit_hold hold, uint64_t value, const char *stopped)
{
	struct unit_cgroup_answer answer;

	assert_int_equal(unit_cgroup_look(t->root, "/t", v1, cgroup, unit_setting_find(setting),
					  want, &answer),
			 0);
	if (answer.hold != hold)
		print_message("%s=%llu in %s\n", setting, (unsigned long long)want, cgroup);
	assert_int_equal(answer.hold, hold);
	if (hold == UNIT_HOLDS_OTHER)
		assert_true(answer.value == value);
	assert_true(streq_ptr(answer.stopped_below, stopped));
	unit_cgroup_answer_done(&answer);
}

static void test_values(void **state _unused_)
{
	struct tree t;
	const uint64_t gib = UINT64_C(1) << 30;

	make_tree(&t);
	look(&t, false, GROUP, "MemoryMax", gib, UNIT_HOLDS, 0, NULL);
	look(&t, false, GROUP, "MemoryMax", gib + 4095, UNIT_HOLDS, 0, NULL);
	look(&t, false, GROUP, "MemoryMax", gib + 4096, UNIT_HOLDS_OTHER, gib, NULL);
	look(&t, false, GROUP, "MemoryMax", UINT64_MAX, UNIT_HOLDS_OTHER, gib, NULL);
	look(&t, false, GROUP, "MemoryLimit", gib, UNIT_HOLDS, 0, NULL);
	look(&t, false, GROUP, "MemoryHigh", UINT64_MAX, UNIT_HOLDS, 0, NULL);
	look(&t, false, GROUP, "MemoryHigh", UINT64_C(1) << 63, UNIT_HOLDS, 0, NULL);
	look(&t, false, GROUP, "MemoryHigh", gib, UNIT_HOLDS_OTHER, UINT64_MAX, NULL);
	look(&t, false, GROUP, "MemoryMin", 0, UNIT_HOLDS, 0, NULL);
	look(&t, false, GROUP, "MemoryMin", 1, UNIT_HOLDS, 0, NULL); /* less than a page */
	look(&t, false, GROUP, "MemoryMin", 8192, UNIT_HOLDS_OTHER, 0, NULL);
	look(&t, false, GROUP, "MemoryZSwapWriteback", 0, UNIT_HOLDS, 0, NULL);
	look(&t, false, GROUP, "MemoryZSwapWriteback", 1, UNIT_HOLDS_OTHER, 0, NULL);
	/* no swap accounting */
	look(&t, false, GROUP, "MemorySwapMax", 0, UNIT_HOLDS_NO_FILE, 0, NULL);
	/* no file of their own */
	look(&t, false, GROUP, "StartupMemoryMax", gib, UNIT_HOLDS, 0, NULL);
	look(&t, false, GROUP, "ManagedOOMSwap", 0, UNIT_HOLDS, 0, NULL);
	/* the unit has stopped */
	look(&t, false, "/system.slice/gone.service", "MemoryMax", gib, UNIT_HOLD_UNKNOWN, 0,
	     NULL);
	look(&t, false, "/system.slice/gone.service", "ManagedOOMSwap", gib, UNIT_HOLD_UNKNOWN,
	     0, NULL);
	tree_write(&t, "t" GROUP "/memory.max", "nonsense\n");
	look(&t, false, GROUP, "MemoryMax", gib, UNIT_HOLD_UNKNOWN, 0, NULL);
	tree_done(&t);
}

static void test_where_it_stops(void **state _unused_)
{
	struct tree t;

	tree_init(&t, ROOT_LIVE);
	tree_write(&t, "t/cgroup.controllers", "cpu pids\n");
	tree_write(&t, "t/a.slice/cgroup.controllers", "pids\n");
	tree_write(&t, "t/a.slice/b.service/cgroup.procs", "1\n");
	tree_write(&t, "t/a.slice/b.service/cgroup.controllers", "\n");
	/* the name must match whole, and pressure is not memory */
	tree_write(&t, "t/a.slice/b.service/memory.pressure", "some avg10=0.00\n");
	look(&t, false, "/a.slice/b.service", "MemoryMax", 4096, UNIT_HOLDS_NOT_ON, 0, NULL);
	tree_write(&t, "t/cgroup.controllers", "cpu memory2 pids\n");
	look(&t, false, "/a.slice/b.service", "MemoryMax", 4096, UNIT_HOLDS_NOT_ON, 0, NULL);
	tree_write(&t, "t/cgroup.controllers", "cpu memory pids\n");
	look(&t, false, "/a.slice/b.service", "MemoryMax", 4096, UNIT_HOLDS_NOT_ON, 0, "/");
	look(&t, false, "/a.slice/b.service", "OOMPolicy", 0, UNIT_HOLDS_NOT_ON, 0, "/");
	tree_write(&t, "t/a.slice/cgroup.controllers", "pids memory\n");
	look(&t, false, "/a.slice/b.service", "MemoryMax", 4096, UNIT_HOLDS_NOT_ON, 0,
	     "/a.slice");
	tree_done(&t);
}

static void test_v1(void **state _unused_)
{
	struct tree t;

	tree_init(&t, ROOT_LIVE);
	tree_write(&t, "t" GROUP "/memory.limit_in_bytes", "1073741824\n");
	tree_write(&t, "t" GROUP "/memory.usage_in_bytes", "4096\n");
	tree_write(&t, "t/system.slice/cgroup.procs", "17\n");
	look(&t, true, GROUP, "MemoryMax", UINT64_C(1) << 30, UNIT_HOLDS, 0, NULL);
	look(&t, true, GROUP, "MemoryLimit", 4096, UNIT_HOLDS_OTHER, UINT64_C(1) << 30, NULL);
	look(&t, true, GROUP, "MemoryHigh", 4096, UNIT_HOLDS_NO_FILE, 0, NULL);
	look(&t, true, GROUP, "StartupMemoryMax", 4096, UNIT_HOLDS_NO_FILE, 0, NULL);
	tree_write(&t, "t" GROUP "/memory.limit_in_bytes", "9223372036854771712\n");
	look(&t, true, GROUP, "MemoryMax", UINT64_MAX, UNIT_HOLDS, 0, NULL);
	look(&t, true, "/system.slice/bar.service", "MemoryMax", 4096, UNIT_HOLDS_NOT_ON, 0,
	     NULL);
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_where_it_stops),
		cmocka_unit_test(test_v1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
