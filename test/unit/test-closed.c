/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "generator/closed.h"

#include <sys/stat.h>
#include <sys/statfs.h>

#include <stdio.h>

#define ETC   "etc/systemd/system/"
#define USR   "usr/lib/systemd/system/"
#define LIMIT "[Service]\nMemoryMax=1G\n"

/*
 * cgroupfs_look() tells v2 by the file system's magic, which a tree on a disk has not: the
 * mounts say it here, as in a captured machine.
 */
static void make_host(struct tree *t, const char *controllers, const char *policy)
{
	tree_init(t, ROOT_LIVE);
	tree_write(t, "proc/self/mountinfo",
		   "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
	tree_write(t, "proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
	tree_write(t, "sys/fs/cgroup/cgroup.controllers", controllers);
	tree_write(t, "usr/lib/systemd/libsystemd-shared-252.so", "");
	if (policy)
		tree_write(t, "etc/memcg-policy/policy.conf", policy);
}

static void expect(const struct tree *t, const char *names)
{
	_cleanup_closed_ struct closed closed = {};
	_cleanup_strv_ struct strv found = {};
	_cleanup_strbuf_ struct strbuf buf = {};

	assert_int_equal(closed_find(t->root, &closed), 0);
	for (size_t i = 0; i < closed.n; i++)
		strv_add(&found, closed.items[i].name);
	strv_sort(&found);
	for (size_t i = 0; i < found.n; i++)
		strbuf_addf(&buf, "%s%s", i ? " " : "", found.items[i]);
	assert_string_equal(buf.data ?: "", names);
}

static void test_what_is_closed(void **state _unused_)
{
	struct tree t;

	make_host(
		&t, "cpu io pids\n",
		"[Policy]\nFailClosed=plain.service *-app.service tpl@*.service alias.service "
		"slice.slice lone@x.service\n");
	tree_write(&t, ETC "plain.service", LIMIT);
	tree_write(&t, ETC "other.service", LIMIT);
	tree_write(&t, ETC "a-app.service", LIMIT);
	tree_write(&t, ETC "none-app.service", "[Service]\nMemoryLow=1G\n");
	tree_write(&t, ETC "reset-app.service", LIMIT "MemoryMax=\n");
	tree_write(&t, ETC "bad-app.service", "[Service]\nMemoryMax=512MB\n");
	tree_write(&t, ETC "early-app.service", "[Unit]\nDefaultDependencies=no\n" LIMIT);
	tree_write(&t, ETC "early2-app.service", LIMIT);
	tree_write(&t, ETC "early2-app.service.d/x.conf", "[Unit]\nDefaultDependencies=0\n");
	tree_write(&t, ETC "late-app.service",
		   "[Unit]\nDefaultDependencies=no\nDefaultDependencies=yes\n" LIMIT);
	tree_write(&t, USR "vendor-app.service", LIMIT);
	tree_write(&t, USR "tuned-app.service", LIMIT);
	tree_write(&t, USR "tuned-app.service.d/10.conf", LIMIT);
	tree_write(&t, ETC "tuned-app.service.d/20.conf", "[Service]\nMemoryHigh=1G\n");
	tree_write(&t, ETC "broken-app.service", "[Service\nMemoryMax=1G\n");
	tree_write(&t, ETC "masked-app.service", "");
	tree_write(&t, ETC "masked-app.service.d/x.conf", LIMIT);
	tree_write(&t, ETC "orphan-app.service.d/x.conf", LIMIT);
	tree_write(&t, ETC "slice.slice", "[Slice]\nMemoryMax=1G\n");
	tree_write(&t, ETC "tpl@.service", LIMIT);
	tree_symlink(&t, "../tpl@.service", ETC "multi-user.target.wants/tpl@one.service");
	tree_write(&t, ETC "lone@.service", LIMIT);
	tree_write(&t, ETC "real.service", LIMIT);
	tree_symlink(&t, "real.service", ETC "alias.service");
	/* other generators' */
	tree_write(&t, "run/systemd/generator/gen-app.service", LIMIT);
	expect(&t, "a-app.service late-app.service lone@x.service plain.service real.service "
		   "tpl@.service tpl@one.service tuned-app.service");
	tree_done(&t);
}

static void test_never(void **state _unused_)
{
	static const char *const names[] = {
		"user@",	  "ssh",
		"sshd",		  "ssh@",
		"getty@",	  "dbus",
		"dbus-broker",	  "systemd-journald",
		"networking",	  "NetworkManager",
		"wg-quick@",	  "openvpn-client@",
		"tailscaled",	  "serial-getty@",
		"systemd-logind", "systemd-udevd",
	};
	struct tree t;

	make_host(&t, "cpu\n", "[Policy]\nFailClosed=*e* *a* *s* *@.service wg*.service\n");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path = NULL;

		assert_int_equal(str_printf(&path, ETC "%s.service", names[i]), 0);
		tree_write(&t, path, LIMIT);
	}
	/* by another name */
	tree_write(&t, ETC "shell.service", LIMIT);
	tree_symlink(&t, "shell.service", ETC "sshd-extra.service");
	expect(&t, "");
	tree_write(&t, ETC "web.service", LIMIT);
	expect(&t, "web.service");
	tree_done(&t);
}

static void test_nothing_unless_certain(void **state _unused_)
{
	static const char policy[] = "[Policy]\nFailClosed=foo.service\n";
	_cleanup_closed_ struct closed closed = {};
	struct tree t;

	/* memory is there */
	make_host(&t, "cpu memory\n", policy);
	tree_write(&t, ETC "foo.service", LIMIT);
	expect(&t, "");
	tree_done(&t);
	/* not the root of the tree */
	make_host(&t, "cpu\n", policy);
	tree_write(&t, "sys/fs/cgroup/cgroup.type", "domain\n");
	tree_write(&t, "sys/fs/cgroup/cgroup.events", "populated 1\n");
	tree_write(&t, ETC "foo.service", LIMIT);
	expect(&t, "");
	tree_done(&t);
	/* no policy, an empty one, one with a mistake */
	make_host(&t, "cpu\n", NULL);
	tree_write(&t, ETC "foo.service", LIMIT);
	expect(&t, "");
	tree_write(&t, "etc/memcg-policy/policy.conf", "[Policy]\nFailClosed=\n");
	expect(&t, "");
	tree_write(&t, "etc/memcg-policy/policy.conf", policy);
	expect(&t, "foo.service");
	tree_write(&t, "etc/memcg-policy/policy.conf.d/a.conf", "[Policy]\nMemcg=maybe\n");
	assert_true(closed_find(t.root, &closed) < 0);
	assert_int_equal(closed.n, 0);
	tree_done(&t);
	/* nothing of the cgroup tree is visible */
	tree_init(&t, ROOT_LIVE);
	tree_write(&t, "etc/memcg-policy/policy.conf", policy);
	tree_write(&t, ETC "foo.service", LIMIT);
	expect(&t, "");
	tree_done(&t);
}

static void test_removed_setting(void **state _unused_)
{
	struct tree t;

	make_host(&t, "cpu\n", "[Policy]\nFailClosed=foo.service\n");
	tree_write(&t, ETC "foo.service", "[Service]\nMemoryLimit=1G\n");
	expect(&t, "foo.service");
	tree_write(&t, "usr/lib/systemd/libsystemd-shared-258.so", "");
	expect(&t, "");
	tree_done(&t);
}

static void test_dropin(void **state _unused_)
{
	_cleanup_closed_ struct closed closed = {};
	_cleanup_free_ char *text = NULL, *out = NULL, *again = NULL;
	struct tree t;

	make_host(&t, "cpu\n", "# x\n[Policy]\nFailClosed=w*.service\n");
	tree_write(&t, ETC "web.service", "[Service]\n");
	/* what would end the comment */
	tree_write(&t, ETC "web.service.d/a\n[Service]\nExecStart=\n.conf", LIMIT);
	tree_mkdir(&t, "out");
	assert_int_equal(closed_find(t.root, &closed), 0);
	assert_int_equal(str_printf(&out, "%s/out", t.path), 0);
	assert_int_equal(closed_write(&closed, out), 0);
	text = tree_read(&t, "out/web.service.d/50-memcg-policy.conf");
	assert_non_null(text);
	assert_non_null(strstr(text, "\n[Unit]\nAssertControlGroupController=memory\n"));
	assert_null(strstr(text, "\n[Service]"));
	assert_non_null(strstr(text, "MemoryMax=1G"));
	assert_non_null(strstr(text, "(/etc/memcg-policy/policy.conf, line 3)"));
	/* a file that is there is not ours to change */
	assert_int_equal(closed_write(&closed, out), -EEXIST);
	again = tree_read(&t, "out/web.service.d/50-memcg-policy.conf");
	assert_string_equal(text, again);
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_closed),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_nothing_unless_certain),
		cmocka_unit_test(test_removed_setting),
		cmocka_unit_test(test_dropin),
	};

	/* the trees of these tests are told to be v2 by their mounts */
	if (!HAVE_LIBMOUNT) {
		printf("SKIP closed: no libmount\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
