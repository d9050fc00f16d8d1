/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"

static void test_add_and_move(void **state _unused_)
{
	_cleanup_diag_ struct diag a = {}, b = {};
	const struct diag_where where = {
		.path = "/etc/x",
		.line = 3,
		.column = 7,
		.source = "Memcg=of\nnext",
		.source_size = 8,
		.hint = "on or off",
	};

	diag_error(&a, &where, "unknown value \"%s\"", "of");
	for (int i = 0; i < 20; i++)
		diag_warning(&b, NULL, "number %d", i);
	diag_move(&a, &b);
	assert_int_equal(a.n, 21);
	assert_int_equal(b.n, 0);
	assert_int_equal(diag_count(&a, DIAG_ERROR), 1);
	assert_int_equal(diag_count(&a, DIAG_WARNING), 20);
	assert_string_equal(a.messages[0].text, "unknown value \"of\"");
	assert_string_equal(a.messages[0].source, "Memcg=of");
	assert_string_equal(a.messages[20].text, "number 19");
	assert_null(a.messages[20].path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_and_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
