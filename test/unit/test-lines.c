/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/atomic.h"
#include "base/diag.h"
#include "base/str.h"
#include "boot/lines.h"

#include <stdio.h>

/* A format for the tests: "K text" lines, K a digit, are the pieces of group K. */
static int find(const char *text, size_t size, const char *path _unused_, struct lines *ret,
		struct diag *diag _unused_)
{
	_cleanup_lines_ struct lines lines = {};
	unsigned line = 1;

	for (size_t i = 0; i < size; line++) {
		const char *eol = memchr(text + i, '\n', size - i);
		size_t end = eol ? (size_t)(eol - text) : size;

		if (end - i >= 2 && text[i] >= '0' && text[i] <= '9') {
			int r = lines_add(&lines, (size_t)(text[i] - '0'), i + 2, end - i - 2,
					  line);

			if (r < 0)
				return r;
		}
		i = end + 1;
	}
	*ret = lines;
	lines = (struct lines){};
	return 0;
}

static char *edit(const char *text, enum memcg_state want, unsigned flags, bool first_only,
		  int *ret_r)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_lines_ struct lines lines = {};
	char *out = NULL;
	size_t size = 0;

	assert_int_equal(find(text, strlen(text), "f", &lines, &diag), 0);
	lines.first_only = first_only;
	*ret_r = lines_edit(text, strlen(text), &lines, want, flags, "f", &out, &size, &diag);
	if (*ret_r < 0) {
		assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
		return NULL;
	}
	assert_int_equal(size, strlen(out));
	return out;
}

static void test_edit(void **state _unused_)
{
	static const struct {
		const char *text;
		const char *want; /* NULL: refused */
		enum memcg_state state;
		unsigned flags;
		bool first_only;
	} cases[] = {
		{ "# c\n0 a b\n", "# c\n0 a b cgroup_disable=memory\n", MEMCG_OFF },
		{ "0 a b", "0 a b cgroup_disable=memory", MEMCG_OFF },
		{ "0 a\n0 b\n", "0 a cgroup_disable=memory\n0 b\n", MEMCG_OFF },
		{ "0 a\n0 cgroup_disable=memory b\n", "0 a\n0 cgroup_disable=memory b\n",
		  MEMCG_OFF },
		{ "0 a\n0 cgroup_disable=memory b\n",
		  "0 a cgroup_disable=memory\n0 cgroup_disable=memory b\n", MEMCG_OFF, 0,
		  true },
		{ "0 a cgroup_enable=memory\n0 cgroup_enable=cpuset,memory b\n",
		  "0 a cgroup_disable=memory\n0 cgroup_enable=cpuset b\n", MEMCG_OFF },
		{ "0 cgroup_disable=pressure,memory\nx\n1 cgroup_disable=memory q\n",
		  "0 cgroup_disable=pressure\nx\n1 q\n", MEMCG_ON },
		{ "0 a\n1 b\n", "0 a cgroup_enable=memory\n1 b cgroup_enable=memory\n",
		  MEMCG_ON, CMDLINE_WRITE_ENABLE },
		{ "0 a -- i\n0 cgroup_disable=memory\n", "0 a -- i\n0 cgroup_disable=memory\n",
		  MEMCG_ON },
		{ "0 a -- i\n0 cgroup_disable=memory\n",
		  "0 a cgroup_disable=memory -- i\n0 cgroup_disable=memory\n", MEMCG_OFF },
		{ "0 a cgroup_enable=memory\n", "0 a\n", MEMCG_OFF, CMDLINE_NO_DISABLE },
		{ "0 a=\"b\n0 c\" d\n", NULL, MEMCG_OFF },
		{ "0 a=\"b\n", NULL, MEMCG_OFF },
		{ "0 a=\"b\n", "0 a=\"b\n", MEMCG_ON },
		{ "0 a=\"b\n0 c\" d\n", NULL, MEMCG_OFF, 0, true },
		{ "0 a\n0 cgroup_enable=memory\n",
		  "0 a cgroup_disable=memory\n0 cgroup_enable=memory\n", MEMCG_OFF, 0, true },
		{ "0 \n", "0 cgroup_disable=memory\n", MEMCG_OFF },
		{ "", "", MEMCG_OFF },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r;
		_cleanup_free_ char *got = edit(cases[i].text, cases[i].state, cases[i].flags,
						cases[i].first_only, &r);
		_cleanup_free_ char *again = NULL;

		if (!streq_ptr(got, cases[i].want))
			fail_msg("case %zu: \"%s\", not \"%s\"", i, got, cases[i].want);
		if (!got)
			continue;
		assert_int_equal(r, !streq(got, cases[i].text));
		again = edit(got, cases[i].state, cases[i].flags, cases[i].first_only, &r);
		assert_int_equal(r, 0);
		assert_string_equal(again, got);
	}
}

static struct content content(const char *text)
{
	return (struct content){ (char *)text, text ? strlen(text) : 0 };
}

static void test_take_back(void **state _unused_)
{
	static const struct {
		const char *before;
		const char *written;
		const char *now;
		const char *want; /* NULL: refused */
	} cases[] = {
		/* added by us, and somebody else added a word */
		{ "0 a\n", "0 a cgroup_disable=memory\n", "0 a cgroup_disable=memory x\n",
		  "0 a x\n" },
		/* taken out by us */
		{ "0 a cgroup_disable=memory\n", "0 a\n", "0 a x\n",
		  "0 a x cgroup_disable=memory\n" },
		{ "0 cgroup_enable=cpuset,memory\n",
		  "0 cgroup_enable=cpuset cgroup_disable=memory\n",
		  "0 x cgroup_enable=cpuset cgroup_disable=memory\n",
		  "0 x cgroup_enable=cpuset cgroup_enable=memory\n" },
		/* somebody took ours out already */
		{ "0 a\n", "0 a cgroup_disable=memory\n", "0 b\n", "0 b\n" },
		/* not changed by us: theirs stays */
		{ "0 a cgroup_disable=memory\n", "0 a cgroup_disable=memory\n",
		  "0 a cgroup_enable=memory\n", "0 a cgroup_enable=memory\n" },
		/* a line more, and all are alike */
		{ "0 a\n1 b\n", "0 a cgroup_disable=memory\n1 b cgroup_disable=memory\n",
		  "0 a cgroup_disable=memory\n1 b cgroup_disable=memory\n2 c\n",
		  "0 a\n1 b\n2 c\n" },
		/* a line of our own */
		{ "x\n", "x\n0 cgroup_disable=memory\n", "x\n0 cgroup_disable=memory y\n",
		  "x\n0 y\n" },
		/* a line more, and they are not */
		{ "0 a\n1 cgroup_disable=memory\n",
		  "0 a cgroup_disable=memory\n1 cgroup_disable=memory\n",
		  "1 cgroup_disable=memory\n2 c\n3 d\n", NULL },
		{ "0 a cgroup_enable=memory cgroup_disable=memory\n",
		  "0 a cgroup_disable=memory\n", "0 x cgroup_disable=memory\n", NULL },
		{ NULL, "0 a\n", "0 b\n", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct content before = content(cases[i].before),
			       written = content(cases[i].written), now = content(cases[i].now);
		_cleanup_diag_ struct diag diag = {};
		_cleanup_content_ struct content got = {};
		int r = lines_take_back(find, "f", &before, &written, &now, &got, &diag);

		if (!streq_ptr(got.data, cases[i].want))
			fail_msg("case %zu: \"%s\", not \"%s\"", i, got.data, cases[i].want);
		assert_int_equal(r, cases[i].want ? 0 : -ENOTSUP);
		assert_int_equal(diag_count(&diag, DIAG_ERROR), cases[i].want ? 0 : 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edit),
		cmocka_unit_test(test_take_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
