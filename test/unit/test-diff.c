/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "boot/diff.h"

static char *make_diff(const char *old, const char *new)
{
	struct strbuf out = {};
	char *ret;

	diff_unified(&out, old ? "/f" : NULL, old ? old : "", old ? strlen(old) : 0,
		     new ? "/f" : NULL, new ? new : "", new ? strlen(new) : 0);
	assert_int_equal(strbuf_take(&out, &ret, NULL), 0);
	return ret;
}

static void test_texts(void **state _unused_)
{
	static const struct {
		const char *old, *new, *want;
	} cases[] = {
		{ "a\n", "a\n", "" },
		{ NULL, "a\nb\n", "--- /dev/null\n+++ /f\n@@ -0,0 +1,2 @@\n+a\n+b\n" },
		{ "a\n", NULL, "--- /f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n" },
		{ "a\nb\nc\n", "a\nB\nc\n",
		  "--- /f\n+++ /f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" },
		{ "a", "a\n",
		  "--- /f\n+++ /f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = make_diff(cases[i].old, cases[i].new);

		if (!streq(got, cases[i].want))
			fail_msg("case %zu: got\n%swanted\n%s", i, got, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
