/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "facts/release.h"

static void test_release(void **state _unused_)
{
	struct release_version v;

	assert_int_equal(release_parse("6.1.0-44-amd64", &v), 0);
	assert_true(v.major == 6 && v.minor == 1 && v.patch == 0);
	assert_int_equal(release_parse("6.18.33.1-microsoft-standard-WSL2", &v), 0);
	assert_true(v.major == 6 && v.minor == 18 && v.patch == 33);
	assert_int_equal(release_parse("6.12-rc3", &v), 0);
	assert_true(v.minor == 12 && v.patch == 0);
	assert_int_equal(release_parse("linux", &v), -EINVAL);
	assert_int_equal(release_parse("6", &v), -EINVAL);
	assert_int_equal(release_parse("0-rescue-0123", &v), -EINVAL);
	assert_int_equal(release_parse("99999999.1", &v), -EINVAL);
	assert_true(release_is_before("6.10.99", 6, 11));
	assert_false(release_is_before("6.11.0-rc1", 6, 11));
	assert_true(release_is_from("6.11", 6, 11));
	assert_true(release_is_from("7.2.8", 6, 11));
	assert_true(release_is_before("3.10.14", 4, 5));
	/* what is no version is neither */
	assert_false(release_is_before("linux", 6, 11));
	assert_false(release_is_from("linux", 6, 11));
	assert_true(release_compare("6.1.0-9-amd64", "6.1.0-44-amd64") < 0);
	assert_true(release_is_valid("6.1.0-44-amd64"));
	assert_false(release_is_valid(""));
	assert_false(release_is_valid("../../etc"));
	assert_false(release_is_valid(".."));
	assert_false(release_is_valid("6.1 0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
