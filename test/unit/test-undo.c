/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/grub.h"
#include "boot/uki.h"
#include "boot/undo.h"
#include "policy/policy.h"

/* A root, what was changed there, and what taking it back would do. */
struct undo {
	struct tree tree;
	struct history history;
	struct changeset cs;
	struct diag diag;
	int result;
};

/* --- a backend that only says that it was asked --- */

static int refresh_planned(const struct boot *boot _unused_,
			   const struct boot_state *state _unused_,
			   const struct boot_words *words, bool edited, struct changeset *cs)
{
	const char *const argv[] = { "refresh", boot_want_to_string(words->want), NULL };

	assert_true(edited);
	cs->refresh = REFRESH_RUN;
	return changeset_add_command(cs, argv);
}

static int trial_dropped(const struct boot *boot _unused_, bool all, struct changeset *cs,
			 struct diag *diag _unused_)
{
	const char *const argv[] = { "no-trial", all ? "all" : "next", NULL };

	return changeset_add_command(cs, argv);
}

static const struct boot_backend fake = {
	.name = "fake",
	.plan_refresh = refresh_planned,
	.plan_no_trial = trial_dropped,
};

/* --- what was changed --- */

static struct record *add_record(struct undo *u, const char *verb, const char *backend)
{
	struct record *record;

	assert_true(GROW(u->history.records, u->history.n, u->history.alloc));
	record = &u->history.records[u->history.n++];
	*record = (struct record){ .number = (unsigned)u->history.n, .verb = strdup(verb) };
	record->changes.backend = backend ? strdup(backend) : NULL;
	assert_non_null(record->verb);
	return record;
}

static struct content text(const char *s)
{
	return s ? (struct content){ .data = strdup(s), .size = strlen(s) }
		 : (struct content){};
}

static void add_edit(struct record *record, const char *path, const char *before,
		     const char *written)
{
	struct changeset *cs = &record->changes;

	assert_true(GROW(cs->edits, cs->n, cs->alloc));
	cs->edits[cs->n++] = (struct edit){
		.path = strdup(path),
		.old = text(before),
		.new = text(written),
		.mode = 0640,
		.flags = ATOMIC_BOOT,
	};
}

static void init(struct undo *u)
{
	*u = (struct undo){};
	tree_init(&u->tree, ROOT_OFFLINE);
}

static void run(struct undo *u, enum undo_what what)
{
	const struct boot boot = { .root = u->tree.root, .backend = &fake };

	changeset_done(&u->cs);
	diag_done(&u->diag);
	u->cs = (struct changeset){};
	u->diag = (struct diag){};
	u->result =
		undo_plan(&boot, &(struct boot_state){}, &u->history, what, &u->cs, &u->diag);
}

static void done(struct undo *u)
{
	changeset_done(&u->cs);
	diag_done(&u->diag);
	history_done(&u->history);
	tree_done(&u->tree);
}

/* want NULL: the file would go. */
static void would_hold(const struct undo *u, const char *path, const char *want)
{
	const struct edit *edit = changeset_find(&u->cs, path);

	if (!edit)
		fail_msg("%s would not be changed", path);
	if (!want ? edit->new.data != NULL
		  : !edit->new.data || edit->new.size != strlen(want) ||
			    memcmp(edit->new.data, want, edit->new.size) != 0)
		fail_msg("%s would hold \"%.*s\", not \"%s\"", path, (int)edit->new.size,
			 edit->new.data ? edit->new.data : "", want ? want : "(nothing)");
}

/* "2 1": the changes that would be taken back, in that order. */
static void would_undo(const struct undo *u, const char *want)
{
	_cleanup_strbuf_ struct strbuf buf = {};

	for (size_t i = 0; i < u->cs.n_undoes; i++)
		strbuf_addf(&buf, "%s%u", i > 0 ? " " : "", u->cs.undoes[i]);
	assert_string_equal(buf.data ? buf.data : "", want);
}

/* "no-trial next; refresh unset": what would be run. */
static void would_run(const struct undo *u, const char *want)
{
	_cleanup_strbuf_ struct strbuf buf = {};

	for (size_t i = 0; i < u->cs.n_commands; i++)
		strbuf_addf(&buf, "%s%s %s", i > 0 ? "; " : "", u->cs.commands[i].argv.items[0],
			    u->cs.commands[i].argv.items[1]);
	assert_string_equal(buf.data ? buf.data : "", want);
}

/* --- tests --- */

static void test_last_and_all(void **state _unused_)
{
	struct undo u;

	init(&u);
	tree_write(&u.tree, "boot/line", "third");
	add_edit(add_record(&u, "set off", NULL), "/boot/line", "first", "second");
	add_edit(add_record(&u, "set on", NULL), "/boot/line", "second", "third");
	run(&u, UNDO_LAST);
	assert_int_equal(u.result, 1);
	would_hold(&u, "/boot/line", "second");
	would_undo(&u, "2");
	would_run(&u, "no-trial next; refresh nothing");
	assert_string_equal(u.cs.backend, "fake");
	assert_int_equal(u.cs.edits[0].mode, 0640);
	assert_int_equal(u.cs.edits[0].flags, ATOMIC_BOOT);

	run(&u, UNDO_ALL);
	assert_int_equal(u.result, 1);
	would_hold(&u, "/boot/line", "first");
	would_undo(&u, "2 1");
	would_run(&u, "no-trial all; refresh nothing");
	assert_int_equal(u.diag.n, 0);
	done(&u);
}

/* Which changes are there to be taken back. */
static void test_live(void **state _unused_)
{
	struct undo u;

	init(&u);
	tree_write(&u.tree, "f", "4");
	run(&u, UNDO_LAST);
	assert_int_equal(u.result, 0);
	would_run(&u, "");

	add_edit(add_record(&u, "set off", NULL), "/f", "0", "1");
	add_edit(add_record(&u, "set on", NULL), "/f", "1", "2");
	u.history.records[1].taken_back = true;
	add_edit(add_record(&u, "undo", NULL), "/f", "2", "3");
	run(&u, UNDO_LAST);
	would_undo(&u, "1");
	/* "unset" can be undone, and is nothing that "unset" takes back */
	add_edit(add_record(&u, "unset", NULL), "/f", "3", "4");
	run(&u, UNDO_LAST);
	assert_int_equal(u.result, 1);
	would_undo(&u, "4");
	would_hold(&u, "/f", "3");
	tree_write(&u.tree, "f", "1");
	run(&u, UNDO_ALL);
	assert_int_equal(u.result, 1);
	would_undo(&u, "1");
	would_hold(&u, "/f", "0");
	done(&u);
}

static void test_made_and_deleted(void **state _unused_)
{
	struct undo u;
	struct record *record;

	init(&u);
	tree_write(&u.tree, "made", "ours");
	tree_write(&u.tree, "already", "before");
	record = add_record(&u, "set off", NULL);
	add_edit(record, "/made", NULL, "ours");
	add_edit(record, "/deleted", "it was", NULL);
	add_edit(record, "/already", "before", "ours");
	run(&u, UNDO_LAST);
	assert_int_equal(u.result, 1);
	would_hold(&u, "/made", NULL);
	would_hold(&u, "/deleted", "it was");
	/* put back by hand: nothing to do, and no error */
	assert_null(changeset_find(&u.cs, "/already"));
	assert_int_equal(u.diag.n, 0);
	done(&u);
}

/* Somebody else wrote into the file since: only our words go. */
static void test_words(void **state _unused_)
{
	static const char before[] = "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"quiet\"\n",
			  written[] = "GRUB_TIMEOUT=5\n"
				      "GRUB_CMDLINE_LINUX=\"quiet cgroup_disable=memory\"\n",
			  now[] = "# mine\n"
				  "GRUB_CMDLINE_LINUX=\"cgroup_disable=memory nosmt\"\n";
	struct undo u;

	init(&u);
	tree_write(&u.tree, "etc/default/grub", now);
	add_edit(add_record(&u, "set off", "grub-default"), GRUB_DEFAULT, before, written);
	run(&u, UNDO_LAST);
	assert_int_equal(u.result, 1);
	would_hold(&u, GRUB_DEFAULT, "# mine\nGRUB_CMDLINE_LINUX=\"nosmt\"\n");
	assert_int_equal(u.diag.n, 1);
	assert_int_equal(u.diag.messages[0].level, DIAG_NOTICE);
	assert_string_equal(u.diag.messages[0].path, GRUB_DEFAULT);
	done(&u);
}

/* A file that holds nothing but our words goes, although it is not as we wrote it. */
static void test_words_alone(void **state _unused_)
{
	struct undo u;

	init(&u);
	tree_write(&u.tree, "efi/loader/addons/" UKI_ADDON, "signed since");
	add_edit(add_record(&u, "set off", "systemd-boot"), "/efi/loader/addons/" UKI_ADDON,
		 NULL, "written");
	run(&u, UNDO_LAST);
	assert_int_equal(u.result, 1);
	would_hold(&u, "/efi/loader/addons/" UKI_ADDON, NULL);
	done(&u);
}

/* Where that cannot be told, nothing is done; a file that is gone holds nothing of ours. */
static void test_cannot_tell(void **state _unused_)
{
	static const char *const backends[] = { NULL, "none", "of-a-later-version" };

	for (size_t i = 0; i < ARRAY_SIZE(backends); i++) {
		struct undo u;

		init(&u);
		tree_write(&u.tree, "f", "somebody else's");
		add_edit(add_record(&u, "set off", backends[i]), "/f", "before", "written");
		run(&u, UNDO_LAST);
		assert_int_equal(u.result, -EBADMSG);
		assert_int_equal(u.diag.n, 1);
		assert_int_equal(u.diag.messages[0].level, DIAG_ERROR);
		assert_string_equal(u.diag.messages[0].path, "/f");
		assert_non_null(u.diag.messages[0].hint);
		assert_int_equal(u.cs.n, 0);

		assert_int_equal(unlinkat(root_fd(u.tree.root), "f", 0), 0);
		run(&u, UNDO_LAST);
		assert_int_equal(u.result, 1);
		assert_int_equal(u.cs.n, 0);
		assert_int_equal(u.diag.n, 0);
		done(&u);
	}
}

/* Files that are ours alone go whatever they hold, and for "unset" also without a record. */
static void test_owned(void **state _unused_)
{
	struct undo u;

	init(&u);
	tree_write(&u.tree, POLICY_SET_PATH, "edited");
	tree_write(&u.tree, GRUB_OUR_DROPIN, "left by nobody knows whom");
	add_edit(add_record(&u, "set off", NULL), POLICY_SET_PATH, NULL, "written");
	run(&u, UNDO_LAST);
	assert_int_equal(u.result, 1);
	would_hold(&u, POLICY_SET_PATH, NULL);
	assert_null(changeset_find(&u.cs, GRUB_OUR_DROPIN));
	/* the loader reads no policy */
	would_run(&u, "no-trial next");
	assert_null(u.cs.backend);

	run(&u, UNDO_ALL);
	assert_int_equal(u.result, 1);
	would_hold(&u, POLICY_SET_PATH, NULL);
	would_hold(&u, GRUB_OUR_DROPIN, NULL);
	would_run(&u, "no-trial all; refresh nothing");
	done(&u);
}

/* Directories that were made go, innermost first, and only those of what is taken back. */
static void test_directories(void **state _unused_)
{
	struct undo u;
	struct record *record;

	init(&u);
	record = add_record(&u, "set off", NULL);
	add_edit(record, "/a/b/f", NULL, "1");
	strv_add(&record->made, "/a");
	strv_add(&record->made, "/a/b");
	record = add_record(&u, "set on", NULL);
	add_edit(record, "/c/f", NULL, "1");
	strv_add(&record->made, "/c");
	tree_write(&u.tree, "a/b/f", "1");
	tree_write(&u.tree, "c/f", "1");
	run(&u, UNDO_LAST);
	assert_int_equal(u.cs.rmdirs.n, 1);
	assert_string_equal(u.cs.rmdirs.items[0], "/c");
	run(&u, UNDO_ALL);
	assert_int_equal(u.cs.rmdirs.n, 3);
	assert_string_equal(u.cs.rmdirs.items[0], "/c");
	assert_string_equal(u.cs.rmdirs.items[1], "/a/b");
	assert_string_equal(u.cs.rmdirs.items[2], "/a");
	done(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_and_all),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_made_and_deleted),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_words_alone),
		cmocka_unit_test(test_cannot_tell),
		cmocka_unit_test(test_owned),
		cmocka_unit_test(test_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
