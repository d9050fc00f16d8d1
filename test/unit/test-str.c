/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"

#include <limits.h>

static void test_glob(void **state _unused_)
{
	static const struct {
		const char *pattern, *s;
		bool match;
	} cases[] = {
		{ "", "", true },
		{ "*", "", true },
		{ "a*", "abc", true },
		{ "a*c", "abcbc", true },
		{ "a*d", "abc", false },
		{ "?", "", false },
		{ "?b", "ab", true },
		{ "[a-c]x", "bx", true },
		{ "[!a-c]x", "bx", false },
		{ "[]]", "]", true },
		{ "[", "[", true },
		{ "[a", "[a", true },
		{ "k3s*.service", "k3s-agent.service", true },
		{ "*.conf", "a.confx", false },
		{ "**a**", "bbbab", true },
		{ "a", "", false },
		{ "*x*y*z", "1x2y3z", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (str_match_glob(cases[i].pattern, cases[i].s) != cases[i].match)
			fail_msg("%s against %s", cases[i].pattern, cases[i].s);
}

static void test_utf8_and_escape(void **state _unused_)
{
	static const struct {
		const char *in, *out;
		bool utf8;
	} cases[] = {
		{ "plain", "plain", true },
		{ "tab\there", "tab\\x09here", true },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", true },
		{ "\xff", "\\xff", false },
		{ "12345678\xc3", "12345678\\xc3", false },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80", false }, /* a surrogate */
		{ "\xc0\x80", "\\xc0\\x80", false },	      /* overlong */
		{ "\xc2\x9b"
		  "31m",
		  "\\xc2\\x9b31m", true }, /* C1 CSI */
		{ "\x1b[31m", "\\x1b[31m", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *out = str_escape(cases[i].in, strlen(cases[i].in));

		assert_string_equal(out, cases[i].out);
		assert_int_equal(str_is_utf8(cases[i].in, strlen(cases[i].in)), cases[i].utf8);
	}
}

static const char *get_item(const void *v, size_t i)
{
	return ((const struct strv *)v)->items[i];
}

/* The first of equals, and where what is not there would be. */
static void test_lower_bound(void **state _unused_)
{
	static const struct {
		const char *s;
		size_t want;
	} cases[] = {
		{ "", 0 },   { "a", 0 }, { "b", 0 }, { "c", 1 },    { "d", 1 },
		{ "da", 4 }, { "e", 4 }, { "f", 5 }, { "\xff", 5 },
	};
	_cleanup_strv_ struct strv v = {};

	assert_int_equal(str_lower_bound("a", 0, get_item, &v), 0);
	strv_split(&v, "b d d d e", " ");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (str_lower_bound(cases[i].s, v.n, get_item, &v) != cases[i].want)
			fail_msg("\"%s\" is not found at %zu", cases[i].s, cases[i].want);
}

static void test_parse(void **state _unused_)
{
	uint64_t u;
	bool b;

	assert_int_equal(str_parse_u64("18446744073709551615", &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(str_parse_u64("18446744073709551616", &u), -ERANGE);
	assert_int_equal(str_parse_u64("", &u), -EINVAL);
	assert_int_equal(str_parse_u64("+1", &u), -EINVAL);
	assert_int_equal(str_parse_u64(" 1", &u), -EINVAL);
	assert_int_equal(str_parse_bool("Yes", &b), 0);
	assert_true(b);
	assert_int_equal(str_parse_bool("oFF", &b), 0);
	assert_false(b);
	assert_int_equal(str_parse_bool("2", &b), -EINVAL);
}

static void test_buffers(void **state _unused_)
{
	_cleanup_strbuf_ struct strbuf buf = {};
	_cleanup_strv_ struct strv v = {};
	_cleanup_free_ char *text = NULL;
	size_t size;

	for (int i = 0; i < 1000; i++)
		strbuf_addf(&buf, "%d,", i);
	assert_int_equal(strbuf_take(&buf, &text, &size), 0);
	assert_int_equal(size, strlen(text));
	assert_non_null(strstr(text, ",999,"));
	strv_split(&v, " b  a\tb ", " \t");
	assert_int_equal(v.n, 3);
	strv_sort(&v);
	assert_string_equal(v.items[0], "a");
	assert_false(strv_add_unique(&v, "b"));
	assert_int_equal(strv_error(&v), 0);
}

static void test_distance(void **state _unused_)
{
	assert_int_equal(str_distance("status", "status"), 0);
	assert_int_equal(str_distance("stauts", "status"), 2);
	assert_int_equal(str_distance("", "abc"), 3);
}

static void test_nearer(void **state _unused_)
{
	static const char *const names[] = { "on", "off", "auto", "leave" };
	static const char *const cases[][2] = {
		{ "of", "off" }, { "onn", "on" }, { "lave", "leave" }, { "autp", "auto" },
		{ "x", NULL },	 { "ou", "on" },  { "", NULL },	       { "leaving", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned least = UINT_MAX;
		const char *best = NULL;

		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (str_is_nearer(cases[i][0], names[k], &least))
				best = names[k];
		if (!streq_ptr(best, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], best ? best : "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lower_bound), cmocka_unit_test(test_nearer),
		cmocka_unit_test(test_glob),	    cmocka_unit_test(test_utf8_and_escape),
		cmocka_unit_test(test_parse),	    cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_distance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
