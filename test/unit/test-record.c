/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "boot/record.h"

#include <stdio.h>

static const struct strv no_dirs = {};

static void plan(struct changeset *cs, const struct tree *t, const char *path, const void *data,
		 size_t size)
{
	_cleanup_diag_ struct diag diag = {};

	assert_int_equal(
		changeset_edit(cs, t->root, path, 4096, data, size, 0640, ATOMIC_BOOT, &diag),
		0);
}

static void begin(const struct tree *t, const struct changeset *cs, const char *verb,
		  const struct strv *made)
{
	tree_mkdir(t, "var/lib/memcg-policy");
	assert_int_equal(record_begin(t->root, cs, verb, made), 0);
}

static void content_is(const struct content *content, const void *data, size_t size)
{
	if (!data) {
		assert_null(content->data);
		return;
	}
	assert_non_null(content->data);
	assert_int_equal(content->size, size);
	assert_memory_equal(content->data, data, size);
}

/* Whatever a file holds and is called comes back byte for byte. */
static void test_round_trip(void **state _unused_)
{
	static const char bytes[] = "\0\xff\n\x80\"\\\x1b[31m=";
	static const char *const names[] = {
		"/plain",    "/with space",	  "/new\nline", "/back\\slash",	      "/\\x41",
		"/\xff\xfe", "/caf\xc3\xa9.conf", "/quote\"",	"/\xe2\x80\xae.conf",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t size = 0; size < sizeof(bytes); size++) {
			_cleanup_changeset_ struct changeset cs = {};
			_cleanup_record_ struct record record = {};
			_cleanup_strv_ struct strv made = {};
			_cleanup_diag_ struct diag diag = {};
			struct tree t;

			tree_init(&t, ROOT_OFFLINE);
			tree_write_n(&t, names[i] + 1, bytes, size);
			plan(&cs, &t, names[i], bytes, sizeof(bytes) - 1);
			plan(&cs, &t, "/made", "x", 1);
			if (size > 0)
				plan(&cs, &t, names[i], NULL, 0);
			cs.backend = strdup("rpi");
			cs.want = BOOT_WANT_OFF;
			cs.refresh = REFRESH_RUN;
			strv_add(&made, "/etc/default/grub.d");
			strv_add(&cs.rmdirs, "/etc");
			begin(&t, &cs, "set off", &made);

			assert_int_equal(record_load_pending(t.root, &record, &diag), 1);
			assert_string_equal(record.verb, "set off");
			assert_string_equal(record.version, VERSION);
			assert_string_equal(record.changes.backend, "rpi");
			assert_int_equal(record.changes.want, BOOT_WANT_OFF);
			assert_int_equal(record.changes.refresh, REFRESH_RUN);
			assert_int_equal(record.made.n, 1);
			assert_string_equal(record.made.items[0], "/etc/default/grub.d");
			assert_string_equal(record.changes.rmdirs.items[0], "/etc");
			assert_int_equal(record.changes.n, cs.n);
			for (size_t k = 0; k < cs.n; k++) {
				const struct edit *e = &record.changes.edits[k];

				assert_string_equal(e->path, cs.edits[k].path);
				content_is(&e->old, cs.edits[k].old.data, cs.edits[k].old.size);
				content_is(&e->new, cs.edits[k].new.data, cs.edits[k].new.size);
				assert_int_equal(e->mode, 0640);
				assert_int_equal(e->flags, ATOMIC_BOOT);
			}
			tree_done(&t);
		}
}

static void test_pending_is_never_overwritten(void **state _unused_)
{
	_cleanup_changeset_ struct changeset cs = {};
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	plan(&cs, &t, "/f", "new", 3);
	begin(&t, &cs, "first", &no_dirs);
	assert_int_equal(record_begin(t.root, &cs, "second", &no_dirs), -ESTALE);
	assert_true(record_is_pending(t.root));
	assert_int_equal(record_forget(t.root), 0);
	assert_false(record_is_pending(t.root));
	tree_done(&t);
}

#define EDIT "{\"path\":\"/f\",\"mode\":420,\"flags\":0,\"old\":null,\"new\":\"eA==\"}"
#define RECORD(schema, time, want, undoes, made, rmdirs, edits)                       \
	"{\"schema\":" schema ",\"version\":\"1\",\"time\":" time                     \
	",\"verb\":\"set off\",\"backend\":null,\"want\":" want ",\"refresh\":false," \
	"\"undoes\":" undoes ",\"made\":" made ",\"rmdirs\":" rmdirs ",\"edits\":" edits "}"

/* A record that is not whole is never acted on. */
static void test_broken_records(void **state _unused_)
{
	static const struct {
		const char *text;
		bool good;
	} cases[] = {
		{ RECORD("1", "7", "\"off\"", "[]", "[]", "[]", "[" EDIT "]"), true },
		{ RECORD("1", "7", "\"on\"", "[1,2]", "[\"/d\"]", "[\"/d\"]", "[]"), true },
		{ RECORD("2", "7", "\"off\"", "[]", "[]", "[]", "[" EDIT "]"), false },
		{ RECORD("1", "-7", "\"off\"", "[]", "[]", "[]", "[]"), false },
		{ RECORD("1", "1e30", "\"off\"", "[]", "[]", "[]", "[]"), false },
		{ RECORD("1", "7", "\"maybe\"", "[]", "[]", "[]", "[]"), false },
		{ RECORD("1", "7", "null", "[]", "[]", "[]", "[]"), false },
		{ RECORD("1", "7", "\"off\"", "null", "[]", "[]", "[]"), false },
		{ RECORD("1", "7", "\"off\"", "[4294967296]", "[]", "[]", "[]"), false },
		{ RECORD("1", "7", "\"off\"", "[\"1\"]", "[]", "[]", "[]"), false },
		{ RECORD("1", "7", "\"off\"", "[]", "[\"d\"]", "[]", "[]"), false },
		{ RECORD("1", "7", "\"off\"", "[]", "[]", "[7]", "[]"), false },
		{ RECORD("1", "7", "\"off\"", "[]", "[]", "[]", "{}"), false },
		{ RECORD("1", "7", "\"off\"", "[]", "[]", "[]", "[null]"), false },
		{ RECORD("1", "7", "\"off\"", "[]", "[]", "[]",
			 "[{\"path\":\"f\",\"mode\":420,\"flags\":0,\"old\":null,\"new\":null}"
			 "]"),
		  false },
		{ RECORD("1", "7", "\"off\"", "[]", "[]", "[]",
			 "[{\"path\":\"/f\",\"mode\":420,\"flags\":0,\"new\":null}]"),
		  false },
		{ RECORD("1", "7", "\"off\"", "[]", "[]", "[]",
			 "[{\"path\":\"/"
			 "f\",\"mode\":4096,\"flags\":0,\"old\":null,\"new\":null}]"),
		  false },
		{ RECORD("1", "7", "\"off\"", "[]", "[]", "[]",
			 "[{\"path\":\"/"
			 "f\",\"mode\":420,\"flags\":-1,\"old\":null,\"new\":null}]"),
		  false },
		{ RECORD("1", "7", "\"off\"", "[]", "[]", "[]",
			 "[{\"path\":\"/f\",\"path_bytes\":\"L2YA\",\"mode\":420,\"flags\":0,"
			 "\"old\":null,\"new\":null}]"),
		  false },
		{ "", false },
		{ "{}", false },
		{ "[]", false },
		{ "null", false },
		{ "{\"schema\":1", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_record_ struct record record = {};
		_cleanup_history_ struct history history = {};
		_cleanup_diag_ struct diag diag = {};
		struct tree t;

		tree_init(&t, ROOT_OFFLINE);
		tree_write(&t, "var/lib/memcg-policy/pending.json", cases[i].text);
		tree_write(&t, "var/lib/memcg-policy/0001.json", cases[i].text);
		assert_int_equal(record_load_pending(t.root, &record, &diag),
				 cases[i].good ? 1 : -EBADMSG);
		assert_int_equal(diag_count(&diag, DIAG_ERROR), cases[i].good ? 0 : 1);
		assert_int_equal(history_load(t.root, &history, &diag), 0);
		assert_int_equal(history.n, cases[i].good ? 1 : 0);
		assert_int_equal(diag_count(&diag, DIAG_WARNING), cases[i].good ? 0 : 1);
		tree_done(&t);
	}
}

static void test_base64(void **state _unused_)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		/* RFC 4648, section 10 */
		{ "", "" },
		{ "Zg==", "f" },
		{ "Zm8=", "fo" },
		{ "Zm9v", "foo" },
		{ "Zm9vYg==", "foob" },
		{ "Zm9vYmE=", "fooba" },
		{ "Zm9vYmFy", "foobar" },
		{ "Zg=", NULL },
		{ "Zg", NULL },
		{ "Z===", NULL },
		{ "====", NULL },
		{ "Zg==Zg==", NULL },
		{ "Zg=v", NULL },
		{ "Zm9 ", NULL },
		{ "Zm9-", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_record_ struct record record = {};
		_cleanup_diag_ struct diag diag = {};
		_cleanup_free_ char *json = NULL;
		struct tree t;

		tree_init(&t, ROOT_OFFLINE);
		assert_true(str_printf(&json,
				       RECORD("1", "7", "\"off\"", "[]", "[]", "[]",
					      "[{\"path\":\"/f\",\"mode\":420,\"flags\":0,"
					      "\"old\":null,\"new\":\"%s\"}]"),
				       cases[i].text) >= 0);
		tree_write(&t, "var/lib/memcg-policy/pending.json", json);
		assert_int_equal(record_load_pending(t.root, &record, &diag),
				 cases[i].want ? 1 : -EBADMSG);
		if (cases[i].want)
			content_is(&record.changes.edits[0].new, cases[i].want,
				   strlen(cases[i].want));
		tree_done(&t);
	}
}

static void test_numbers(void **state _unused_)
{
	static const char good[] = RECORD("1", "7", "\"off\"", "[]", "[]", "[]", "[]");
	_cleanup_changeset_ struct changeset cs = {};
	_cleanup_history_ struct history history = {};
	_cleanup_diag_ struct diag diag = {};
	static const unsigned want[] = { 2, 10, 9999, 10000 };
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	assert_int_equal(history_load(t.root, &history, &diag), 0); /* nothing yet */
	assert_int_equal(history.n, 0);
	history_done(&history);
	tree_write(&t, "var/lib/memcg-policy/0010.json", good);
	tree_write(&t, "var/lib/memcg-policy/0002.json", good);
	tree_write(&t, "var/lib/memcg-policy/9999.json", good);
	tree_write(&t, "var/lib/memcg-policy/0000.json", good);
	tree_write(&t, "var/lib/memcg-policy/x.json", good);
	tree_write(&t, "var/lib/memcg-policy/0011.json.dpkg-old", good);
	begin(&t, &cs, "set off", &no_dirs);
	assert_int_equal(record_commit(t.root), 0);
	assert_false(record_is_pending(t.root));
	assert_int_equal(history_load(t.root, &history, &diag), 0);
	assert_int_equal(history.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < history.n; i++)
		assert_int_equal(history.records[i].number, want[i]);
	assert_int_equal(diag.n, 0);
	tree_done(&t);
}

/* 1, 2, undo of 2, undo of that undo, unset of both */
static void test_taken_back(void **state _unused_)
{
	static const struct {
		const char *undoes;
		const char *taken_back; /* as a run of 0 and 1, after this record was made */
	} steps[] = {
		{ "[]", "0" },	   { "[]", "00" },	 { "[2]", "010" },
		{ "[3]", "0010" }, { "[1,2]", "11100" }, { "[99]", "111000" },
	};
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		_cleanup_history_ struct history history = {};
		_cleanup_diag_ struct diag diag = {};
		_cleanup_free_ char *json = NULL, *path = NULL;

		assert_true(str_printf(&json,
				       RECORD("1", "7", "\"off\"", "%s", "[]", "[]", "[]"),
				       steps[i].undoes) >= 0);
		assert_true(str_printf(&path, "var/lib/memcg-policy/%04zu.json", i + 1) >= 0);
		tree_write(&t, path, json);
		assert_int_equal(history_load(t.root, &history, &diag), 0);
		assert_int_equal(history.n, i + 1);
		for (size_t k = 0; k <= i; k++)
			assert_int_equal(history.records[k].taken_back,
					 steps[i].taken_back[k] == '1');
	}
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_pending_is_never_overwritten),
		cmocka_unit_test(test_broken_records),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
