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
		{ "[A]\nk=a=b\n", 0, "section@1\nA|k|a=b@2:3\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t size = cases[i].size ? cases[i].size : strlen(cases[i].text);
		_cleanup_free_ char *got = summary(cases[i].text, size);

		if (!streq(got, cases[i].want))
			fail_msg("case %zu: got\n%swanted\n%s", i, got, cases[i].want);
	}
}

static void test_limits(void **state _unused_)
{
	_cleanup_strbuf_ struct strbuf buf = {};
	_cleanup_free_ char *ok = NULL, *long_comment = NULL;

	strbuf_adds(&buf, "[A]\nk=");
	for (int i = 0; i < INI_LINE_MAX - 2; i++)
		strbuf_addc(&buf, 'x');
	ok = summary(buf.data, buf.len);
	assert_non_null(strstr(ok, "A|k|xxx"));
	buf.len = 0;
	strbuf_adds(&buf, "[A]\n#");
	for (int i = 0; i < INI_LINE_MAX; i++)
		strbuf_addc(&buf, 'x');
	strbuf_adds(&buf, "\nk=v\n");
	long_comment = summary(buf.data, buf.len);
	assert_string_equal(long_comment, "section@1\ntoolong@2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
