/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/record.h"
#include "boot/tool.h"

#define LOG "var/lib/memcg-policy/refresh.log"

static void test_find(void **state _unused_)
{
	static const struct {
		const char *names[3];
		const char *want;
	} cases[] = {
		{ { "both" }, "/usr/sbin/both" },
		{ { "low" }, "/bin/low" },
		/* the first name counts, not the first directory */
		{ { "low", "both" }, "/bin/low" },
		{ { "gone", "both" }, "/usr/sbin/both" },
		{ { "linked" }, "/usr/bin/linked" },
		{ { "dangling", "low" }, "/bin/low" },
		{ { "gone" }, NULL },
		{ { NULL }, NULL },
	};
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "usr/bin/both", "");
	tree_write(&t, "usr/sbin/both", "");
	tree_write(&t, "bin/low", "");
	/* the link is the root's: the host's /bin/low does not matter */
	tree_symlink(&t, "/bin/low", "usr/bin/linked");
	tree_symlink(&t, "/bin/sh", "usr/bin/dangling");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *path = NULL;
		int r = tool_find(t.root, cases[i].names, &path);

		assert_int_equal(r, cases[i].want ? 0 : -ENOENT);
		if (!streq_ptr(path, cases[i].want))
			fail_msg("case %zu: %s", i, path);
	}
	assert_true(tool_exists(t.root, "low"));
	assert_false(tool_exists(t.root, "sh"));
	tree_done(&t);
}

static void test_mentions(void **state _unused_)
{
	static const char program[] = "\x7f"
				      "ELF\0\0--no-grubenv-update\0";
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	tree_write_n(&t, "p", program, sizeof(program));
	tree_mkdir(&t, "d");
	assert_true(tool_mentions(t.root, "/p", "--no-grubenv-update"));
	assert_false(tool_mentions(t.root, "/p", "--no-grubenv-updates"));
	assert_false(tool_mentions(t.root, "/q", "--no-grubenv-update"));
	assert_false(tool_mentions(t.root, "/d", ""));
	tree_done(&t);
}

static void test_plan(void **state _unused_)
{
	static const char *const argv[] = { "/usr/sbin/update-it", "-o", "a b", NULL };

	for (int refresh = 0; refresh <= 1; refresh++) {
		_cleanup_changeset_ struct changeset cs = {};

		assert_int_equal(tool_plan(&(struct boot){ .refresh = refresh }, &cs, argv), 0);
		assert_int_equal(cs.refresh, refresh ? REFRESH_RUN : REFRESH_PRINT);
		assert_int_equal(cs.n_commands, 1);
		assert_int_equal(cs.commands[0].argv.n, 3);
		assert_string_equal(cs.commands[0].argv.items[2], "a b");
	}
}

/* Runs a script of the host's shell; what is kept is kept in the tree. */
static int run(const struct tree *t, const char *script, struct diag *diag)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };

	return tool_run(&(struct boot){ .root = t->root }, argv, diag);
}

static void test_success(void **state _unused_)
{
	_cleanup_diag_ struct diag diag = {};
	struct tree t;

	tree_init(&t, ROOT_LIVE);
	assert_int_equal(run(&t, "echo much; echo to say >&2", &diag), 0);
	assert_int_equal(diag.n, 0);
	tree_assert(&t, LOG, NULL);
	tree_done(&t);
}

static void test_failure(void **state _unused_)
{
	static const struct {
		const char *script, *text;
		const char *tail; /* in the hint; NULL: there is none */
		const char *log;
	} cases[] = {
		{ "echo one; echo two; echo three; echo four; exit 3",
		  "failed with exit status 3", "refresh.log): two\\x0athree\\x0afour",
		  "one\ntwo\nthree\nfour\n" },
		/* what failed before is not what is asked about now */
		{ "printf 'short '; exit 1", "failed with exit status 1", "refresh.log): short",
		  "short " },
		{ "printf '\\033[31mred\\n\\n\\n'; exit 2", "failed with exit status 2",
		  "refresh.log): \\x1b[31mred", "\033[31mred\n\n\n" },
		{ "kill -KILL $$", "failed with exit status 137", NULL, "" },
	};
	struct tree t;

	tree_init(&t, ROOT_LIVE);
	tree_mkdir(&t, "var/lib/memcg-policy");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_diag_ struct diag diag = {};
		const struct diag_message *m;

		assert_int_equal(run(&t, cases[i].script, &diag), -EIO);
		assert_int_equal(diag.n, 1);
		m = &diag.messages[0];
		assert_int_equal(m->level, DIAG_ERROR);
		assert_string_equal(m->path, "/bin/sh");
		assert_string_equal(m->text, cases[i].text);
		if (cases[i].tail ? !m->hint || !str_has_suffix(m->hint, cases[i].tail)
				  : m->hint != NULL)
			fail_msg("case %zu: the hint is \"%s\"", i, m->hint);
		tree_assert(&t, LOG, cases[i].log);
	}
	tree_done(&t);
}

/* A log that cannot be written does not hide what happened. */
static void test_no_log(void **state _unused_)
{
	_cleanup_diag_ struct diag diag = {};
	struct tree t;

	tree_init(&t, ROOT_LIVE);
	tree_write(&t, "var/lib/memcg-policy", "no directory");
	assert_int_equal(run(&t, "exit 5", &diag), -EIO);
	assert_int_equal(diag.n, 1);
	assert_string_equal(diag.messages[0].text, "failed with exit status 5");
	tree_assert(&t, "var/lib/memcg-policy", "no directory");
	tree_done(&t);
}

static void test_no_program(void **state _unused_)
{
	static const char *const argv[] = { "/nonexistent/program", NULL };
	_cleanup_diag_ struct diag diag = {};
	struct tree t;

	tree_init(&t, ROOT_LIVE);
	assert_int_equal(tool_run(&(struct boot){ .root = t.root }, argv, &diag), -ENOENT);
	assert_int_equal(diag.n, 1);
	assert_string_equal(diag.messages[0].path, argv[0]);
	assert_non_null(str_skip_prefix(diag.messages[0].text, "cannot be run: "));
	tree_assert(&t, LOG, NULL);
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),	   cmocka_unit_test(test_mentions),
		cmocka_unit_test(test_plan),	   cmocka_unit_test(test_success),
		cmocka_unit_test(test_failure),	   cmocka_unit_test(test_no_log),
		cmocka_unit_test(test_no_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
