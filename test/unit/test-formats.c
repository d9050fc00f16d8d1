/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/formats.h"

#include <stdio.h>

/* "group:text|..." */
static char *found(lines_find_t find, const char *text)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_lines_ struct lines lines = {};
	struct strbuf out = {};
	char *ret;

	assert_int_equal(find(text, strlen(text), "f", &lines, &diag), 0);
	for (size_t i = 0; i < lines.n; i++) {
		const struct line_piece *piece = &lines.pieces[i];

		assert_true(piece->offset + piece->size <= strlen(text));
		strbuf_addf(&out, "%s%zu@%u:%.*s", i ? "|" : "", piece->group, piece->line,
			    (int)piece->size, text + piece->offset);
	}
	assert_int_equal(strbuf_take(&out, &ret, NULL), 0);
	return ret;
}

static void test_find(void **state _unused_)
{
	static const struct {
		lines_find_t find;
		const char *text;
		const char *want;
	} cases[] = {
		{ format_find_first_line, "a b\nc d\n", "0@1:a b" },
		{ format_find_first_line, "a b \r\n", "0@1:a b " },
		{ format_find_first_line, "", "0@1:" },
		{ format_find_first_line, "\nx", "0@1:" },
		{ format_find_all_lines, "a b\nc d", "0@1:a b|0@2:c d" },
		{ format_find_all_lines, "# x\n a b\n\nc\r\n", "0@2: a b|0@4:c" },
		{ format_find_all_lines, "", "0@1:" },
		{ format_find_all_lines, "\n", "0@2:" },
		{ format_find_all_lines, "# x\n", "0@2:" },
		{ format_find_all_lines, "# x", "" },
		{ format_find_extraargs, "a=1\nextraargs=x y\nb=2\n", "0@2:x y" },
		{ format_find_extraargs, "extraargs=x\n extraargs=y", "0@2:y" },
		{ format_find_extraargs, "#extraargs=x\nextraargs2=y\n", "" },
		{ format_find_extraargs, "extraargs=\n", "0@1:" },
		{ format_find_append,
		  "DEFAULT p\nTIMEOUT 30\nLABEL p\n\tMENU LABEL Primary\n\tLINUX /Image\n"
		  "\tAPPEND ${cbootargs} root=x quiet\r\nlabel q\nappend -\nlabel r\n append y",
		  "0@6:${cbootargs} root=x quiet|1@10:y" },
		{ format_find_append, "appendix x\nappend\n# append y\n", "0@2:" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = found(cases[i].find, cases[i].text);

		if (!streq(got, cases[i].want))
			fail_msg("case %zu: \"%s\", not \"%s\"", i, got, cases[i].want);
	}
}

static void test_extlinux(void **state _unused_)
{
	static const char text[] = "default l1\nappend g\n"
				   "label l0\n menu label Debian 1\n linux /a\n"
				   "LABEL L1\n KERNEL /b\n append h\n"
				   "label l2\n menu label  Rescue \n append -\n";
	static const struct {
		const char *name, *title, *kernel;
		ssize_t group;
		bool is_default;
	} want[] = {
		{ "l0", "Debian 1", "/a", 0, false },
		{ "L1", NULL, "/b", 1, true },
		{ "l2", "Rescue", NULL, -1, false },
	};
	_cleanup_extlinux_ struct extlinux e = {};

	assert_int_equal(extlinux_parse(text, strlen(text), &e), 0);
	assert_int_equal(e.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_string_equal(e.labels[i].name, want[i].name);
		assert_true(streq_ptr(e.labels[i].title, want[i].title));
		assert_true(streq_ptr(e.labels[i].kernel, want[i].kernel));
		assert_int_equal(e.labels[i].group, want[i].group);
		assert_int_equal(e.labels[i].is_default, want[i].is_default);
	}
	assert_false(e.includes);
	extlinux_done(&e);
	assert_int_equal(extlinux_parse("include x\nlabel a\n menu default\nlabel b\n", 39, &e),
			 0);
	assert_true(e.includes && e.labels[0].is_default && !e.labels[1].is_default);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_extlinux),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
