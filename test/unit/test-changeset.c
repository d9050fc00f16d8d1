/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/changeset.h"
#include "boot/grubenv.h"
#include "boot/record.h"

#include <stdio.h>
#include <sys/file.h>

/* More than go to the disk together. */
enum { MANY = 150 };

/* A task whose steps are told what to do. */
struct run {
	const struct tree *tree;
	unsigned n;	     /* files f0, f1, ... that become "new" */
	const char *creates; /* and one that is made */
	const char *deletes; /* and one that goes */
	enum changeset_refresh refresh;
	bool unmade; /* the bytes of f0 are made by make() */

	const char *meddles; /* a file that somebody else writes just before ours are */
	int plan_fails, make_fails, finish_fails;

	unsigned plans, makes, finishes; /* how often each was called */
	struct changeset cs;
	struct diag diag;
	int result;
};

static int plan(void *userdata, struct changeset *cs, struct diag *diag)
{
	struct run *run = userdata;
	const struct root *root = run->tree->root;
	int r = run->plan_fails;

	run->plans++;
	for (unsigned i = 0; r >= 0 && i < run->n; i++) {
		char path[16];

		(void)snprintf(path, sizeof(path), "/d/f%u", i); /* fits */
		r = i == 0 && run->unmade ? changeset_edit_unmade(cs, root, path, 4096, 0644,
								  ATOMIC_BOOT, diag)
					  : changeset_edit(cs, root, path, 4096, "new", 3, 0644,
							   ATOMIC_BOOT, diag);
	}
	if (r >= 0 && run->creates)
		r = changeset_edit(cs, root, run->creates, 4096, "made", 4, 0644, 0, diag);
	if (r >= 0 && run->deletes)
		r = changeset_edit(cs, root, run->deletes, 4096, NULL, 0, 0644, 0, diag);
	cs->refresh = run->refresh;
	return r;
}

static int make(void *userdata, struct changeset *cs, struct diag *diag _unused_)
{
	struct run *run = userdata;

	run->makes++;
	if (run->meddles)
		tree_write(run->tree, run->meddles, "somebody else's");
	if (run->make_fails < 0)
		return run->make_fails;
	for (size_t i = 0; i < cs->n; i++)
		if (cs->edits[i].unmade) {
			content_done(&cs->edits[i].new);
			cs->edits[i].new.data = strdup("new");
			cs->edits[i].new.size = 3;
			cs->edits[i].unmade = false;
		}
	return 0;
}

static int finish(void *userdata, const struct changeset *cs _unused_, struct diag *diag)
{
	struct run *run = userdata;

	run->finishes++;
	if (run->finish_fails < 0)
		diag_error(diag, NULL, "as the test wants it");
	return run->finish_fails;
}

static void run_it(struct run *run, bool dry_run)
{
	const struct changeset_task task = {
		.root = run->tree->root,
		.verb = "set off",
		.plan = plan,
		.make = make,
		.finish = finish,
		.userdata = run,
		.dry_run = dry_run,
	};

	run->result = changeset_run(&task, &run->cs, &run->diag);
}

static void run_done(struct run *run)
{
	changeset_done(&run->cs);
	diag_done(&run->diag);
}

static void all_hold(const struct tree *t, unsigned n, const char *want)
{
	for (unsigned i = 0; i < n; i++) {
		char path[16];

		(void)snprintf(path, sizeof(path), "d/f%u", i); /* fits */
		tree_assert(t, path, want);
	}
}

static void tree_with_files(struct tree *t, unsigned n)
{
	tree_init(t, ROOT_OFFLINE);
	tree_mkdir(t, "d");
	for (unsigned i = 0; i < n; i++) {
		char path[16];

		(void)snprintf(path, sizeof(path), "d/f%u", i); /* fits */
		tree_write(t, path, "old");
	}
}

/* How many finished changes there are. */
static size_t recorded(const struct tree *t)
{
	_cleanup_history_ struct history history = {};
	_cleanup_diag_ struct diag diag = {};

	assert_int_equal(history_load(t->root, &history, &diag), 0);
	assert_int_equal(diag.n, 0);
	return history.n;
}

static void nothing_happened(const struct tree *t)
{
	assert_false(record_is_pending(t->root));
	assert_int_equal(recorded(t), 0);
}

static bool told(const struct run *run, const char *text)
{
	for (size_t i = 0; i < run->diag.n; i++)
		if (strstr(run->diag.messages[i].text, text))
			return true;
	return false;
}

static void test_change(void **state _unused_)
{
	for (unsigned n = 1; n <= MANY; n = n == 1 ? 3 : n * 5 + 60) {
		struct tree t;
		struct run run = { .tree = &t,
				   .n = MIN(n, (unsigned)MANY),
				   .creates = "/a/b/c" };

		run.refresh = n > 1 ? REFRESH_RUN : REFRESH_NONE;
		run.deletes = "/gone";
		tree_with_files(&t, run.n);
		tree_write(&t, "gone", "");
		run_it(&run, false);
		assert_int_equal(run.result, CHANGESET_CHANGED);
		assert_int_equal(run.plans, 2); /* without and with the lock */
		assert_int_equal(run.makes, 0);
		assert_int_equal(run.finishes, n > 1);
		all_hold(&t, run.n, "new");
		tree_assert(&t, "a/b/c", "made");
		tree_assert(&t, "gone", NULL);
		assert_int_equal(recorded(&t), 1);
		assert_false(record_is_pending(t.root));
		run_done(&run);
		tree_done(&t);
	}
}

static void test_nothing_to_do(void **state _unused_)
{
	struct tree t;
	struct run run = { .tree = &t, .n = 1 };

	tree_with_files(&t, 1);
	tree_write(&t, "d/f0", "new");
	run_it(&run, false);
	assert_int_equal(run.result, CHANGESET_UNCHANGED);
	assert_int_equal(run.plans, 1);
	assert_false(root_exists(t.root, "/var")); /* no lock, no record */
	run_done(&run);
	tree_done(&t);
}

static void test_dry_run(void **state _unused_)
{
	struct tree t;
	struct run run = { .tree = &t, .n = 2, .creates = "/a/b" };
	_cleanup_strbuf_ struct strbuf diff = {};

	tree_with_files(&t, 2);
	run_it(&run, true);
	assert_int_equal(run.result, CHANGESET_WOULD_CHANGE);
	assert_int_equal(changeset_diff(&run.cs, &diff), 0);
	assert_non_null(strstr(diff.data, "-old"));
	assert_non_null(strstr(diff.data, "+made"));
	all_hold(&t, 2, "old");
	assert_false(root_exists(t.root, "/var"));
	assert_false(root_exists(t.root, "/a"));
	run_done(&run);
	tree_done(&t);
}

/* Of a block of GRUB's the lines, not the nine hundred '#' behind them. */
static void test_diff_of_grubenv(void **state _unused_)
{
	static const char want[] = "--- /boot/grub/grubenv\n"
				   "+++ /boot/grub/grubenv\n"
				   "@@ -1,2 +1,3 @@\n"
				   " # GRUB Environment Block\n"
				   " a=1\n"
				   "+next_entry=x\n";
	static const char text[] = "# GRUB Environment Block\na=1\n";
	char old[GRUBENV_SIZE];
	_cleanup_free_ char *new = NULL;
	_cleanup_strbuf_ struct strbuf diff = {};
	struct edit edit = {
		.path = (char *)"/boot/grub/grubenv",
		.old = { .data = old, .size = GRUBENV_SIZE },
	};

	memset(old, '#', sizeof(old));
	memcpy(old, text, sizeof(text) - 1);
	assert_int_equal(grubenv_set(old, "next_entry", "x", &new), 0);
	edit.new = (struct content){ .data = new, .size = GRUBENV_SIZE };
	changeset_diff_edit(&edit, &diff);
	assert_string_equal(diff.data, want);
}

/* Whatever fails, everything is as it was, and nothing is left behind. */
static void test_failures(void **state _unused_)
{
	static const struct {
		int plan_fails, make_fails, finish_fails;
		bool unmade;
		int result;
		bool put_back; /* and it says so */
	} cases[] = {
		{ .plan_fails = -EBADMSG, .result = -EBADMSG },
		{ .unmade = true, .make_fails = -EIO, .result = -EIO },
		{ .finish_fails = -EREMOTE, .result = -EREMOTE, .put_back = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tree t;
		struct run run = {
			.tree = &t,
			.n = MANY,
			.creates = "/a/b/c",
			.deletes = "/gone",
			.refresh = REFRESH_RUN,
			.unmade = cases[i].unmade,
			.plan_fails = cases[i].plan_fails,
			.make_fails = cases[i].make_fails,
			.finish_fails = cases[i].finish_fails,
		};

		tree_with_files(&t, MANY);
		tree_write(&t, "gone", "is here");
		run_it(&run, false);
		assert_int_equal(run.result, cases[i].result);
		all_hold(&t, MANY, "old");
		tree_assert(&t, "gone", "is here");
		assert_false(root_exists(t.root, "/a"));
		nothing_happened(&t);
		assert_int_equal(told(&run, "all files were put back"), cases[i].put_back);
		run_done(&run);
		tree_done(&t);
	}
}

/* Somebody writes between our plan and our write: their bytes stay, ours are taken back. */
static void test_somebody_else(void **state _unused_)
{
	static const char *const files[] = { "d/f0", "d/f1", "d/f99", "a/b/c", "gone" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct tree t;
		struct run run = {
			.tree = &t,
			.n = MANY,
			.creates = "/a/b/c",
			.deletes = "/gone",
			.unmade = true,
			.meddles = files[i],
		};

		tree_with_files(&t, MANY);
		tree_write(&t, "gone", "is here");
		run_it(&run, false);
		assert_int_equal(run.result, -ESTALE);
		tree_assert(&t, files[i], "somebody else's");
		assert_true(told(&run, "somebody else"));
		for (unsigned k = 0; k < MANY; k++) {
			char path[16];

			(void)snprintf(path, sizeof(path), "d/f%u", k); /* fits */
			if (!streq(path, files[i]))
				tree_assert(&t, path, "old");
		}
		nothing_happened(&t);
		run_done(&run);
		tree_done(&t);
	}
}

/* Leaves what a run leaves that was killed after n of its files were written. */
static void interrupt(const struct tree *t, struct run *run, unsigned n)
{
	_cleanup_changeset_ struct changeset cs = {};
	_cleanup_diag_ struct diag diag = {};
	_cleanup_strv_ struct strv made = {};

	assert_int_equal(plan(run, &cs, &diag), 0);
	strv_add(&made, "/a");
	strv_add(&made, "/a/b");
	tree_mkdir(t, "var/lib/memcg-policy");
	assert_int_equal(record_begin(t->root, &cs, "set on", &made), 0);
	tree_mkdir(t, "a/b");
	tree_write(t, "d/.memcg-policy.killed", "half");
	tree_write(t, "var/lib/memcg-policy/.memcg-policy.killed", "half");
	for (unsigned i = 0; i < n; i++) {
		char path[16];

		(void)snprintf(path, sizeof(path), "d/f%u", i); /* fits */
		tree_write(t, path, "new");
	}
	run->plans = 0;
}

static void test_recovery(void **state _unused_)
{
	static const struct {
		unsigned written;
		int finish_fails;
		bool finished; /* the interrupted change was, else it was taken back */
		int result;    /* of a run that has nothing to do itself */
	} cases[] = {
		{ 0, 0, false, CHANGESET_UNCHANGED },
		{ 2, 0, false, CHANGESET_UNCHANGED },
		{ 3, 0, true, CHANGESET_UNCHANGED },
		{ 3, -EIO, false, -EIO },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tree t;
		struct run run = { .tree = &t, .n = 3, .refresh = REFRESH_RUN };

		tree_with_files(&t, 3);
		interrupt(&t, &run, cases[i].written);
		run.n = 0;
		run.refresh = REFRESH_NONE;
		run.finish_fails = cases[i].finish_fails;
		run_it(&run, false);
		assert_int_equal(run.result, cases[i].result);
		all_hold(&t, 3, cases[i].finished ? "new" : "old");
		assert_int_equal(recorded(&t), cases[i].finished);
		assert_int_equal(told(&run, "was finished first"), cases[i].finished);
		assert_false(record_is_pending(t.root));
		assert_false(root_exists(t.root, "/d/.memcg-policy.killed"));
		assert_false(root_exists(t.root, "/var/lib/memcg-policy/.memcg-policy.killed"));
		/* only a change that is taken back takes its directories back */
		assert_int_equal(root_exists(t.root, "/a"), cases[i].finished);
		run_done(&run);
		tree_done(&t);
	}
}

/* What somebody else wrote over an interrupted change is theirs. */
static void test_recovery_leaves_foreign_bytes(void **state _unused_)
{
	struct tree t;
	struct run run = { .tree = &t, .n = 3 };

	tree_with_files(&t, 3);
	interrupt(&t, &run, 2);
	tree_write(&t, "d/f1", "somebody else's");
	run.n = 0;
	run_it(&run, false);
	assert_int_equal(run.result, CHANGESET_UNCHANGED);
	tree_assert(&t, "d/f0", "old");
	tree_assert(&t, "d/f1", "somebody else's");
	tree_assert(&t, "d/f2", "old");
	assert_true(told(&run, "leaving it as it is"));
	nothing_happened(&t);
	run_done(&run);
	tree_done(&t);
}

/* A dry run says what a run would do first, and does none of it. */
static void test_dry_run_with_interrupted_change(void **state _unused_)
{
	struct tree t;
	struct run run = { .tree = &t, .n = 3 };

	tree_with_files(&t, 3);
	interrupt(&t, &run, 1);
	run_it(&run, true);
	assert_true(told(&run, "interrupted"));
	tree_assert(&t, "d/f0", "new");
	tree_assert(&t, "d/f1", "old");
	assert_true(record_is_pending(t.root));
	run_done(&run);
	tree_done(&t);
}

/* A record that cannot be read is not guessed about. */
static void test_unreadable_record(void **state _unused_)
{
	struct tree t;
	struct run run = { .tree = &t, .n = 3 };

	tree_with_files(&t, 3);
	tree_write(&t, "var/lib/memcg-policy/pending.json", "{");
	run_it(&run, false);
	assert_int_equal(run.result, -EBADMSG);
	all_hold(&t, 3, "old");
	tree_assert(&t, "var/lib/memcg-policy/pending.json", "{");
	run_done(&run);
	tree_done(&t);
}

static void test_edits(void **state _unused_)
{
	_cleanup_changeset_ struct changeset cs = {};
	_cleanup_diag_ struct diag diag = {};
	struct tree t;

	tree_with_files(&t, 2);
	/* the second of one path counts, and one that changes nothing is none */
	assert_int_equal(changeset_edit(&cs, t.root, "/d/f0", 10, "a", 1, 0644, 0, &diag), 0);
	assert_int_equal(changeset_edit(&cs, t.root, "/d/f1", 10, "b", 1, 0644, 0, &diag), 0);
	assert_int_equal(changeset_edit(&cs, t.root, "/d/f0", 10, "c", 1, 0644, 0, &diag), 0);
	assert_int_equal(cs.n, 2);
	assert_memory_equal(changeset_find(&cs, "/d/f0")->new.data, "c", 1);
	assert_int_equal(changeset_edit(&cs, t.root, "/d/f0", 10, "old", 3, 0644, 0, &diag), 0);
	assert_int_equal(cs.n, 1);
	assert_null(changeset_find(&cs, "/d/f0"));
	assert_int_equal(
		changeset_edit(&cs, t.root, "/d/f0", 10, "old", 3, 0644, ATOMIC_TOUCH, &diag),
		0);
	assert_int_equal(cs.n, 2);
	assert_int_equal(changeset_edit(&cs, t.root, "/none", 10, NULL, 0, 0644, 0, &diag), 0);
	assert_int_equal(cs.n, 2);
	/* a file that is larger than its reader allows is an error with its place */
	assert_int_equal(diag.n, 0);
	assert_int_equal(changeset_edit(&cs, t.root, "/d/f0", 2, "x", 1, 0644, 0, &diag),
			 -EFBIG);
	assert_int_equal(diag.n, 1);
	assert_string_equal(diag.messages[0].path, "/d/f0");
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_dry_run),
		cmocka_unit_test(test_diff_of_grubenv),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_somebody_else),
		cmocka_unit_test(test_recovery),
		cmocka_unit_test(test_recovery_leaves_foreign_bytes),
		cmocka_unit_test(test_dry_run_with_interrupted_change),
		cmocka_unit_test(test_unreadable_record),
		cmocka_unit_test(test_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
