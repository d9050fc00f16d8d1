/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "need-tree.h"

#include "base/diag.h"
#include "base/str.h"

#include <stdio.h>

/* In use first, then by level, then by name. */
static void test_order(void **state _unused_)
{
	static const struct {
		const char *name;
		const char *level;
		bool in_use;
	} entries[] = { { "a", "monitor", true },  { "b", "required", false },
			{ "c", "degraded", true }, { "d", "limits", true },
			{ "e", "limits", true },   { "f", "required", true } };
	_cleanup_needs_ struct needs needs = {};
	_cleanup_diag_ struct diag diag = {};
	_cleanup_strbuf_ struct strbuf order = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, "there", "");
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		char path[64], text[128];

		(void)snprintf(path, sizeof(path), CATALOGUE "%s.conf",
			       entries[i].name); /* fits */
		(void)snprintf(text, sizeof(text),
			       "[Need]\nTitle=T\nEffect=E\nLevel=%s\n[%s]\nPath=/there\n",
			       entries[i].level,
			       entries[i].in_use ? "InUse" : "Installed"); /* fits */
		tree_write(&tree, path, text);
	}
	assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
	for (size_t i = 0; i < needs.n; i++)
		strbuf_adds(&order, needs.items[i].id);
	assert_string_equal(order.data, "fdecab");
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
