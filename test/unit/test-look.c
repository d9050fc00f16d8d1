/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "need-tree.h"

#include "base/diag.h"
#include "base/str.h"

#include <stdio.h>

static void test_rules(void **state _unused_)
{
	static const struct need_case cases[] = {
		/* installed only, and in use implies installed */
		{ "[Installed]\nPath=/usr/bin/x /usr/sbin/x\n[InUse]\nPath=/var/lib/x/*\n",
		  { { "usr/sbin/x", "" } },
		  "yes no 0: /usr/sbin/x:0 is there" },
		{ "[Installed]\nPath=/usr/bin/x\n[InUse]\nPath=/var/lib/x/*\n",
		  { { "usr/sbin/x", "" }, { "var/lib/x/job", "" } },
		  "yes yes 0: /var/lib/x/job:0 is there" },
		{ "[Installed]\nPath=/usr/bin/x\n[InUse]\nPath=/var/lib/x/*\n",
		  { { "usr/bin/x", "->gone" } },
		  "none" },
		/* INI and shell; the last assignment counts; quotes; keys without case */
		{ "[InUse]\nSetting=/etc/x.conf Limit = yes\n",
		  { { "etc/x.conf", "# Limit=yes\nLIMIT = \"yes\"\n" } },
		  "yes yes 0: /etc/x.conf:2 Limit=yes" },
		{ "[InUse]\nSetting=/etc/x.conf Limit = yes\n",
		  { { "etc/x.conf", "Limit=yes\nlimit=no\n" } },
		  "none" },
		{ "[InUse]\nSetting=/etc/x.conf Limit != no\n",
		  { { "etc/x.conf", "export Limit='12 G'\n" } },
		  "yes yes 0: /etc/x.conf:1 Limit=12 G" },
		{ "[InUse]\nSetting=/etc/x.conf Limit != no\n",
		  { { "etc/x.conf", "a=b\n" } },
		  "none" },
		{ "[InUse]\nSetting=/etc/*.conf [A b] Limit exists\n",
		  { { "etc/x.conf", "[C]\nLimit=1\n" },
		    { "etc/y.conf", "[A b]\r\nLimit=2\r\n" } },
		  "yes yes 0: /etc/y.conf:2 Limit=2" },
		{ "[InUse]\nSetting=/etc/x.conf Mode ~ ^(a|b)$\n",
		  { { "etc/x.conf", "Mode=b" } },
		  "yes yes 0: /etc/x.conf:1 Mode=b" },
		/* text: what matched, not the whole line */
		{ "[InUse]\nText=/etc/x.conf --memory[= ][0-9]+[a-z]\n",
		  { { "etc/x.conf", "a\nrun --password=secret --memory=1g x\n" } },
		  "yes yes 0: /etc/x.conf:2 --memory=1g" },
		{ "[InUse]\nText=/etc/x.conf ^run .*[= ](--memory[= ][0-9]+)\n",
		  { { "etc/x.conf", "run --env=secret --memory=1 x\n" } },
		  "yes yes 0: /etc/x.conf:1 --memory=1" },
		{ "[InUse]\nText=/etc/x.conf ^run(x)?\n",
		  { { "etc/x.conf", "run y\n" } },
		  "yes yes 0: /etc/x.conf:1 run" },
		/* limits */
		{ "[Limits]\nJson=/var/x/*/c.json /Memory > 0\n[InUse]\nPath=/var/x/*/c.json\n",
		  { { "var/x/1/c.json", "{\"Memory\":0}" },
		    { "var/x/2/c.json", "{\"Memory\":5}" },
		    { "var/x/3/other", "" },
		    { "var/x/4", "a file" } },
		  "yes yes 1: /var/x/2/c.json:0 /Memory = 5; /var/x/1/c.json:0 is there; "
		  "/var/x/2/c.json:0 is there" },
		{ "[InUse]\nJson=/x.json /a/b~1c = on\n",
		  { { "x.json", "{\"a\":{\"b/c\":\"on\"}}" } },
		  "yes yes 0: /x.json:0 /a/b~1c = on" },
		{ "[InUse]\nJson=/x.json /a = true\n",
		  { { "x.json", "{\"a\":true}" } },
		  "yes yes 0: /x.json:0 /a = true" },
		{ "[InUse]\nJson=/x.json /a exists\n",
		  { { "x.json", "{\"a\":{}}" } },
		  "yes yes 0: /x.json:0 /a = (there)" },
		{ "[InUse]\nJson=/x.json /a > 0\n", { { "x.json", "{\"a\":\"9\"}" } }, "none" },
		/* with an escaped name the tree is built */
		{ "[InUse]\nJson=/x.json /a/0 = null\nJson=/x.json /b > 1\n",
		  { { "x.json", "{\"a\":[null],\"b\":2}" } },
		  "yes yes 0: /x.json:0 /a/0 = null; /x.json:0 /b = 2" },
		/* configured, but it does not run here; and with its unit enabled */
		{ "[Installed]\nPath=/etc/x.conf\n[Enabled]\nPath=/wants\n[InUse]\n"
		  "Setting=/etc/x.conf a = b\n",
		  { { "etc/x.conf", "a=b" } },
		  "yes no 0: /etc/x.conf:0 is there" },
		{ "[Installed]\nPath=/etc/x.conf\n[Enabled]\nPath=/wants\n[InUse]\n"
		  "Setting=/etc/x.conf a = b\n",
		  { { "etc/x.conf", "a=c" }, { "wants", "" } },
		  "yes no 0: /wants:0 is there; /etc/x.conf:0 is there" },
		{ "[Enabled]\nPath=/wants\n[InUse]\nSetting=/etc/x.conf a = b\n[Limits]\n"
		  "Setting=/etc/x.conf b exists\n",
		  { { "etc/x.conf", "a=b\nb=1" }, { "wants", "" } },
		  "yes yes 1: /etc/x.conf:2 b=1; /etc/x.conf:1 a=b; /wants:0 is there" },
		/* variables */
		{ "Variable=D /var/x Json /etc/x.json /data-root\n[InUse]\nPath=${D}/*\n",
		  { { "var/x/c", "" } },
		  "yes yes 0: /var/x/c:0 is there" },
		{ "Variable=D /var/x Json /etc/x.json /data-root\n[InUse]\nPath=${D}/*\n",
		  { { "var/x/c", "" },
		    { "srv/d", "" },
		    { "etc/x.json", "{\"data-root\":\"/srv\"}" } },
		  "yes yes 0: /srv/d:0 is there" },
		{ "Variable=D /var/x Setting /etc/x.conf dir\n[InUse]\nPath=${D}/*\n",
		  { { "srv/d", "" }, { "etc/x.conf", "dir = /srv\n" } },
		  "yes yes 0: /srv/d:0 is there" },
		/* links stay in the root */
		{ "[InUse]\nText=/etc/x.conf .\n",
		  { { "etc/x.conf", "->/etc/passwd" } },
		  "none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		need_check("rules", i, ROOT_OFFLINE, &cases[i]);
}

static void test_active(void **state _unused_)
{
	static const struct need_case cases[] = {
		{ "[InUse]\nUnitActive=a.service\n",
		  { { "run/systemd/units/invocation:a.service", "->0123" } },
		  "yes yes 0: /run/systemd/units/invocation:a.service:0 a.service is active" },
		{ "[InUse]\nUnitActive=a.service\n",
		  { { "run/systemd/units/log-level-max:a.service", "->6" } },
		  "none" },
		{ "[InUse]\nUnitActive=a@*.service\n",
		  { { "run/openrc/started/a@x", "->/etc/init.d/a" } },
		  "yes yes 0: /run/openrc/started/a@x:0 a@x.service is active" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct need_case offline = cases[i];

		need_check("live", i, ROOT_LIVE, &cases[i]);
		offline.want = "none";
		need_check("offline", i, ROOT_OFFLINE, &offline);
	}
}

/* What cannot be looked at is unknown, names the file, and hides nothing that was seen. */
static void test_failures(void **state _unused_)
{
	static const struct need_case cases[] = {
		{ "[InUse]\nText=/etc/x.conf memory\n",
		  { { "etc/x.conf", "|" } },
		  "no unknown 0:",
		  "/etc/x.conf: not a regular file, so it does not tell whether X is in use" },
		{ "[InUse]\nText=/etc/x.conf memory\nPath=/var/x\n",
		  { { "etc/x.conf", "|" }, { "var/x", "" } },
		  "yes yes 0: /var/x:0 is there",
		  "/etc/x.conf: not a regular file, so it does not tell whether X is in use" },
		{ "[InUse]\nJson=/etc/*.json /a = 1\n",
		  { { "etc/x.json", "{" }, { "etc/y.json", "{\"a\":2}" } },
		  "no unknown 0:",
		  "/etc/x.json: not JSON, so it does not tell whether X is in use" },
		{ "Variable=D /var/x Json /etc/x.json /data-root\n[InUse]\nPath=${D}/*\n"
		  "[Limits]\nPath=${D}/*\n",
		  { { "etc/x.json", "{\"data-root\":7}" } },
		  "no unknown 0:",
		  "/etc/x.json: names no usable directory, so it does not tell whether X is in "
		  "use" },
		{ "[Enabled]\nText=/wants x\n[InUse]\nPath=/there\n",
		  { { "wants", "|" }, { "there", "" } },
		  "no unknown 0: /there:0 is there",
		  "/wants: not a regular file, so it does not tell whether X is in use" },
		/* the catalogue's own mistakes */
		{ "[InUse]\nUnitEnable=a.service\n",
		  {},
		  "unknown unknown 0:",
		  "/" CATALOGUE "x.conf: unknown key: UnitEnable, so x is not judged by it" },
		{ "[InUse]\nPath=/var/x\n[InUse]\nText=/etc/x [a\n",
		  { { "var/x", "" } },
		  "yes yes 0: /var/x:0 is there",
		  "/" CATALOGUE "x.conf: not a regular expression: Unmatched [, [^, [:, [., or "
		  "[=, so x is not judged by it" },
		{ "[InUse]\nJson=/x a > 0\n",
		  {},
		  "unknown unknown 0:",
		  "/" CATALOGUE "x.conf: not understood, so x is not judged by it" },
		{ "[InUse]\nSetting=/x a > 0\n",
		  {},
		  "unknown unknown 0:",
		  "/" CATALOGUE "x.conf: not understood, so x is not judged by it" },
		{ "[InUse]\nPath=etc/x\n",
		  {},
		  "unknown unknown 0:",
		  "/" CATALOGUE
		  "x.conf: not an absolute path: etc/x, so x is not judged by it" },
		{ "[InUs]\nPath=/x\n",
		  {},
		  "unknown unknown 0:",
		  "/" CATALOGUE "x.conf: unknown section: InUs, so x is not judged by it" },
		{ "Level=much\n",
		  {},
		  "unknown unknown 0:",
		  "/" CATALOGUE "x.conf: unknown level: much, so x is not judged by it" },
		{ "Effect=\n[InUse]\nPath=/x\n",
		  {},
		  "none (incomplete)",
		  "/" CATALOGUE "x.conf: no Effect= in [Need], so x is not looked for" },
		/* other catalogue files than x.conf */
		{ "", { { "etc/memcg-policy/needs.d/x.conf", "" } }, "none", NULL },
		{ "[InUse]\nPath=/x\n",
		  { { "x", "" }, { "etc/memcg-policy/needs.d/x.conf", "->/dev/null" } },
		  "none",
		  NULL },
		{ "",
		  { { "etc/memcg-policy/needs.d/y.conf", "|" } },
		  "none (incomplete)",
		  "/etc/memcg-policy/needs.d/y.conf: cannot be read: not a regular file" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		need_check("failures", i, ROOT_OFFLINE, &cases[i]);
}

/* A file of 100 MiB, a line without end, a glob without end, a farm of links. */
static void test_bounds(void **state _unused_)
{
	static const struct {
		const char *rules;
		const char *path; /* NULL: the farm */
		off_t size;
		const char *warning;
	} cases[] = {
		{ "[InUse]\nJson=/etc/big.json /a = 1\n", "etc/big.json", 100 << 20,
		  "/etc/big.json: too large" },
		{ "[InUse]\nText=/etc/big memory\n", "etc/big", 2 << 20,
		  "/etc/big: too large" },
		{ "[InUse]\nPath=/farm/*/*/*/*/*/*/*/*/x\n", NULL, 0,
		  "/farm/*/*/*/*/*/*/*/*/x: too" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_needs_ struct needs needs = {};
		_cleanup_diag_ struct diag diag = {};
		_cleanup_free_ char *got = NULL, *warning = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		need_write_catalogue(&tree, cases[i].rules);
		if (cases[i].path) {
			_cleanup_free_ char *full = NULL;

			tree_write(&tree, cases[i].path, "");
			assert_int_equal(str_printf(&full, "%s/%s", tree.path, cases[i].path),
					 0);
			assert_int_equal(truncate(full, cases[i].size), 0);
		} else
			for (int k = 0; k < 20; k++) {
				char name[32];

				(void)snprintf(name, sizeof(name), "farm/%d", k); /* fits */
				tree_symlink(&tree, "/farm", name);
			}
		assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
		got = need_summary(&needs);
		assert_string_equal(got, "no unknown 0:");
		assert_int_equal(diag.n, 1);
		assert_int_equal(str_printf(&warning, "%s: %s", diag.messages[0].path,
					    diag.messages[0].text),
				 0);
		if (!str_skip_prefix(warning, cases[i].warning))
			fail_msg("case %zu: %s", i, warning);
		tree_done(&tree);
	}
}

/* Ten are listed, the rest is counted. */
static void test_many(void **state _unused_)
{
	_cleanup_needs_ struct needs needs = {};
	_cleanup_diag_ struct diag diag = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	need_write_catalogue(&tree, "[Limits]\nJson=/c/*/h.json /Memory > 0\n");
	for (int i = 0; i < 25; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "c/%d/h.json", i); /* fits */
		tree_write(&tree, name, "{\"Memory\":1}");
	}
	assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
	assert_int_equal(needs.items[0].n_limits, 25);
	assert_int_equal(needs.items[0].n_evidence, 11);
	assert_string_equal(needs.items[0].evidence[10].text, "and 15 more");
	tree_done(&tree);
}

/* What another user's home holds matters only where the software is installed. */
static void test_unreadable(void **state _unused_)
{
	for (int installed = 0; installed < 2; installed++) {
		_cleanup_needs_ struct needs needs = {};
		_cleanup_diag_ struct diag diag = {};
		_cleanup_free_ char *home = NULL, *got = NULL;
		struct tree tree;

		if (geteuid() == 0)
			assert_int_equal(seteuid(65534), 0);
		tree_init(&tree, ROOT_OFFLINE);
		need_write_catalogue(&tree,
				     "[Installed]\nPath=/usr/bin/x\n[InUse]\nPath=/home/*/x\n");
		tree_write(&tree, "home/a/x", "");
		if (installed)
			tree_write(&tree, "usr/bin/x", "");
		assert_int_equal(str_printf(&home, "%s/home/a", tree.path), 0);
		assert_int_equal(chmod(home, 0), 0);
		assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
		got = need_summary(&needs);
		assert_string_equal(got, installed ? "yes unknown 0: /usr/bin/x:0 is there"
						   : "none");
		assert_int_equal(diag.n, installed);
		if (installed)
			assert_string_equal(diag.messages[0].hint, "run it as root");
		assert_int_equal(chmod(home, 0700), 0);
		tree_done(&tree);
		if (getuid() == 0)
			assert_int_equal(seteuid(0), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),	 cmocka_unit_test(test_active),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_many),	 cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
