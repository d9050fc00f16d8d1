/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "policy/policy.h"

#define ETC "etc/memcg-policy/"
#define RUN "run/memcg-policy/"
#define USR "usr/lib/memcg-policy/"

#define ROLES                               \
	"[Policy]\nMemcg=leave\n"           \
	"[Role container-host]\nMemcg=on\n" \
	"[Role desktop]\nMemcg=auto\nIfUnneeded=off\n"

struct file {
	const char *path;
	const char *text; /* NULL: a link to /dev/null */
};

static void write_files(const struct tree *tree, const struct file *files)
{
	for (; files->path; files++)
		if (files->text)
			tree_write(tree, files->path, files->text);
		else
			tree_symlink(tree, "/dev/null", files->path);
}

/* "memcg@path:line role effective level unneeded@line backend failclosed..." */
static char *summary(const struct policy *p)
{
	struct strbuf buf = {};
	char *ret;

	strbuf_addf(&buf, "%s@%s:%u %s %s %s %s %s", policy_memcg_to_string(p->memcg.value),
		    p->memcg.source.path ? p->memcg.source.path : "", p->memcg.source.line,
		    p->role.value ? p->role.value : "-",
		    p->effective_role ? p->effective_role : "-",
		    need_level_to_string(p->need_level.value),
		    policy_memcg_to_string(p->if_unneeded.value),
		    p->backend.value ? p->backend.value : "-");
	for (size_t i = 0; i < p->n_fail_closed; i++)
		strbuf_addf(&buf, " %s:%u:%u", p->fail_closed[i].value,
			    p->fail_closed[i].source.line, p->fail_closed[i].source.column);
	assert_int_equal(strbuf_take(&buf, &ret, NULL), 0);
	return ret;
}

static void test_files(void **state _unused_)
{
	static const struct {
		struct file files[5];
		const char *want;
	} cases[] = {
		{ {}, "leave@:0 - - degraded leave -" },
		{ { { USR "policy.conf", ROLES } },
		  "leave@/usr/lib/memcg-policy/policy.conf:2 - - degraded leave -" },
		/* the highest policy.conf stands alone; in a live root /run is read */
		{ { { USR "policy.conf", ROLES },
		    { RUN "policy.conf", "[Policy]\nMemcg=on\n" } },
		  "on@/run/memcg-policy/policy.conf:2 - - degraded leave -" },
		{ { { RUN "policy.conf", "[Policy]\nMemcg=on\n" },
		    { ETC "policy.conf", "[Policy]\nMemcg=off\n" } },
		  "off@/etc/memcg-policy/policy.conf:2 - - degraded leave -" },
		/* masks: an empty file, a link */
		{ { { USR "policy.conf", "[Policy]\nMemcg=on\n" }, { ETC "policy.conf", "" } },
		  "leave@:0 - - degraded leave -" },
		{ { { USR "policy.conf", "[Policy]\nMemcg=on\n" },
		    { ETC "policy.conf", NULL } },
		  "leave@:0 - - degraded leave -" },
		{ { { USR "policy.conf.d/a.conf", "[Policy]\nMemcg=on\n" },
		    { ETC "policy.conf.d/a.conf", NULL } },
		  "leave@:0 - - degraded leave -" },
		/* order is by file name alone, wherever the file lies */
		{ { { ETC "policy.conf.d/10.conf", "[Policy]\nMemcg=off\n" },
		    { USR "policy.conf.d/20.conf", "[Policy]\nMemcg=on\n" } },
		  "on@/usr/lib/memcg-policy/policy.conf.d/20.conf:2 - - degraded leave -" },
		{ { { ETC "policy.conf.d/10.conf", "[Policy]\nMemcg=off\n" },
		    { USR "policy.conf.d/10.conf", "[Policy]\nMemcg=on\n" },
		    { USR "policy.conf.d/20.conf~", "[Policy]\nMemcg=on\n" },
		    { USR "policy.conf.d/.30.conf", "[Policy]\nMemcg=on\n" } },
		  "off@/etc/memcg-policy/policy.conf.d/10.conf:2 - - degraded leave -" },
		/* a set key beats the role; an empty one lets it speak */
		{ { { USR "policy.conf", ROLES },
		    { ETC "policy.conf.d/50-set.conf", "[Policy]\nRole=desktop\n" } },
		  "leave@/usr/lib/memcg-policy/policy.conf:2 desktop desktop degraded off -" },
		{ { { USR "policy.conf", ROLES },
		    { ETC "policy.conf.d/50-set.conf", "[Policy]\nRole=desktop\nMemcg=\n" } },
		  "auto@/usr/lib/memcg-policy/policy.conf:6 desktop desktop degraded off -" },
		{ { { USR "policy.conf", ROLES },
		    { ETC "policy.conf.d/50-set.conf", "[Policy]\nRole=desktop\nMemcg=\n" },
		    { ETC "policy.conf.d/60.conf",
		      "[Role desktop]\nMemcg=off\nNeedLevel=limits\n" } },
		  "off@/etc/memcg-policy/policy.conf.d/60.conf:2 desktop desktop limits off "
		  "-" },
		/* a role of the site's own */
		{ { { ETC "policy.conf.d/x.conf",
		      "[Role build-farm]\nMemcg=on\nBackend=grub-dropin\n"
		      "FailClosed=db-*.service\n[Policy]\nRole=build-farm\n" } },
		  "on@/etc/memcg-policy/policy.conf.d/x.conf:2 build-farm build-farm degraded "
		  "leave grub-dropin db-*.service:4:12" },
		/* Role=auto waits for policy_resolve() */
		{ { { USR "policy.conf", ROLES },
		    { ETC "policy.conf.d/50.conf", "[Policy]\nRole=auto\nMemcg=\n" } },
		  "leave@:0 auto - degraded leave -" },
		/* lists add up, an empty assignment starts again */
		{ { { ETC "policy.conf.d/x.conf",
		      "[Policy]\nFailClosed=a.service\nFailClosed= b.service  c*.service\n" } },
		  "leave@:0 - - degraded leave - a.service:2:12 b.service:3:13 "
		  "c*.service:3:24" },
		{ { { ETC "policy.conf.d/x.conf",
		      "[Policy]\nFailClosed=a.service\nFailClosed=\nFailClosed=b.service\n" } },
		  "leave@:0 - - degraded leave - b.service:4:12" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_diag_ struct diag diag = {};
		_cleanup_policy_ struct policy policy = {};
		_cleanup_free_ char *got = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_LIVE);
		tree_mkdir(&tree, USR);
		write_files(&tree, cases[i].files);
		assert_int_equal(policy_load(tree.root, &policy, &diag), 0);
		got = summary(&policy);
		if (!streq(got, cases[i].want))
			fail_msg("case %zu: got\n%s\nwanted\n%s", i, got, cases[i].want);
		assert_int_equal(diag.n, 0);
		tree_done(&tree);
	}
}

static void test_offline_run(void **state _unused_)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_policy_ struct policy policy = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	tree_mkdir(&tree, USR);
	tree_write(&tree, RUN "policy.conf", "[Policy]\nMemcg=on\n");
	assert_int_equal(policy_load(tree.root, &policy, &diag), 0);
	assert_int_equal(policy.memcg.value, POLICY_LEAVE);
	tree_done(&tree);
}

/* One file x.conf each: the first message as "line:column+width text (hint)". */
static void test_messages(void **state _unused_)
{
	static const struct {
		const char *text;
		int result;
		const char *want;
	} cases[] = {
		{ "[Policy]\nMemcg = of\n", -EINVAL,
		  "2:9+2 Memcg= does not know \"of\" (did you mean off? Memcg= knows on, off, "
		  "auto, leave)" },
		{ "[Policy]\nMemcg=off # for now\n", -EINVAL,
		  "2:7+13 Memcg= does not know \"off # for now\" (a comment has a line of its "
		  "own; Memcg= knows on, off, auto, leave)" },
		{ "[Policy]\nMemcg=ON\n", -EINVAL,
		  "2:7+2 Memcg= does not know \"ON\" (Memcg= knows on, off, auto, leave)" },
		{ "[Policy]\nIfUnneeded=on\n", -EINVAL,
		  "2:12+2 IfUnneeded= does not know \"on\" (IfUnneeded= knows off, leave)" },
		{ "[Policy]\nNeedLevel=limit\n", -EINVAL,
		  "2:11+5 NeedLevel= does not know \"limit\" (did you mean limits? NeedLevel= "
		  "knows required, limits, degraded, monitor)" },
		{ "[Policy]\nRole=dekstop\n[Role desktop]\n", -EINVAL,
		  "2:6+7 there is no role \"dekstop\" (did you mean desktop?)" },
		{ "[Policy]\nRole=kiosk\n", -EINVAL,
		  "2:6+5 there is no role \"kiosk\" (describe it in a section [Role kiosk])" },
		{ "[Policy]\nRole=off\n", -EINVAL,
		  "2:6+3 Role= does not know \"off\" (on, off and leave are values of "
		  "Memcg=)" },
		{ "[Role auto]\n", -EINVAL,
		  "1:1+11 \"auto\" cannot be the name of a role (a role is named by letters, "
		  "digits, - and _; on, off, auto and leave are policies)" },
		{ "[Role]\n", -EINVAL,
		  "1:1+6 \"\" cannot be the name of a role (a role is named by letters, "
		  "digits, - and _; on, off, auto and leave are policies)" },
		{ "[Policy]\nFailClosed=a.service *\n", -EINVAL,
		  "2:22+1 FailClosed=* would stop every unit (name the units, or globs such as "
		  "db-*.service)" },
		{ "[Policy]\nFailClosed=*.service\n", -EINVAL,
		  "2:12+9 FailClosed=*.service would stop every unit (name the units, or globs "
		  "such as db-*.service)" },
		{ "[Policy]\nFailClosed=/etc/x.service\n", -EINVAL,
		  "2:12+14 FailClosed= takes unit names, not \"/etc/x.service\" (name the "
		  "units, "
		  "or globs such as db-*.service)" },
		{ "[Policy\nMemcg=off\n", -EINVAL, "1:1+0 a section header ends with ]" },
		{ "[Policy]\nMemcg=\xff\n", -EINVAL, "2:1+0 not UTF-8 text" },
		{ "[Policy]\nMemCg=off\n", 0,
		  "2:1+5 unknown key MemCg=, ignored (did you mean Memcg=?)" },
		{ "[Policy]\nColour=off\n", 0, "2:1+6 unknown key Colour=, ignored" },
		{ "[Polcy]\nMemcg=of\n", 0,
		  "1:1+7 unknown section [Polcy], ignored; there are [Policy] and [Role "
		  "NAME]" },
		{ "Memcg=off\n", 0, "1:1+5 Memcg= before the first section, ignored" },
		{ "[Role x]\nRole=y\n", 0, "2:1+4 Role= belongs in [Policy], ignored" },
		{ "[Policy]\n  Memcg off\n", 0, "2:3+9 not of the form Key=value, ignored" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_diag_ struct diag diag = {};
		_cleanup_policy_ struct policy policy = {};
		_cleanup_free_ char *got = NULL;
		struct diag_message *m;
		struct tree tree;
		int r;

		tree_init(&tree, ROOT_OFFLINE);
		tree_mkdir(&tree, USR);
		tree_write(&tree, ETC "policy.conf.d/x.conf", cases[i].text);
		r = policy_load(tree.root, &policy, &diag);
		if (r != cases[i].result || diag.n == 0)
			fail_msg("case %zu: result %d, %zu messages", i, r, diag.n);
		m = &diag.messages[0];
		assert_string_equal(m->path, "/etc/memcg-policy/policy.conf.d/x.conf");
		assert_int_equal(str_printf(&got, "%u:%u+%u %s%s%s%s", m->line, m->column,
					    m->width, m->text, m->hint ? " (" : "",
					    m->hint ? m->hint : "", m->hint ? ")" : ""),
				 0);
		if (!streq(got, cases[i].want))
			fail_msg("case %zu: got\n%s\nwanted\n%s", i, got, cases[i].want);
		assert_int_equal(m->level, r < 0 ? DIAG_ERROR : DIAG_WARNING);
		tree_done(&tree);
	}
}

static void test_unreadable(void **state _unused_)
{
	static const char *const paths[] = {
		ETC "policy.conf",
		ETC "policy.conf.d/x.conf",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		for (int kind = 0; kind < 4; kind++) {
			_cleanup_diag_ struct diag diag = {};
			_cleanup_policy_ struct policy policy = {};
			_cleanup_free_ char *full = NULL, *big = NULL;
			struct tree tree;

			tree_init(&tree, ROOT_OFFLINE);
			/* what is lower must not stand in for a file that cannot be read */
			tree_write(&tree, USR "policy.conf", "[Policy]\nMemcg=on\n");
			assert_int_equal(str_printf(&full, "%s/%s", tree.path, paths[i]), 0);
			if (kind == 0)
				tree_mkdir(&tree, paths[i]);
			else if (kind == 1)
				tree_symlink(&tree, "/nowhere", paths[i]);
			else if (kind == 2) {
				tree_mkdir(&tree, ETC "policy.conf.d");
				assert_int_equal(mkfifo(full, 0600), 0);
			} else {
				big = calloc(1, ROOT_MAX_POLICY + 1);
				assert_non_null(big);
				memset(big, '#', ROOT_MAX_POLICY + 1);
				tree_write_n(&tree, paths[i], big, ROOT_MAX_POLICY + 1);
			}
			assert_true(policy_load(tree.root, &policy, &diag) < 0);
			assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
			assert_string_equal(diag.messages[0].path + 1, paths[i]);
			tree_done(&tree);
		}
}

static void test_resolve(void **state _unused_)
{
	_cleanup_diag_ struct diag diag = {};
	_cleanup_policy_ struct policy policy = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, USR "policy.conf", ROLES);
	tree_write(&tree, ETC "policy.conf.d/a.conf", "[Policy]\nRole=auto\nMemcg=\n");
	assert_int_equal(policy_load(tree.root, &policy, &diag), 0);
	assert_int_equal(policy_resolve(&policy, "container-host"), 0);
	assert_int_equal(policy.memcg.value, POLICY_ON);
	assert_int_equal(policy_resolve(&policy, "desktop"), 0);
	assert_int_equal(policy.memcg.value, POLICY_AUTO);
	assert_int_equal(policy.if_unneeded.value, POLICY_OFF);
	assert_string_equal(policy.role.value, "auto");
	assert_string_equal(policy.effective_role, "desktop");
	/* a role that nothing describes says nothing */
	assert_int_equal(policy_resolve(&policy, "server"), 0);
	assert_int_equal(policy.memcg.value, POLICY_LEAVE);
	tree_done(&tree);
}

static void test_set(void **state _unused_)
{
	static const struct {
		const char *word;
		const char *later; /* text of 60-x.conf, or NULL */
		int result;
		const char *want; /* error text, or the policy's summary */
		unsigned line;
	} cases[] = {
		{ "off", NULL, 0, "off@" POLICY_SET_PATH ":4 - - degraded leave -", 0 },
		{ "auto", NULL, 0, "auto@" POLICY_SET_PATH ":4 - - degraded leave -", 0 },
		{ "container-host", NULL, 0,
		  "on@/usr/lib/memcg-policy/policy.conf:4 container-host container-host "
		  "degraded "
		  "leave -",
		  0 },
		{ "off", "[Policy]\nMemcg=on\n", -EEXIST,
		  "Memcg=on is read after " POLICY_SET_PATH " and would win", 2 },
		{ "off", "[Policy]\nMemcg=off\n", 0,
		  "off@/etc/memcg-policy/policy.conf.d/60-x.conf:2 - - degraded leave -", 0 },
		{ "off", "[Policy]\nMemcg=\n", -EEXIST,
		  "Memcg= is read after " POLICY_SET_PATH " and would win", 2 },
		{ "desktop", "[Policy]\nMemcg=off\n", -EEXIST,
		  "Memcg=off is read after " POLICY_SET_PATH " and would win", 2 },
		{ "desktop", "[Policy]\n\nRole=container-host\n", -EEXIST,
		  "Role=container-host is read after " POLICY_SET_PATH " and would win", 3 },
		{ "desktop", "[Role desktop]\nMemcg=off\n", 0,
		  "off@/etc/memcg-policy/policy.conf.d/60-x.conf:2 desktop desktop degraded "
		  "off -",
		  0 },
		{ "dekstop", NULL, -ENOENT, "\"dekstop\" is neither a policy nor a role", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_diag_ struct diag diag = {};
		_cleanup_policy_ struct policy before = {}, after = {};
		_cleanup_free_ char *content = NULL, *got = NULL;
		struct tree tree;
		int r;

		tree_init(&tree, ROOT_OFFLINE);
		tree_write(&tree, USR "policy.conf", ROLES);
		tree_write(&tree, USR "policy.conf.d/50-set.conf", "[Policy]\nBackend=none\n");
		if (cases[i].later)
			tree_write(&tree, ETC "policy.conf.d/60-x.conf", cases[i].later);
		assert_int_equal(policy_load(tree.root, &before, &diag), 0);
		r = policy_set_content(&before, cases[i].word, &content, &diag);
		if (r == 0) {
			assert_int_equal(policy_load_with(tree.root, content, &after, &diag),
					 0);
			r = policy_set_check(&after, cases[i].word, &diag);
		}
		if (r != cases[i].result)
			fail_msg("case %zu: result %d", i, r);
		if (r == 0) {
			got = summary(&after);
			assert_int_equal(diag.n, 0);
		} else {
			got = strdup(diag.messages[0].text);
			assert_int_equal(diag.messages[0].line, cases[i].line);
		}
		if (!streq(got, cases[i].want))
			fail_msg("case %zu: got\n%s\nwanted\n%s", i, got, cases[i].want);
		if (r == 0) {
			/* what is written afterwards reads as was foretold */
			_cleanup_policy_ struct policy real = {};
			_cleanup_free_ char *again = NULL;

			tree_write(&tree, POLICY_SET_PATH, content);
			assert_int_equal(policy_load(tree.root, &real, &diag), 0);
			again = summary(&real);
			assert_string_equal(again, got);
		}
		/* and without it the lower file of that name is back */
		policy_done(&after);
		assert_int_equal(policy_load_with(tree.root, NULL, &after, &diag), 0);
		assert_string_equal(after.backend.value, "none");
		tree_done(&tree);
	}
}

/*
 * What is shipped says leave, and knows the four roles; it is built in for roots that lack it,
 * and a root that has a place of its own for it gets none of it.
 */
static void test_shipped(void **state _unused_)
{
	static const char *const roles[] = { "container-host", "desktop", "server",
					     "embedded" };
	static const char *const want[] = {
		"on@built-in:policy.conf:17 container-host container-host degraded leave -",
		"auto@built-in:policy.conf:20 desktop desktop degraded off -",
		"auto@built-in:policy.conf:24 server server degraded leave -",
		"auto@built-in:policy.conf:28 embedded embedded degraded off -",
	};
	_cleanup_diag_ struct diag diag = {};
	_cleanup_policy_ struct policy policy = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	assert_int_equal(policy_load(tree.root, &policy, &diag), 0);
	assert_int_equal(diag.n, 0);
	assert_int_equal(policy.memcg.value, POLICY_LEAVE);
	assert_string_equal(policy.memcg.source.path, "built-in:policy.conf");
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		_cleanup_policy_ struct policy with = {};
		_cleanup_free_ char *content = NULL, *got = NULL;

		assert_int_equal(policy_set_content(&policy, roles[i], &content, &diag), 0);
		assert_int_equal(policy_load_with(tree.root, content, &with, &diag), 0);
		got = summary(&with);
		assert_string_equal(got, want[i]);
	}
	policy_done(&policy);
	tree_mkdir(&tree, USR);
	assert_int_equal(policy_load(tree.root, &policy, &diag), 0);
	assert_null(policy.memcg.source.path);
	assert_false(policy_has_role(&policy, "desktop"));
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),	 cmocka_unit_test(test_offline_run),
		cmocka_unit_test(test_messages), cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_resolve),	 cmocka_unit_test(test_set),
		cmocka_unit_test(test_shipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
