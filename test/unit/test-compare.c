/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Boots against boots, from made-up files. */

#include "made-result.h"
#include "tree.h"

#include "base/diag.h"
#include "bench/compare.h"
#include "bench/result.h"

#include <math.h>
#include <stdio.h>

struct made_boot {
	const char *memcg;
	cost_fn *cost;
};

/* Writes boots as files below the tree; returns their paths. */
static char **write_boots(const struct tree *tree, const struct made_boot *boots, size_t n)
{
	char **paths = calloc(n, sizeof(*paths));

	assert_non_null(paths);
	for (size_t i = 0; i < n; i++) {
		_cleanup_result_ struct result result = {};
		_cleanup_free_ char *text = NULL;
		char name[32];

		(void)snprintf(name, sizeof(name), "/boot-%zu", i);
		make_result(&result, boots[i].memcg, name, streq(boots[i].memcg, "off") ? 2 : 3,
			    10, i + 1, boots[i].cost);
		text = to_text(&result);
		tree_write(tree, name, text);
		assert_true(str_printf(&paths[i], "%s%s", tree->path, name) >= 0);
	}
	return paths;
}

static void free_paths(char **paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(paths[i]);
	free(paths);
}

static void test_compare(void **state _unused_)
{
	const struct made_boot boots[] = {
		{ "on", on_cost },   { "off", off_cost }, { "on", on_cost },
		{ "off", off_cost }, { "off", off_cost }, { "on", on_cost },
		{ "on", on_cost },   { "off", off_cost }, { "on", on_cost },
		{ "off", off_cost },
	};
	struct tree tree;
	char **paths;

	tree_init(&tree, ROOT_OFFLINE);
	paths = write_boots(&tree, boots, ARRAY_SIZE(boots));
	{
		_cleanup_comparison_ struct comparison c = {};
		_cleanup_diag_ struct diag diag = {};

		assert_int_equal(compare_files(paths, ARRAY_SIZE(boots), false, &c, &diag), 0);
		assert_true(c.on_off);
		assert_string_equal(c.sides[0].name, "memcg off");
		assert_int_equal(c.sides[1].boots, 5);
		assert_int_equal(c.n, 2);
		assert_string_equal(c.rows[0].arm, "root");
		assert_string_equal(c.rows[0].base, "here");
		assert_near(c.rows[0].d.value, log(1000 / 900.0), 0.01);
		assert_near(c.rows[1].d.value, log(1050 / 900.0), 0.01);
		assert_int_equal(c.rows[1].verdict, STATS_COST);
		assert_true(c.has_meaning);
		assert_near(c.meaning.cost_ns, 150, 10);
	}
	{
		/* three against three: never significant */
		_cleanup_comparison_ struct comparison c = {};
		_cleanup_diag_ struct diag diag = {};

		assert_int_equal(compare_files(paths, 6, false, &c, &diag), 0);
		assert_int_equal(c.rows[0].verdict, STATS_TOO_FEW);
		assert_true(comparison_is_noisy(&c));
		/* with two rows it takes five */
		assert_int_equal(c.boots_needed, 5);
	}
	free_paths(paths, ARRAY_SIZE(boots));
	tree_done(&tree);
}

/* The same boot measured twice is one boot. */
static void test_compare_same_boot(void **state _unused_)
{
	const struct made_boot boots[] = { { "on", on_cost }, { "off", off_cost } };
	struct tree tree;
	char **paths, *twice[4];

	tree_init(&tree, ROOT_OFFLINE);
	paths = write_boots(&tree, boots, 2);
	twice[0] = twice[2] = paths[0];
	twice[1] = twice[3] = paths[1];
	{
		_cleanup_comparison_ struct comparison c = {};
		_cleanup_diag_ struct diag diag = {};

		assert_int_equal(compare_files(twice, 4, false, &c, &diag), 0);
		assert_int_equal(c.sides[0].boots, 1);
		assert_int_equal(c.rows[0].n[0], 1);
	}
	free_paths(paths, 2);
	tree_done(&tree);
}

static void test_not_comparable(void **state _unused_)
{
	static const struct {
		const char *from, *to;
		bool forcible;
	} changes[] = {
		{ "\"kernel\":\"6.1.0\"", "\"kernel\":\"6.1.1\"", true },
		{ "\"cpus\":2", "\"cpus\":4", true },
		{ "\"memory_kb\":1000000", "\"memory_kb\":2000000", true },
		{ "quiet cgroup_disable=memory", "cgroup_disable=memory mitigations=off",
		  true },
		{ "\"memcg\":\"off\"", "\"memcg\":\"on\"", false },
	};
	const struct made_boot boots[] = { { "on", on_cost }, { "off", off_cost } };

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_comparison_ struct comparison c = {}, forced = {};
		_cleanup_diag_ struct diag diag = {}, forced_diag = {};
		_cleanup_free_ char *text = NULL, *changed = NULL;
		struct tree tree;
		char **paths;
		const char *at;

		tree_init(&tree, ROOT_OFFLINE);
		paths = write_boots(&tree, boots, 2);
		text = tree_read(&tree, "/boot-1");
		at = strstr(text, changes[i].from);
		assert_non_null(at);
		assert_true(str_printf(&changed, "%.*s%s%s", (int)(at - text), text,
				       changes[i].to, at + strlen(changes[i].from)) >= 0);
		tree_write(&tree, "/boot-1", changed);
		if (compare_files(paths, 2, false, &c, &diag) != -EXDEV)
			fail_msg("%s was compared", changes[i].to);
		assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
		assert_int_equal(compare_files(paths, 2, true, &forced, &forced_diag),
				 changes[i].forcible ? 0 : -EXDEV);
		assert_int_equal(forced.warnings.n, changes[i].forcible);
		free_paths(paths, 2);
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_compare_same_boot),
		cmocka_unit_test(test_not_comparable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
