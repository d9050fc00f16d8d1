/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/dlopen.h"
#include "base/str.h"

#include <math.h>

#define SYMBOLS(_) _(cos) _(sqrt)
DLOPEN_LIBRARY(libmath, "suggested", "libm.so.6", "sums", "for this test", SYMBOLS);

static void test_open(void **state _unused_)
{
	static const char *const none[] = { "no_such_function_at_all", NULL };
	static const char *const one[] = { "cos", NULL };
	struct libmath lib;
	void *table[1];

	assert_int_equal(dlopen_symbols("libno-such-library.so.0", one, table), -EOPNOTSUPP);
	if (libmath_open(&lib) < 0)
		skip(); /* musl has none of that name */
	assert_true(lib.sqrt(lib.cos(0)) == 1);
	assert_int_equal(dlopen_symbols("libm.so.6", none, table), -EOPNOTSUPP);
}

static void test_note(void **state _unused_)
{
	static const char want[] = "[{\"feature\":\"sums\",\"description\":\"for this test\","
				   "\"priority\":\"suggested\",\"soname\":[\"libm.so.6\"]}]";

	assert_int_equal(libmath_note.type, 0x407c0c0a);
	assert_string_equal(libmath_note.name, "FDO");
	assert_string_equal(libmath_note.json, want);
	assert_int_equal(libmath_note.json_size, sizeof(want));
	/* the next note follows without a gap */
	assert_int_equal(sizeof(libmath_note) % 4, 0);
	assert_int_equal((uintptr_t)&libmath_note % 4, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
