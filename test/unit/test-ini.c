/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/ini.h"
#include "base/str.h"

/* What a text gives, one item a line: "section|key|value@line:column". */
static char *summary(const char *text, size_t size)
{
	_cleanup_ini_ struct ini *ini = NULL;
	struct strbuf buf = {};
	char *ret;

	assert_int_equal(ini_new(text, size, &ini), 0);
	for (;;) {
		struct ini_item item;

		assert_int_equal(ini_next(ini, &item), 0);
		if (item.kind == INI_END)
			break;
		if (item.kind == INI_ASSIGNMENT)
			strbuf_addf(&buf, "%s|%s|%s@%u:%u\n", item.section, item.key,
				    item.value, item.value_line, item.value_column);
		else
			strbuf_addf(&buf, "%s@%u\n",
				    (const char *const[]){ "end", "section", "", "noeq",
							   "nokey", "badsection", "notutf8",
							   "toolong" }[item.kind],
				    item.line);
	}
	assert_int_equal(strbuf_take(&buf, &ret, NULL), 0);
	return ret;
}

static void test_syntax(void **state _unused_)
{
	static const struct {
		const char *text;
		size_t size; /* 0: strlen */
		const char *want;
	} cases[] = {
		{ "[A]\nk=v\n", 0, "section@1\nA|k|v@2:3\n" },
		{ "[A]\n  k\t = \t v w \t\r\n", 0, "section@1\nA|k|v w@2:10\n" },
		{ "\xef\xbb\xbf[A]\nk=", 0, "section@1\nA|k|@2:3\n" },
		{ "[A]\r\nk=v\r\nl=w", 0, "section@1\nA|k|v@2:3\nA|l|w@3:3\n" },
		{ "[A]\n\rk=v", 0, "section@1\nA|k|v@2:3\n" },
		{ "[A]\rk=v\rl=w", 0, "section@1\nA|k|v@2:3\nA|l|w@3:3\n" },
		{ "[A]\0k=v", 7, "section@1\nA|k|v@2:3\n" },
		{ "# c\\\n[A]\n;x=y\nk=v # c\n", 0, "section@2\nA|k|v # c@4:3\n" },
		{ "[A]\nk=a\\\n# c\\\n  b\\\n\nl=w\n", 0,
		  "section@1\nA|k|a   b@2:3\nA|l|w@6:3\n" },
		{ "[A]\nk=a\\\\\nb=c\n", 0, "section@1\nA|k|a\\\\@2:3\nA|b|c@3:3\n" },
		{ "[A]\nk=a\\ \nb=c\n", 0, "section@1\nA|k|a\\@2:3\nA|b|c@3:3\n" },
		{ "[A]\nk=a\\", 0, "section@1\nA|k|a@2:3\n" },
		{ "[A]\nno equals\n=v\nk=v\n", 0, "section@1\nnoeq@2\nnokey@3\nA|k|v@4:3\n" },
		{ "[A]\nk=v\n[bad\nk=w\n", 0, "section@1\nA|k|v@2:3\nbadsection@3\n" },
		{ "[A]\nk=v\nl=\xff\nk=w\n", 0, "section@1\nA|k|v@2:3\nnotutf8@3\n" },
		{ "[A]\nk=v\n\0l=w\0\nm=x\r\n\0n=y", 23,
		  "section@1\nA|k|v@2:3\nA|l|w@3:3\nA|m|x@5:3\nA|n|y@6:3\n" },
		{ "# c\n\xef\xbb\xbf[A]\nk=v\n", 0, "section@2\nA|k|v@3:3\n" },
		{ "\xef\xbb\xbf# no comment\n[A]\n", 0, "noeq@1\nsection@2\n" },
		{ "\xef\xbb\xbf[A]\n\xef\xbb\xbfk=v\n", 0,
		  "section@1\nA|\xef\xbb\xbfk|v@2:6\n" },
		{ "[A]\nk=\xef\xb7\x90\n", 0, "section@1\nnotutf8@2\n" },
		{ "[A]\nk=\xef\xbf\xbe\n", 0, "section@1\nnotutf8@2\n" },
		{ "[A]\nk=\xf0\x9f\xbf\xbf\n", 0, "section@1\nnotutf8@2\n" },
		{ "[A]\nk=\xe3\x8f\xbf\xc2\x8f\n", 0,
		  "section@1\nA|k|\xe3\x8f\xbf\xc2\x8f@2:3\n" },
		{ "[A'b]\nk=v\n", 0, "badsection@1\n" },
		{ "[A\tb]\nk=v\n", 0, "badsection@1\n" },
		{ "[]\nk=v\n", 0, "section@1\n|k|v@2:3\n" },
		{ "[A]\nk=a=b\n", 0, "section@1\nA|k|a=b@2:3\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t size = cases[i].size ? cases[i].size : strlen(cases[i].text);
		_cleanup_free_ char *got = summary(cases[i].text, size);

		if (!streq(got, cases[i].want))
			fail_msg("case %zu: got\n%swanted\n%s", i, got, cases[i].want);
	}
}

/* "[A]\n", then head, then n times x, then "\nl=w\n". */
static char *filled(const char *head, size_t n)
{
	_cleanup_strbuf_ struct strbuf buf = {};

	strbuf_addf(&buf, "[A]\n%s", head);
	for (size_t i = 0; i < n; i++)
		strbuf_addc(&buf, 'x');
	strbuf_adds(&buf, "\nl=w\n");
	return summary(buf.data, buf.len);
}

/* The edges as systemd 252 has them. */
static void test_limits(void **state _unused_)
{
	_cleanup_free_ char *longest = filled("#", INI_LINE_MAX - 2);
	_cleanup_free_ char *too_long = filled("#", INI_LINE_MAX - 1);
	_cleanup_free_ char *joined = filled("k=ab\\\n", INI_LINE_MAX - 5);
	_cleanup_free_ char *joined_too_long = filled("k=ab\\\n", INI_LINE_MAX - 4);

	assert_string_equal(longest, "section@1\nA|l|w@3:3\n");
	assert_string_equal(too_long, "section@1\ntoolong@2\n");
	assert_non_null(strstr(joined, "A|l|w@4:3\n"));
	assert_string_equal(joined_too_long, "section@1\ntoolong@2\n");
}

static void test_resume(void **state _unused_)
{
	static const char text[] = "[A]\n[bad\nk=v\n";
	_cleanup_ini_ struct ini *ini = NULL;
	struct ini_item item;

	assert_int_equal(ini_new(text, strlen(text), &ini), 0);
	assert_int_equal(ini_next(ini, &item), 0);
	assert_int_equal(ini_next(ini, &item), 0);
	assert_int_equal(item.kind, INI_BAD_SECTION);
	assert_int_equal(ini_next(ini, &item), 0);
	assert_int_equal(item.kind, INI_END);
	ini_resume(ini);
	assert_int_equal(ini_next(ini, &item), 0);
	assert_int_equal(item.kind, INI_ASSIGNMENT);
	assert_string_equal(item.key, "k");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_resume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
