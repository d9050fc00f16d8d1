/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "facts/running.h"
#include "needs/needs.h"
#include "policy/decide.h"

#include <stdio.h>

#define CATALOGUE "usr/lib/memcg-policy/needs.d/"
#define NEED	  "[Need]\nTitle=X\nLevel=limits\nEffect=it breaks\n"
#define UNIT	  "[Service]\nExecStart=/bin/x\n"

struct file {
	const char *path;
	const char *text; /* "->TARGET" is a link, "/" a directory, "|" a FIFO */
};

static void make(const struct tree *tree, const struct file *file)
{
	const char *target = str_skip_prefix(file->text, "->");
	_cleanup_free_ char *full = NULL, *parent = NULL;

	if (target)
		tree_symlink(tree, target, file->path);
	else if (streq(file->text, "/"))
		tree_mkdir(tree, file->path);
	else if (streq(file->text, "|")) {
		parent = strdup(file->path);
		assert_non_null(parent);
		if (strrchr(parent, '/')) {
			*strrchr(parent, '/') = '\0';
			tree_mkdir(tree, parent);
		}
		assert_int_equal(str_printf(&full, "%s/%s", tree->path, file->path), 0);
		assert_int_equal(mkfifo(full, 0600), 0);
	} else
		tree_write(tree, file->path, file->text);
}

/* "installed in_use limits: path:line text; ..." of the only need, or "none". */
static char *summary(const struct needs *needs)
{
	static const char *const states[] = { "no", "yes", "unknown" };
	struct strbuf buf = {};
	char *ret;

	if (needs->n == 0)
		strbuf_adds(&buf, "none");
	for (size_t i = 0; i < needs->n; i++) {
		const struct need *need = &needs->items[i];

		strbuf_addf(&buf, "%s%s %s %zu:", i > 0 ? "\n" : "", states[need->installed],
			    states[need->in_use], need->n_limits);
		for (size_t k = 0; k < need->n_evidence; k++)
			strbuf_addf(&buf, "%s %s:%u %s", k > 0 ? ";" : "",
				    need->evidence[k].path, need->evidence[k].line,
				    need->evidence[k].text);
	}
	if (needs->incomplete)
		strbuf_adds(&buf, " (incomplete)");
	assert_int_equal(strbuf_take(&buf, &ret, NULL), 0);
	return ret;
}

struct need_case {
	const char *rules; /* behind NEED in x.conf */
	struct file files[6];
	const char *want;
	const char *warning; /* "path: text" of the first, or NULL for none */
};

static void check(const char *name, size_t i, enum root_mode mode, const struct need_case *c)
{
	_cleanup_strbuf_ struct strbuf conf = {};
	_cleanup_needs_ struct needs needs = {};
	_cleanup_diag_ struct diag diag = {};
	_cleanup_free_ char *got = NULL, *warning = NULL;
	struct tree tree;

	tree_init(&tree, mode);
	strbuf_addf(&conf, NEED "%s", c->rules);
	tree_write(&tree, CATALOGUE "x.conf", conf.data);
	for (size_t k = 0; k < ARRAY_SIZE(c->files) && c->files[k].path; k++)
		make(&tree, &c->files[k]);
	assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
	got = summary(&needs);
	if (!streq(got, c->want))
		fail_msg("%s %zu: got\n%s\nwanted\n%s", name, i, got, c->want);
	if (diag.n > 0)
		assert_int_equal(str_printf(&warning, "%s: %s", diag.messages[0].path,
					    diag.messages[0].text),
				 0);
	if (!streq_ptr(warning, c->warning))
		fail_msg("%s %zu: warned\n%s\nwanted\n%s", name, i, warning ? warning : "none",
			 c->warning ? c->warning : "none");
	tree_done(&tree);
}

#define ETC   "etc/systemd/system/"
#define LIB   "usr/lib/systemd/system/"
#define WANTS ETC "multi-user.target.wants/"
#define SEEN  "yes yes 0: /" WANTS "a.service:0 a.service is enabled"

static void test_enabled(void **state _unused_)
{
	static const struct need_case cases[] = {
		{ "UnitEnabled=a.service\n", { { LIB "a.service", UNIT } }, "none" },
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT }, { WANTS "a.service", "->/" LIB "a.service" } },
		  SEEN },
		/* what a removed package leaves behind starts nothing */
		{ "UnitEnabled=a.service\n",
		  { { WANTS "a.service", "->/" LIB "a.service" } },
		  "none" },
		/* the link's own name counts, not its target */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { WANTS "a.service", "->/elsewhere/b.service" } },
		  SEEN },
		/* masked: link, empty file; the want itself masked */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { WANTS "a.service", "->/" LIB "a.service" },
		    { ETC "a.service", "->/dev/null" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { WANTS "a.service", "->/" LIB "a.service" },
		    { ETC "a.service", "" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { LIB "multi-user.target.wants/a.service", "->../a.service" },
		    { WANTS "a.service", "->/dev/null" } },
		  "none" },
		/* another target's link is not masked by it */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { LIB "basic.target.wants/a.service", "->../a.service" },
		    { WANTS "a.service", "->/dev/null" } },
		  "yes yes 0: /" LIB "basic.target.wants/a.service:0 a.service is enabled" },
		/* requires, upholds, the vendor's own links */
		{ "UnitEnabled=a.socket\n",
		  { { LIB "a.socket", "[Socket]\n" },
		    { ETC "b.service.requires/a.socket", "->/" LIB "a.socket" } },
		  "yes yes 0: /" ETC "b.service.requires/a.socket:0 a.socket is enabled" },
		{ "UnitEnabled=a.timer\n",
		  { { LIB "a.timer", "[Timer]\n" },
		    { LIB "timers.target.upholds/a.timer", "->../a.timer" } },
		  "yes yes 0: /" LIB "timers.target.upholds/a.timer:0 a.timer is enabled" },
		/* aliases: of the unit, and the want goes by the alias's name */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { ETC "dbus-a.service", "->/" LIB "a.service" } },
		  "yes yes 0: /" ETC "dbus-a.service:0 a.service is enabled" },
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT },
		    { LIB "b.service", "->a.service" },
		    { WANTS "b.service", "->/" LIB "b.service" } },
		  "yes yes 0: /" WANTS "b.service:0 b.service is enabled" },
		/* an alias that a package ships starts nothing by itself */
		{ "UnitEnabled=a.service\n",
		  { { LIB "a.service", UNIT }, { LIB "b.service", "->a.service" } },
		  "none" },
		{ "UnitEnabled=b.service\n",
		  { { ETC "b.service", "->c.service" },
		    { ETC "c.service", "->b.service" },
		    { WANTS "b.service", "->../b.service" } },
		  "none" },
		/* instances */
		{ "UnitEnabled=a@.service\n",
		  { { LIB "a@.service", UNIT },
		    { WANTS "a@x.service", "->/" LIB "a@.service" } },
		  "yes yes 0: /" WANTS "a@x.service:0 a@x.service is enabled" },
		{ "UnitEnabled=a@*.service b.service\n",
		  { { LIB "a@.service", UNIT },
		    { WANTS "a@x.service", "->/" LIB "a@.service" } },
		  "yes yes 0: /" WANTS "a@x.service:0 a@x.service is enabled" },
		{ "UnitEnabled=a@.service\n",
		  { { LIB "a@.service", UNIT },
		    { WANTS "a@x.service", "->/" LIB "a@.service" },
		    { ETC "a@.service", "->/dev/null" } },
		  "none" },
		/* split and merged /usr; a linked unit; an installer's own place */
		{ "UnitEnabled=a.service\n",
		  { { "lib/systemd/system/a.service", UNIT },
		    { WANTS "a.service", "->/lib/systemd/system/a.service" } },
		  SEEN },
		{ "UnitEnabled=a.service\n",
		  { { "lib", "->usr/lib" },
		    { LIB "a.service", UNIT },
		    { WANTS "a.service", "->/lib/systemd/system/a.service" } },
		  SEEN },
		{ "UnitEnabled=a.service\n",
		  { { "opt/a.service", UNIT },
		    { ETC "a.service", "->/opt/a.service" },
		    { WANTS "a.service", "->/opt/a.service" } },
		  SEEN },
		{ "UnitEnabled=a.service\n",
		  { { ETC "a.service", UNIT }, { WANTS "a.service", "->../a.service" } },
		  SEEN },
		/* OpenRC, runit, System V */
		{ "UnitEnabled=a.service\n",
		  { { "etc/init.d/a", "x" }, { "etc/runlevels/default/a", "->/etc/init.d/a" } },
		  "yes yes 0: /etc/runlevels/default/a:0 a.service is enabled" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/init.d/a", "x" },
		    { "etc/runlevels/shutdown/a", "->/etc/init.d/a" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/runlevels/default/a", "->/etc/init.d/a" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/sv/a/run", "x" }, { "var/service/a", "->/etc/sv/a" } },
		  "yes yes 0: /var/service/a:0 a.service is enabled" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/sv/a/run", "x" },
		    { "etc/sv/a/down", "" },
		    { "var/service/a", "->/etc/sv/a" } },
		  "none" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/init.d/a", "x" }, { "etc/rc3.d/S01a", "->../init.d/a" } },
		  "yes yes 0: /etc/rc3.d/S01a:0 a.service is enabled" },
		{ "UnitEnabled=a.service\n",
		  { { "etc/init.d/a", "x" },
		    { "etc/rc3.d/S01a", "->../init.d/a" },
		    { LIB "a.service", UNIT } },
		  "none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct need_case c = cases[i];
		_cleanup_free_ char *rules = NULL;

		assert_int_equal(str_printf(&rules, "[InUse]\n%s", c.rules), 0);
		c.rules = rules;
		check("enabled", i, ROOT_OFFLINE, &c);
	}
}

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
		check("rules", i, ROOT_OFFLINE, &cases[i]);
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

		check("live", i, ROOT_LIVE, &cases[i]);
		offline.want = "none";
		check("offline", i, ROOT_OFFLINE, &offline);
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
		check("failures", i, ROOT_OFFLINE, &cases[i]);
}

static void write_catalogue(const struct tree *tree, const char *rules)
{
	_cleanup_strbuf_ struct strbuf conf = {};

	strbuf_addf(&conf, NEED "%s", rules);
	tree_write(tree, CATALOGUE "x.conf", conf.data);
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
		write_catalogue(&tree, cases[i].rules);
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
		got = summary(&needs);
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
	write_catalogue(&tree, "[Limits]\nJson=/c/*/h.json /Memory > 0\n");
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
		write_catalogue(&tree,
				"[Installed]\nPath=/usr/bin/x\n[InUse]\nPath=/home/*/x\n");
		tree_write(&tree, "home/a/x", "");
		if (installed)
			tree_write(&tree, "usr/bin/x", "");
		assert_int_equal(str_printf(&home, "%s/home/a", tree.path), 0);
		assert_int_equal(chmod(home, 0), 0);
		assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
		got = summary(&needs);
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

/* In use first, then by level, then by name. */
static void test_order(void **state _unused_)
{
	static const struct {
		const char *name;
		const char *level;
		bool in_use;
	} entries[] = { { "a", "monitor", true },  { "b", "required", false },
			{ "c", "degraded", true }, { "d", "limits", true },
			{ "e", "limits", true },   { "f", "required", true } };
	_cleanup_needs_ struct needs needs = {};
	_cleanup_diag_ struct diag diag = {};
	_cleanup_strbuf_ struct strbuf order = {};
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	tree_write(&tree, "there", "");
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		char path[64], text[128];

		(void)snprintf(path, sizeof(path), CATALOGUE "%s.conf",
			       entries[i].name); /* fits */
		(void)snprintf(text, sizeof(text),
			       "[Need]\nTitle=T\nEffect=E\nLevel=%s\n[%s]\nPath=/there\n",
			       entries[i].level,
			       entries[i].in_use ? "InUse" : "Installed"); /* fits */
		tree_write(&tree, path, text);
	}
	assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
	for (size_t i = 0; i < needs.n; i++)
		strbuf_adds(&order, needs.items[i].id);
	assert_string_equal(order.data, "fdecab");
	tree_done(&tree);
}

static void test_role(void **state _unused_)
{
	static const struct {
		struct file files[5];
		const char *role;
		const char *want; /* "path: text" */
	} cases[] = {
		{ {},
		  "server",
		  "-: neither a container engine in use nor an enabled display manager was "
		  "seen, "
		  "so this is taken for a server" },
		{ { { "engine", "" } },
		  "container-host",
		  "/engine: X is in use: is there, so the role is container-host" },
		{ { { LIB "gdm.service", UNIT },
		    { LIB "default.target", "->graphical.target" },
		    { ETC "display-manager.service", "->/" LIB "gdm.service" } },
		  "desktop",
		  "/" ETC
		  "display-manager.service: gdm.service is enabled and the system boots to "
		  "graphical.target, so this looks like a desktop (Role= names another role)" },
		{ { { LIB "gdm.service", UNIT },
		    { LIB "default.target", "->graphical.target" },
		    { ETC "default.target", "->/" LIB "multi-user.target" },
		    { ETC "display-manager.service", "->/" LIB "gdm.service" } },
		  "server",
		  "-: neither a container engine in use nor an enabled display manager was "
		  "seen, "
		  "so this is taken for a server" },
		{ { { "etc/init.d/sddm", "x" },
		    { "etc/runlevels/default/sddm", "->/etc/init.d/sddm" } },
		  "desktop",
		  "/etc/runlevels/default/sddm: sddm.service is enabled, so this looks like a "
		  "desktop (Role= names another role)" },
		{ { { "engine", "|" } },
		  "server",
		  "-: neither a container engine in use nor an enabled display manager was "
		  "seen, "
		  "though not everything could be looked at, so this is taken for a server" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_needs_ struct needs needs = {};
		_cleanup_diag_ struct diag diag = {};
		struct decision_reason reason = {};
		_cleanup_free_ char *got = NULL;
		const char *role;
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		write_catalogue(&tree, i == 5 ? "Role=container-host\n[InUse]\nText=/engine x\n"
					      : "Role=container-host\n[InUse]\nPath=/engine\n");
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].files) && cases[i].files[k].path;
		     k++)
			make(&tree, &cases[i].files[k]);
		assert_int_equal(needs_find(tree.root, NULL, NULL, &needs, &diag), 0);
		assert_int_equal(needs_guess_role(tree.root, &needs, &role, &reason), 0);
		assert_string_equal(role, cases[i].role);
		assert_int_equal(str_printf(&got, "%s: %s", reason.path ? reason.path : "-",
					    reason.text),
				 0);
		if (!streq(got, cases[i].want))
			fail_msg("case %zu: got\n%s\nwanted\n%s", i, got, cases[i].want);
		decision_reason_done(&reason);
		tree_done(&tree);
	}
}

/* Groups with limits of a live or captured tree; what a package's unit sets itself is no need.
 */
static void test_cgroups(void **state _unused_)
{
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const struct {
		const char *path, *value;
		const char *want; /* the evidence, NULL: none */
		bool v1;
	} cases[] = {
		{ "cg/a.slice/memory.max", "max\n", NULL },
		{ "cg/memory.max", "5\n", NULL },
		{ "cg/a.slice/memory.max", "1048576\n", "memory.max = 1048576 of a.slice" },
		{ "cg/a.slice/b.service/memory.high", "4096\n",
		  "memory.high = 4096 of b.service" },
		{ "cg/a.slice/b.service/memory.zswap.max", "0\n",
		  "memory.zswap.max = 0 of b.service" },
		{ "cg/a.slice/b.service/memory.min", "0\n", NULL },
		/* as shipped, and with something of the administrator's beside it */
		{ "cg/a.slice/v.service/memory.high", "4096\n", NULL },
		{ "cg/a.slice/v@1.service/memory.low", "4096\n", NULL },
		{ "cg/a.slice/o.service/memory.high", "4096\n",
		  "memory.high = 4096 of o.service" },
		{ "cg/a.slice/s.service/memory.high", "4096\n",
		  "memory.high = 4096 of s.service" },
		/* containers */
		{ "cg/system.slice/docker-" ID ".scope/memory.max", "1\n",
		  "memory.max = 1 of docker container 0123456789ab" },
		{ "cg/machine.slice/libpod-" ID ".scope/container/memory.max", "1\n",
		  "memory.max = 1 of podman container 0123456789ab" },
		{ "cg/lxc.payload.c1/memory.max", "1\n", "memory.max = 1 of LXC container c1" },
		{ "cg/machine.slice/machine-c2.scope/memory.max", "1\n",
		  "memory.max = 1 of machine c2" },
		{ "cg/docker/" ID "/memory.limit_in_bytes", "67108864\n",
		  "memory.limit_in_bytes = 67108864 of docker container 0123456789ab", true },
		{ "cg/docker/x/memory.limit_in_bytes", "9223372036854771712\n", NULL, true },
		/* users and other people's groups */
		{ "cg/user.slice/user-1000.slice/memory.max", "1\n",
		  "memory.max = 1 of user-1000.slice of user ann" },
		{ "cg/user.slice/user-1001.slice/user@1001.service/app.slice/x.scope/"
		  "memory.max",
		  "1\n", "memory.max = 1 of x.scope of user 1001" },
		{ "cg/jobs/7/memory.max", "1\n", "memory.max = 1 of cgroup jobs/7" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct running running = {
			.memcg = MEMCG_ON,
			.memory_tree = (char *)"/cg",
			.hierarchy = cases[i].v1 ? HIERARCHY_V1 : HIERARCHY_V2,
		};
		_cleanup_needs_ struct needs needs = {};
		_cleanup_diag_ struct diag diag = {};
		_cleanup_free_ char *dir = strdup(cases[i].path);
		const char *got;
		struct tree tree;

		tree_init(&tree, ROOT_SNAPSHOT);
		tree_write(&tree, CATALOGUE "x.conf", NEED "[Limits]\nCgroupLimit=*\n");
		tree_write(&tree, "usr/lib/systemd/system/v.service", "");
		tree_write(&tree, "usr/lib/systemd/system/v@.service", "");
		tree_write(&tree, "usr/lib/systemd/system/o.service", "");
		tree_write(&tree, "etc/systemd/system/o.service.d/x.conf", "");
		tree_write(&tree, "usr/lib/systemd/system/s.service", "");
		tree_write(&tree, "etc/systemd/system.control/s.service.d/50-x.conf", "");
		tree_write(&tree, "etc/passwd", "root:x:0:0::/:/\nann:x:1000:1000::/:/\n");
		/* the controller is in every group from the root on */
		for (char *slash = strrchr(dir, '/'); slash; slash = strrchr(dir, '/')) {
			_cleanup_free_ char *path = NULL;

			*slash = '\0';
			assert_int_equal(str_printf(&path, "%s/%s", dir,
						    cases[i].v1 ? "memory.limit_in_bytes"
								: "memory.max"),
					 0);
			if (strchr(dir, '/'))
				tree_write(&tree, path,
					   cases[i].v1 ? "9223372036854771712\n" : "max\n");
		}
		tree_write(&tree, cases[i].path, cases[i].value);
		assert_int_equal(needs_find(tree.root, &running, NULL, &needs, &diag), 0);
		got = needs.n > 0 ? needs.items[0].evidence[0].text : NULL;
		/* the directory's owner is whoever runs this */
		if (cases[i].want && got && geteuid() != 0
			    ? !str_skip_prefix(got, cases[i].want)
			    : !streq_ptr(got, cases[i].want))
			fail_msg("%s: %s", cases[i].path, got ? got : "nothing");
		assert_int_equal(diag.n, 0);
		tree_done(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enabled),	   cmocka_unit_test(test_rules),
		cmocka_unit_test(test_active),	   cmocka_unit_test(test_failures),
		cmocka_unit_test(test_bounds),	   cmocka_unit_test(test_many),
		cmocka_unit_test(test_unreadable), cmocka_unit_test(test_order),
		cmocka_unit_test(test_role),	   cmocka_unit_test(test_cgroups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
