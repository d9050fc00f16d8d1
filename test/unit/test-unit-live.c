/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "manager.h"
#include "tree.h"

#include "base/diag.h"
#include "base/str.h"
#include "base/systemd.h"
#include "facts/running.h"
#include "units/unit-live.h"

#define CG	      "sys/fs/cgroup/system.slice/"
#define FILE_OF(unit) "etc/systemd/system/" unit

/* One of each kind; the manager's properties are what 252 says. */
static const struct manager_unit units[] = {
	{ "held.service", "active",
	  "Service.ControlGroup s /system.slice/held.service\n"
	  "Service.MemoryMax t 1073741824\n" },
	{ "share.service", "active",
	  "Service.ControlGroup s /system.slice/share.service\n"
	  "Service.MemoryMax t 2147483648\n" },
	{ "other.service", "active",
	  "Service.ControlGroup s /system.slice/other.service\n"
	  "Service.MemoryMax t 1073741824\n" },
	{ "swap.service", "active",
	  "Service.ControlGroup s /system.slice/swap.service\n"
	  "Service.MemorySwapMax t 0\n" },
	{ "stale.service", "active",
	  "Service.ControlGroup s /system.slice/stale.service\n"
	  "Service.MemoryMax t 1073741824\n"
	  "Unit.NeedDaemonReload b 1\n" },
	{ "gone.service", "active",
	  "Service.ControlGroup s /system.slice/gone.service\n"
	  "Service.MemoryMax t 536870912\n"
	  "Unit.NeedDaemonReload b 1\n"
	  "Service.MemoryMin t 0\nService.MemoryHigh t 18446744073709551615\n" },
	{ "apart.service", "active",
	  "Service.ControlGroup s /apart.slice/apart.service\n"
	  "Service.MemoryLow t 4096\n" },
	{ "tpl@live.service", "active",
	  "Service.ControlGroup s /system.slice/tpl@live.service\n"
	  "Service.MemoryMax t 1073741824\n" },
	{ "idle.service", "inactive", "Service.ControlGroup s \nService.MemoryMax t 4096\n" },
};

static void make_group(const struct tree *t, const char *group, const char *max)
{
	static const char *const files[] = { "cgroup.procs", "memory.current", "memory.max" };
	const char *const texts[] = { "1\n", "4096\n", max };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *path = NULL;

		assert_int_equal(str_printf(&path, "sys/fs/cgroup%s/%s", group, files[i]), 0);
		tree_write(t, path, texts[i]);
	}
}

static void make_tree(struct tree *t)
{
	tree_init(t, ROOT_LIVE);
	tree_write(t, "usr/lib/systemd/libsystemd-shared-252.so", "");
	tree_write(t, FILE_OF("held.service"), "[Service]\nMemoryMax=1G\n");
	tree_write(t, FILE_OF("share.service"), "[Service]\nMemoryMax=50%\n");
	tree_write(t, FILE_OF("other.service"), "[Service]\nMemoryMax=1G\n");
	tree_write(t, FILE_OF("swap.service"), "[Service]\nMemorySwapMax=0\n");
	tree_write(t, FILE_OF("stale.service"), "[Service]\nMemoryMax=2G\n");
	tree_write(t, FILE_OF("gone.service"), "[Service]\nExecStart=/bin/true\n");
	tree_write(t, FILE_OF("apart.service"), "[Service]\nMemoryLow=4K\nSlice=apart.slice\n");
	tree_write(t, FILE_OF("tpl@.service"), "[Service]\nMemoryMax=1G\n");
	tree_write(t, FILE_OF("idle.service"), "[Service]\nMemoryMax=4K\n");
	tree_write(t, FILE_OF("away.service"), "[Service]\nMemoryMax=4K\n");
	tree_write(t, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	make_group(t, "/system.slice/held.service", "1073741824\n");
	make_group(t, "/system.slice/share.service", "2147483648\n");
	make_group(t, "/system.slice/other.service", "max\n");
	make_group(t, "/system.slice/swap.service", "max\n");
	make_group(t, "/system.slice/stale.service", "1073741824\n");
	make_group(t, "/system.slice/gone.service", "536870912\n");
	make_group(t, "/system.slice/tpl@live.service", "1073741824\n");
	tree_write(t, "sys/fs/cgroup/apart.slice/apart.service/cgroup.procs", "1\n");
}

/* "state why active" of the one finding, to be freed. */
static char *finding(const struct unit_view *view, const char *unit, const char *setting)
{
	char *text = NULL;

	for (size_t i = 0; i < view->findings.n; i++) {
		const struct unit_finding *f = &view->findings.items[i];

		if (!streq(f->unit, unit) || !streq(f->setting, setting))
			continue;
		assert_null(text);
		assert_int_equal(str_printf(&text, "%s %d%s %s",
					    unit_finding_state_to_string(f->state), f->active,
					    f->counts ? "!" : "", f->why),
				 0);
	}
	return text ?: strdup("none");
}

#define EXPECT(view, unit, setting, text)                                  \
	do {                                                               \
		_cleanup_free_ char *_got = finding(view, unit, setting);  \
		if (!str_match_glob(text, _got))                           \
			print_message("%s %s: %s\n", unit, setting, _got); \
		assert_true(str_match_glob(text, _got));                   \
	} while (0)

static void load(const struct tree *t, const struct running *running,
		 const struct manager *manager, struct unit_view *view)
{
	_cleanup_systemd_ struct systemd *systemd = NULL;
	_cleanup_diag_ struct diag diag = {};
	const struct unit_owner owner = {};
	struct unit_basis basis = { running->memcg, running->hierarchy, false, running->why };

	if (manager)
		assert_int_equal(systemd_open_address(manager->address, false, 500, &systemd),
				 0);
	assert_int_equal(unit_view_load(t->root, &owner, &basis, running, systemd, view, &diag),
			 0);
}

static const struct running on = { .memcg = MEMCG_ON,
				   .hierarchy = HIERARCHY_V2,
				   .memory_tree = (char *)"/sys/fs/cgroup" };
static const struct running off = { .memcg = MEMCG_OFF,
				    .hierarchy = HIERARCHY_V2,
				    .why = (char *)"cgroup_disable=memory" };

static void test_kernel_has_the_word(void **state _unused_)
{
	_cleanup_unit_view_ struct unit_view view = {};
	struct manager manager;
	struct tree t;

	make_tree(&t);
	manager_start(&manager, MANAGER_WELL, units, ARRAY_SIZE(units));
	load(&t, &on, &manager, &view);
	manager_stop(&manager);
	assert_false(view.by_files);
	EXPECT(&view, "held.service", "MemoryMax", "enforced 1 *");
	EXPECT(&view, "share.service", "MemoryMax", "enforced 1 *");
	EXPECT(&view, "other.service", "MemoryMax", "unenforced 1! the kernel has no limit:*");
	EXPECT(&view, "swap.service", "MemorySwapMax",
	       "unenforced 1! this kernel has no memory.swap.max:*");
	EXPECT(&view, "stale.service", "MemoryMax",
	       "unenforced 1! the manager works with MemoryMax=1G, *daemon-reload");
	EXPECT(&view, "gone.service", "MemoryMax",
	       "enforced 1 the kernel holds it; its files have changed: *daemon-reload");
	EXPECT(&view, "gone.service", "MemoryMin", "none");
	EXPECT(&view, "gone.service", "MemoryHigh", "none");
	EXPECT(&view, "apart.service", "MemoryLow",
	       "unenforced 1! *not passed on below the cgroup /");
	EXPECT(&view, "tpl@live.service", "MemoryMax", "enforced 1 *");
	EXPECT(&view, "idle.service", "MemoryMax", "enforced 0 *");
	EXPECT(&view, "away.service", "MemoryMax", "enforced 0 *");
	for (size_t i = 0; i < view.findings.n; i++)
		if (streq(view.findings.items[i].unit, "share.service"))
			assert_true(view.findings.items[i].bytes == UINT64_C(2) << 30);
	tree_done(&t);
}

static void test_memcg_off(void **state _unused_)
{
	_cleanup_unit_view_ struct unit_view view = {};
	_cleanup_strv_ struct strv host = {};
	struct unit_basis basis = { .memcg = MEMCG_OFF };
	struct manager manager;
	struct tree t;

	make_tree(&t);
	tree_write(&t, "sys/fs/cgroup/cgroup.controllers", "cpu\n");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		_cleanup_free_ char *path = NULL;

		assert_int_equal(str_printf(&path, "%s/" CG "%s", t.path, units[i].name), 0);
		for (const char *const *f =
			     (const char *const[]){ "memory.current", "memory.max", NULL };
		     *f; f++) {
			_cleanup_free_ char *file = NULL;

			assert_int_equal(str_printf(&file, "%s/%s", path, *f), 0);
			(void)unlink(file);
		}
	}
	manager_start(&manager, MANAGER_WELL, units, ARRAY_SIZE(units));
	load(&t, &off, &manager, &view);
	manager_stop(&manager);
	EXPECT(&view, "held.service", "MemoryMax",
	       "unenforced 1! the memory controller is off (cgroup_disable=memory)");
	EXPECT(&view, "tpl@live.service", "MemoryMax", "unenforced 1! *is off*");
	EXPECT(&view, "gone.service", "MemoryMax", "unenforced 1! *");
	EXPECT(&view, "idle.service", "MemoryMax", "unenforced 0 *");
	assert_int_equal(unit_view_host(t.root, &view, &basis, &host), 0);
	assert_int_equal(host.n, 1);
	tree_done(&t);
}

static void test_without_a_manager(void **state _unused_)
{
	for (int mood = MANAGER_NEVER_READS; mood <= MANAGER_FORGETS_UNITS; mood++) {
		_cleanup_unit_view_ struct unit_view view = {};
		struct manager manager;
		struct tree t;

		make_tree(&t);
		manager_start(&manager, (enum manager_mood)mood, units, ARRAY_SIZE(units));
		load(&t, &off, &manager, &view);
		manager_stop(&manager);
		assert_int_equal(view.by_files, mood < MANAGER_FORGETS_UNITS);
		if (mood == MANAGER_NEVER_READS)
			assert_string_equal(view.by_files_why, "the manager does not answer");
		EXPECT(&view, "away.service", "MemoryMax", "unenforced * *is off*");
		tree_done(&t);
	}
}

static void test_files_alone(void **state _unused_)
{
	_cleanup_unit_view_ struct unit_view view = {};
	struct tree t;

	make_tree(&t);
	load(&t, &on, NULL, &view);
	assert_true(view.by_files);
	assert_null(view.by_files_why);
	EXPECT(&view, "other.service", "MemoryMax", "enforced -1 *");
	EXPECT(&view, "tpl@live.service", "MemoryMax", "none");
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_has_the_word),
		cmocka_unit_test(test_memcg_off),
		cmocka_unit_test(test_without_a_manager),
		cmocka_unit_test(test_files_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
