/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "manager.h"

#include "base/str.h"
#include "base/systemd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

enum { UNITS = 200 };

static struct manager_unit units[UNITS];
static char names[UNITS][32], paths[UNITS][64];
/* what is asked of the units, the last of all that follow */
static const char *const wanted[] = { "MemoryMax",    "Delegate", "Odd", "Share",
				      "ControlGroup", "Missing",  "Id",	 "MemoryMax" };

/* What came back, as text. */
struct seen {
	struct strbuf text;
	size_t listed, done, failed;
};

static int on_unit(void *userdata, const struct systemd_unit *unit)
{
	struct seen *seen = userdata;

	assert_string_equal(unit->name, names[seen->listed]);
	assert_string_equal(unit->load_state, "loaded");
	assert_string_equal(unit->active_state, "active");
	seen->listed++;
	return 0;
}

static int on_property(void *userdata, const struct systemd_property *property)
{
	struct seen *seen = userdata;

	seen->done++;
	seen->failed += property->error < 0;
	strbuf_addf(&seen->text, "%s", property->name);
	if (property->error < 0)
		strbuf_adds(&seen->text, " failed\n");
	else if (property->type == SYSTEMD_STRING)
		strbuf_addf(&seen->text, "=%s\n", property->string);
	else
		strbuf_addf(&seen->text, "=%llu\n", (unsigned long long)property->number);
	return 0;
}

/* Lists and asks for all units; the result of what failed first. */
static int ask(const struct manager *manager, unsigned timeout_ms, struct seen *seen)
{
	_cleanup_systemd_ struct systemd *systemd = NULL;
	int r = systemd_open_address(manager->address, false, timeout_ms, &systemd);

	if (r >= 0)
		r = systemd_list_units(systemd, on_unit, seen);
	for (unsigned i = 0; r >= 0 && i < UNITS; i++)
		r = systemd_get(systemd, paths[i], "org.freedesktop.systemd1.Service",
				wanted[MIN(i, ARRAY_SIZE(wanted) - 1)], on_property, seen);
	return r < 0 ? r : systemd_run(systemd);
}

static int setup(void **state _unused_)
{
	for (size_t i = 0; i < UNITS; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "unit-%zu.service", i);
		(void)snprintf(paths[i], sizeof(paths[i]), "/org/freedesktop/systemd1/unit/%zu",
			       i);
		units[i] = (struct manager_unit){
			names[i], "active",
			"Service.MemoryMax t 18446744073709551615\n"
			"Service.Delegate b 1\n"
			"Unit.Id s of another interface\n"
			"Service.Odd x 0\n"
			"Service.Share u 4294967295\n"
			"Service.ControlGroup s /system.slice/a\\x2db.service"
		};
	}
	return 0;
}

static void test_all_is_read(void **state _unused_)
{
	struct manager manager;
	struct seen seen = {};

	manager_start(&manager, MANAGER_WELL, units, UNITS);
	assert_int_equal(ask(&manager, 10000, &seen), 0);
	manager_stop(&manager);
	assert_int_equal(seen.listed, UNITS);
	assert_int_equal(seen.done, UNITS);
	/* of a type nobody asks for, and two that are not there */
	assert_int_equal(seen.failed, 3);
	assert_true(str_skip_prefix(seen.text.data,
				    "MemoryMax=18446744073709551615\n"
				    "Delegate=1\n"
				    "Odd failed\n"
				    "Share=4294967295\n"
				    "ControlGroup=/system.slice/a\\x2db.service\n"
				    "Missing failed\n"
				    "Id failed\n"
				    "MemoryMax=18446744073709551615\n") != NULL);
	strbuf_done(&seen.text);
}

static void test_units_that_are_gone(void **state _unused_)
{
	for (int mood = MANAGER_FORGETS_UNITS; mood <= MANAGER_TALKS_NONSENSE; mood++) {
		struct manager manager;
		struct seen seen = {};

		manager_start(&manager, (enum manager_mood)mood, units, UNITS);
		assert_int_equal(ask(&manager, 10000, &seen), 0);
		manager_stop(&manager);
		assert_int_equal(seen.done, UNITS);
		/* and two of those that are there */
		assert_int_equal(seen.failed, UNITS / 2 + 2);
		strbuf_done(&seen.text);
	}
}

static void test_bounded(void **state _unused_)
{
	static const struct {
		enum manager_mood mood;
		size_t listed;
		int result;
	} cases[] = {
		{ MANAGER_NEVER_READS, 0, -ETIMEDOUT },
		{ MANAGER_NEVER_LISTS, 0, -ETIMEDOUT },
		{ MANAGER_HANGS, UNITS, -ETIMEDOUT },
		{ MANAGER_GOES, UNITS, 0 /* some error */ },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct manager manager;
		struct seen seen = {};
		struct timespec from, to;
		int r;

		manager_start(&manager, cases[i].mood, units, UNITS);
		(void)clock_gettime(CLOCK_MONOTONIC, &from);
		r = ask(&manager, 300, &seen);
		(void)clock_gettime(CLOCK_MONOTONIC, &to);
		manager_stop(&manager);
		assert_true(to.tv_sec - from.tv_sec <= 2);
		if (cases[i].result < 0)
			assert_int_equal(r, cases[i].result);
		else
			assert_true(r < 0);
		assert_int_equal(seen.listed, cases[i].listed);
		assert_true(seen.done < UNITS);
		strbuf_done(&seen.text);
	}
}

static void test_nobody_there(void **state _unused_)
{
	struct manager manager = { .address = "unix:path=/nonexistent/socket" };
	struct seen seen = {};

	assert_true(ask(&manager, 300, &seen) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_read),
		cmocka_unit_test(test_units_that_are_gone),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_nobody_there),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
