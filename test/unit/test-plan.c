/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a run does, from the words of the command line. */

#include "tree.h"

#include "base/diag.h"
#include "bench/plan.h"

static void test_times(void **state _unused_)
{
	static const struct {
		const char *text;
		int r;
		uint64_t ns;
	} cases[] = {
		{ "10", 0, 10000000000 },
		{ "10s", 0, 10000000000 },
		{ "2min", 0, 120000000000 },
		{ "1h", 0, 3600000000000 },
		{ "250ms", 0, 250000000 },
		{ "0", 0, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1.5s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1d", -EINVAL, 0 },
		{ "9999999999h", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 0;

		if (plan_parse_time(cases[i].text, &ns) != cases[i].r || ns != cases[i].ns)
			fail_msg("\"%s\": %lu", cases[i].text, (unsigned long)ns);
	}
}

static void test_lists(void **state _unused_)
{
	static const struct {
		const char *text;
		int r;
		int list[4];
		size_t n;
	} cases[] = {
		{ "1", 0, { 1 }, 1 },
		{ "3,0-2", 0, { 3, 0, 1, 2 }, 4 },
		{ "", -EINVAL, {}, 0 },
		{ "1-", -EINVAL, {}, 0 },
		{ "-1", -EINVAL, {}, 0 },
		{ "2-1", -EINVAL, {}, 0 },
		{ "1,x", -EINVAL, {}, 0 },
		{ "8", -EINVAL, {}, 0 },
		{ "0-4000000000", -EINVAL, {}, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ int *list = NULL;
		size_t n = 0;

		if (plan_parse_list(cases[i].text, 8, &list, &n) != cases[i].r ||
		    n != cases[i].n)
			fail_msg("\"%s\": %zu", cases[i].text, n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(list[k], cases[i].list[k]);
	}
}

static void test_plans(void **state _unused_)
{
	static const struct {
		struct plan_request request;
		const char *first; /* workload, or NULL: an error */
		size_t n;	   /* 0: depends on the host's CPUs */
	} cases[] = {
		{ { .preset = PLAN_QUICK }, "anon", 3 },
		{ { .preset = PLAN_STANDARD }, "anon", 0 },
		{ { .workload = "kmem" }, "kmem-open", 3 },
		{ { .workload = "kmem,anon,kmem-open" }, "anon", 4 },
		{ { .workload = "all", .clients = "1-3" }, "anon", 14 },
		{ { .workload = "anon-large", .clients = "4,4,2" }, "anon-large", 2 },
		{ { .workload = "nope" }, NULL, 0 },
		{ { .clients = "0" }, NULL, 0 },
		{ { .clients = "1,0" }, NULL, 0 },
		{ { .clients = "129" }, NULL, 0 },
		{ { .rounds = "0" }, NULL, 0 },
		{ { .rounds = "100001" }, NULL, 0 },
		{ { .seed = "0" }, NULL, 0 },
		{ { .seed = "x" }, NULL, 0 },
		{ { .target = "1%" }, NULL, 0 }, /* only --thorough has one */
		{ { .preset = PLAN_THOROUGH, .target = "0" }, NULL, 0 },
		{ { .preset = PLAN_THOROUGH, .target = "nan" }, NULL, 0 },
		{ { .preset = PLAN_THOROUGH, .target = "0.5%" }, "anon", 0 },
		{ { .max_time = "soon" }, NULL, 0 },
		{ { .cpus = "9000" }, NULL, 0 },
	};
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_plan_ struct plan plan = {};
		_cleanup_diag_ struct diag diag = {};
		int r = plan_make(tree.root, &cases[i].request, &plan, &diag);

		if (!cases[i].first) {
			assert_int_equal(r, -EINVAL);
			assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
			continue;
		}
		if (r < 0)
			fail_msg("case %zu: %s", i, diag.n ? diag.messages[0].text : "?");
		assert_string_equal(plan.cases[0].workload->name, cases[i].first);
		if (cases[i].n > 0)
			assert_int_equal(plan.n_cases, cases[i].n);
		assert_true(plan.n_cpus > 0 && plan.seed > 0 && plan.bytes > 0);
	}
	tree_done(&tree);
}

/* CPU 0 takes interrupts and siblings share a core: both come last. */
static void test_cpus(void **state _unused_)
{
	_cleanup_plan_ struct plan plan = {};
	_cleanup_diag_ struct diag diag = {};
	const struct plan_request request = { .preset = PLAN_QUICK };
	struct tree tree;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	tree_init(&tree, ROOT_SNAPSHOT);
	tree_write(&tree, "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
		   "0-1\n");
	tree_write(&tree, "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
		   "0-1\n");
	assert_int_equal(plan_make(tree.root, &request, &plan, &diag), 0);
	/* others of this host, then 0, then its sibling */
	assert_int_equal(plan.cpus[plan.n_cpus - 1], 1);
	assert_int_equal(plan.cpus[plan.n_cpus - 2], 0);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
