/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "manager.h"

#include "base/str.h"
#include "base/systemd.h"
#include "units/unit-bus.h"
#include "units/unit-setting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct manager_unit units[] = {
	{ "z.service", "active",
	  "Service.MemoryMax t 1073741824\n"
	  "Service.MemoryHigh t 18446744073709551615\n"
	  "Service.MemoryMax2 t 7\n"
	  "Service.MemoryZSwapWriteback b 0\n"
	  "Service.ControlGroup s /system.slice/z.service\n"
	  "Service.Strange x 0\n"
	  "Unit.NeedDaemonReload b 1" },
	{ "a\x01\x1b[31m.service", "active", "Service.MemoryMax t 1" },
	{ "dev-sda.device", "active", "" },
	{ "a.mount", "inactive", "Mount.MemoryLow t 4096\nMount.ControlGroup s " },
	{ "m.slice", "active", "Slice.ControlGroup s /../../etc\nSlice.MemoryMin t 5" },
	{ "c.scope", "deactivating", "Scope.ControlGroup s /c.scope" },
	{ "f.service", "failed", "Service.ControlGroup s " },
};

static uint64_t value(const struct unit_bus *bus, const char *unit, const char *setting)
{
	uint64_t v = 12345;

	(void)unit_live_value(unit_bus_find(bus, unit), unit_setting_find(setting), &v);
	return v;
}

static void mark(struct unit_live *unit)
{
	unit->ask_cgroup = true;
	for (size_t i = 0; i < unit_n_settings; i++)
		unit->ask_settings |= unit_live_bit(&unit_settings[i]);
}

static void unmark(struct unit_live *unit)
{
	unit->ask_cgroup = unit->ask_reload = false;
	unit->ask_settings = 0;
}

static void test_views(void **state _unused_)
{
	_cleanup_systemd_ struct systemd *systemd = NULL;
	_cleanup_unit_bus_ struct unit_bus bus = {};
	struct manager manager;

	manager_start(&manager, MANAGER_WELL, units, ARRAY_SIZE(units));
	assert_int_equal(systemd_open_address(manager.address, false, 5000, &systemd), 0);
	assert_int_equal(unit_bus_list(systemd, &bus), 0);
	assert_int_equal(bus.n, 5);
	assert_null(unit_bus_find(&bus, "dev-sda.device"));
	assert_null(unit_bus_find(&bus, "nothing.service"));
	assert_true(unit_bus_find(&bus, "z.service")->active);
	assert_true(unit_bus_find(&bus, "c.scope")->active);
	assert_false(unit_bus_find(&bus, "a.mount")->active);
	assert_false(unit_bus_find(&bus, "f.service")->active);
	for (size_t i = 0; i < bus.n; i++)
		mark(&bus.units[i]);
	unmark(unit_bus_find(&bus, "f.service"));
	unit_bus_find(&bus, "z.service")->ask_reload = true;
	assert_int_equal(unit_bus_ask(systemd, &bus), 0);
	/* the marks are gone */
	assert_false(unit_bus_find(&bus, "z.service")->ask_reload);
	unit_bus_find(&bus, "m.slice")->ask_reload = true;
	assert_int_equal(unit_bus_ask(systemd, &bus), 0);
	manager_stop(&manager);

	assert_false(unit_bus_find(&bus, "f.service")->answered);
	assert_true(unit_bus_find(&bus, "z.service")->answered);
	assert_true(unit_bus_find(&bus, "z.service")->need_reload);
	assert_false(unit_bus_find(&bus, "m.slice")->need_reload);
	assert_string_equal(unit_bus_find(&bus, "z.service")->cgroup,
			    "/system.slice/z.service");
	assert_null(unit_bus_find(&bus, "a.mount")->cgroup);
	assert_null(unit_bus_find(&bus, "m.slice")->cgroup);
	assert_true(value(&bus, "z.service", "MemoryMax") == UINT64_C(1) << 30);
	assert_true(value(&bus, "z.service", "MemoryHigh") == UINT64_MAX);
	assert_true(value(&bus, "z.service", "MemoryZSwapWriteback") == 0);
	assert_true(value(&bus, "z.service", "MemoryMin") == 12345);
	assert_true(value(&bus, "a.mount", "MemoryLow") == 4096);
	assert_true(value(&bus, "m.slice", "MemoryMin") == 5);
}

static void test_partial(void **state _unused_)
{
	for (int mood = MANAGER_HANGS; mood <= MANAGER_TALKS_NONSENSE; mood++) {
		_cleanup_systemd_ struct systemd *systemd = NULL;
		_cleanup_unit_bus_ struct unit_bus bus = {};
		struct manager manager;
		size_t answered = 0;
		int r;

		manager_start(&manager, (enum manager_mood)mood, units, ARRAY_SIZE(units));
		assert_int_equal(systemd_open_address(manager.address, false, 300, &systemd),
				 0);
		assert_int_equal(unit_bus_list(systemd, &bus), 0);
		for (size_t i = 0; i < bus.n; i++)
			mark(&bus.units[i]);
		r = unit_bus_ask(systemd, &bus);
		assert_true(mood > MANAGER_GOES ? r == 0 : r < 0);
		for (size_t i = 0; i < bus.n; i++)
			answered += bus.units[i].answered;
		/* what was answered may be lost with the connection */
		assert_true((answered > 0 || mood == MANAGER_GOES) && answered < bus.n);
		manager_stop(&manager);
	}
}

/* What is known by a name, and of another type than ever; other units are not touched by it. */
static void test_wrong_types(void **state _unused_)
{
	static const struct manager_unit odd[] = {
		{ "odd.service", "active",
		  "Service.MemoryMax s much\nService.MemoryLow x 0\nService.MemoryMin b 1\n"
		  "Service.ControlGroup t 5\nUnit.NeedDaemonReload s yes\n" },
		{ "even.service", "active",
		  "Service.MemoryMax t 4096\nService.ControlGroup s /even.service\n"
		  "Unit.NeedDaemonReload b 1\n" },
		{ "evil.service", "active", "Service.ControlGroup s etc/../../../passwd\n" },
	};
	_cleanup_systemd_ struct systemd *systemd = NULL;
	_cleanup_unit_bus_ struct unit_bus bus = {};
	struct manager manager;

	manager_start(&manager, MANAGER_WELL, odd, ARRAY_SIZE(odd));
	assert_int_equal(systemd_open_address(manager.address, false, 5000, &systemd), 0);
	assert_int_equal(unit_bus_list(systemd, &bus), 0);
	for (size_t i = 0; i < bus.n; i++) {
		mark(&bus.units[i]);
		bus.units[i].ask_reload = true;
	}
	assert_int_equal(unit_bus_ask(systemd, &bus), 0);
	manager_stop(&manager);
	assert_true(value(&bus, "odd.service", "MemoryMax") == 12345);
	assert_true(value(&bus, "odd.service", "MemoryLow") == 12345);
	assert_null(unit_bus_find(&bus, "odd.service")->cgroup);
	assert_false(unit_bus_find(&bus, "odd.service")->need_reload);
	assert_null(unit_bus_find(&bus, "evil.service")->cgroup);
	assert_true(value(&bus, "even.service", "MemoryMax") == 4096);
	assert_string_equal(unit_bus_find(&bus, "even.service")->cgroup, "/even.service");
	assert_true(unit_bus_find(&bus, "even.service")->need_reload);
}

/* Thousands, and every second one gone between the list and the question. */
static void test_many(void **state _unused_)
{
	enum { MANY = 4000 };
	_cleanup_systemd_ struct systemd *systemd = NULL;
	_cleanup_unit_bus_ struct unit_bus bus = {};
	struct manager_unit *many = calloc(MANY, sizeof(*many));
	char(*names)[32] = calloc(MANY, sizeof(*names));
	size_t answered = 0;
	struct manager manager;

	assert_true(many && names);
	for (size_t i = 0; i < MANY; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "many-%zu.service", i);
		many[i] = (struct manager_unit){ names[i], "active",
						 "Service.MemoryMax t 4096\n"
						 "Unit.NeedDaemonReload b 0\n" };
	}
	manager_start(&manager, MANAGER_FORGETS_UNITS, many, MANY);
	assert_int_equal(systemd_open_address(manager.address, false, 60000, &systemd), 0);
	assert_int_equal(unit_bus_list(systemd, &bus), 0);
	assert_int_equal(bus.n, MANY);
	for (size_t i = 0; i < bus.n; i++) {
		bus.units[i].ask_reload = true;
		bus.units[i].ask_settings = unit_live_bit(unit_setting_find("MemoryMax"));
	}
	assert_int_equal(unit_bus_ask(systemd, &bus), 0);
	manager_stop(&manager);
	for (size_t i = 0; i < bus.n; i++)
		answered += bus.units[i].answered && bus.units[i].known != 0;
	assert_int_equal(answered, MANY / 2);
	free(many);
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_partial),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
