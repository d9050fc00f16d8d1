/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which functions are memcg's, and what a stream of samples says, by a recorded one. */

#include "base/json.h"
#include "base/str.h"
#include "bench/profile.h"
#include "bench/worker.h"
#include "bench/workload.h"

#include "profile-stream.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void test_groups(void **state _unused_)
{
	static const struct {
		const char *name;
		enum symbol_group group;
	} cases[] = {
		/* names of 6.1, 6.12, 6.18 and 7.2 */
		{ "__mem_cgroup_charge", SYMBOL_MEMCONTROL },
		{ "charge_memcg", SYMBOL_MEMCONTROL },
		{ "try_charge_memcg", SYMBOL_MEMCONTROL },
		{ "uncharge_folio", SYMBOL_MEMCONTROL },
		{ "uncharge_batch", SYMBOL_MEMCONTROL },
		{ "refill_stock", SYMBOL_MEMCONTROL },
		{ "drain_obj_stock_slot", SYMBOL_MEMCONTROL },
		{ "__account_obj_stock", SYMBOL_MEMCONTROL },
		{ "__mod_memcg_lruvec_state", SYMBOL_MEMCONTROL },
		{ "mod_memcg_state", SYMBOL_MEMCONTROL },
		{ "count_memcg_events", SYMBOL_MEMCONTROL },
		{ "lock_page_memcg", SYMBOL_MEMCONTROL },
		{ "mem_cgroup_css_rstat_flush", SYMBOL_MEMCONTROL },
		{ "obj_cgroup_charge", SYMBOL_MEMCONTROL },
		{ "current_objcg_update", SYMBOL_MEMCONTROL },
		{ "__mod_lruvec_state", SYMBOL_SHARED },
		{ "__lruvec_stat_mod_folio", SYMBOL_SHARED },
		{ "__mod_lruvec_page_state", SYMBOL_SHARED },
		{ "folio_lruvec_lock_irqsave", SYMBOL_SHARED },
		{ "page_counter_try_charge", SYMBOL_PAGE_COUNTER },
		{ "propagate_protected_usage", SYMBOL_PAGE_COUNTER },
		{ "__cgroup_rstat_updated", SYMBOL_RSTAT },
		{ "__css_rstat_updated", SYMBOL_RSTAT },
		{ "css_rstat_flush", SYMBOL_RSTAT },
		{ "_raw_spin_unlock_irqrestore", SYMBOL_INTERRUPTS },
		{ "pvm_irq_enable", SYMBOL_INTERRUPTS },
		{ "lru_gen_add_folio", SYMBOL_OTHER },
		{ "clear_page_rep", SYMBOL_OTHER },
		{ "percpu_counter_add_batch", SYMBOL_OTHER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (symbol_group(cases[i].name) != cases[i].group)
			fail_msg("%s: %s", cases[i].name,
				 symbol_group_name(symbol_group(cases[i].name)));
}

static int parse(const char *text, struct symbols *ret)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	return symbols_parse_take(copy, ret);
}

static void test_symbols(void **state _unused_)
{
	static const char text[] = "0000000000001000 T first\n"
				   "0000000000001800 d data\n"
				   "0000000000002ff0 t __pfx_charge_memcg\n"
				   "0000000000003000 t charge_memcg.isra.0\n"
				   "0000000000002000 T second\n"
				   "0000000000003000 t __alias\n"
				   "not a line\n"
				   "0000000000009000 t mem_cgroup_like\t[module]\n";
	static const struct {
		uint64_t address;
		const char *name; /* NULL: below the first */
		enum symbol_group group;
	} cases[] = {
		{ 0xfff, NULL, SYMBOL_OTHER },
		{ 0x1000, "first", SYMBOL_OTHER },
		{ 0x1900, "first", SYMBOL_OTHER }, /* data is no function */
		{ 0x2fff, "second", SYMBOL_OTHER },
		{ 0x3000, "charge_memcg", SYMBOL_MEMCONTROL },
		{ 0x8fff, "charge_memcg", SYMBOL_MEMCONTROL },
		{ 0x9001, "mem_cgroup_like", SYMBOL_OTHER }, /* a module's */
		{ UINT64_MAX, "mem_cgroup_like", SYMBOL_OTHER },
	};
	_cleanup_symbols_ struct symbols symbols = {};

	assert_int_equal(parse(text, &symbols), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t at = symbols_find(&symbols, cases[i].address);

		if (!cases[i].name) {
			assert_int_equal(at, SIZE_MAX);
			continue;
		}
		assert_string_equal(symbols.items[at].name, cases[i].name);
		assert_int_equal(symbols.items[at].group, cases[i].group);
	}
	symbols_done(&symbols);
	/* what an unprivileged reader gets */
	assert_int_equal(
		parse("0000000000000000 T first\n0000000000000000 t second\n", &symbols),
		-EPERM);
	assert_int_equal(parse("", &symbols), -ENODATA);
}

/* The stream as the kernel wrote it, in this machine's byte order. */
static size_t make_stream(char *buf)
{
	char *p = buf;

	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		const struct perf_event_header header = {
			PERF_RECORD_SAMPLE,
			recorded[i].misc,
			sizeof(header) + sizeof(uint64_t),
		};
		uint64_t address = recorded[i].address;

		memcpy(p, &header, sizeof(header));
		memcpy(p + sizeof(header), &address, sizeof(address));
		p += header.size;
	}
	return (size_t)(p - buf);
}

static void test_recorded(void **state _unused_)
{
	static char stream[ARRAY_SIZE(recorded) * 16];
	_cleanup_symbols_ struct symbols symbols = {};
	_cleanup_profile_ struct profile profile = {};
	_cleanup_json_ struct json *json = NULL;
	_cleanup_free_ char *text = NULL;

	assert_int_equal(parse(recorded_symbols, &symbols), 0);
	assert_int_equal(profile_add(&profile, &symbols, stream, make_stream(stream)), 0);
	/* counted by hand in the whole kallsyms of that machine */
	assert_int_equal(profile.samples, 113);
	assert_int_equal(profile.user, 15);
	assert_int_equal(profile.groups[SYMBOL_MEMCONTROL], 7);
	assert_int_equal(profile.groups[SYMBOL_RSTAT], 4);
	assert_int_equal(profile.groups[SYMBOL_PAGE_COUNTER], 1);
	assert_int_equal(profile.groups[SYMBOL_SHARED], 0);
	assert_int_equal(profile.groups[SYMBOL_INTERRUPTS], 11);
	/* a timer's samples pile up where interrupts are let in: its numbers are not shown */
	assert_true(profile_is_biased(&profile));
	json = profile_to_json(&profile, &symbols);
	assert_int_equal(json_print(json, false, &text), 0);
	assert_non_null(strstr(text, "\"biased\":true"));
	assert_non_null(strstr(text, "\"memcontrol\":null"));
	assert_non_null(strstr(text, "\"functions\":[]"));
}

/* The same without the piled-up ones, as an NMI would give it, and what was lost. */
static void test_shares(void **state _unused_)
{
	static char stream[ARRAY_SIZE(recorded) * 16];
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} lost = { { PERF_RECORD_LOST, 0, sizeof(lost) }, 1, 42 };
	const struct {
		struct perf_event_header header;
		uint64_t time, id, stream;
	} throttled = { { PERF_RECORD_THROTTLE, 0, sizeof(throttled) }, 1, 2, 3 };
	_cleanup_symbols_ struct symbols symbols = {};
	_cleanup_profile_ struct profile profile = {};
	_cleanup_json_ struct json *json = NULL;
	const struct json *function;
	size_t size = make_stream(stream), kept = 0;
	double share;

	assert_int_equal(parse(recorded_symbols, &symbols), 0);
	for (size_t at = 0; at < size; at += 16) {
		uint64_t address;
		size_t i;

		memcpy(&address, stream + at + 8, sizeof(address));
		i = symbols_find(&symbols, address);
		if (i != SIZE_MAX && symbols.items[i].group == SYMBOL_INTERRUPTS)
			continue;
		memmove(stream + kept, stream + at, 16);
		kept += 16;
	}
	assert_int_equal(profile_add(&profile, &symbols, stream, kept), 0);
	assert_int_equal(profile_add(&profile, &symbols, &lost, sizeof(lost)), 0);
	assert_int_equal(profile_add(&profile, &symbols, &throttled, sizeof(throttled)), 0);
	assert_int_equal(profile.samples, 102);
	assert_int_equal(profile.lost, 42);
	assert_int_equal(profile.throttled, 1);
	assert_false(profile_is_biased(&profile));
	json = profile_to_json(&profile, &symbols);
	assert_int_equal(json_as_number(json_get(json, "memcontrol"), &share), 0);
	assert_true(share > 7 / 102.1 && share < 7 / 101.9);
	/* most first */
	function = json_at(json_get(json, "functions"), 0);
	assert_string_equal(json_as_string(json_get(function, "name")), "__css_rstat_updated");
	assert_int_equal(json_length(json_get(json, "functions")), 8);
}

static void test_broken(void **state _unused_)
{
	static char stream[ARRAY_SIZE(recorded) * 16];
	const struct perf_event_header empty = { PERF_RECORD_SAMPLE, 1, 0 };
	_cleanup_symbols_ struct symbols symbols = {};
	size_t size = make_stream(stream);

	assert_int_equal(parse(recorded_symbols, &symbols), 0);
	for (size_t cut = 1; cut < 64; cut++) {
		_cleanup_profile_ struct profile profile = {};

		assert_int_equal(profile_add(&profile, &symbols, stream, size - cut),
				 cut % 16 ? -EBADMSG : 0);
	}
	{
		_cleanup_profile_ struct profile profile = {};

		assert_int_equal(profile_add(&profile, &symbols, &empty, sizeof(empty)),
				 -EBADMSG);
	}
}

static int watch(void *data, pid_t pid)
{
	return profiler_start(PROFILE_TIMER, pid, data);
}

/* The way from the kernel to the counts, with the timer that is there everywhere. */
static void test_live(void **state _unused_)
{
	const struct workload_env env = { .page_size = (size_t)sysconf(_SC_PAGESIZE) };
	const struct workload_case c = {
		.workload = &workload_anon, .clients = 1, .loops = 200, .bytes = 1 << 20
	};
	_cleanup_symbols_ struct symbols symbols = {};
	_cleanup_profile_ struct profile profile = {};
	struct profiler profiler = { .fd = -EBADF };
	struct sample sample;
	int r;

	assert_int_equal(parse(recorded_symbols, &symbols), 0);
	r = worker_sample_watched(&c, &env, -EBADF, -EBADF, watch, &profiler, &sample);
	if (r < 0) {
		print_message("SKIP live samples: %s\n", strerror(-r));
		skip();
	}
	assert_int_equal(sample.invalid & SAMPLE_FAILED, 0);
	assert_int_equal(profiler_stop(&profiler, &symbols, &profile), 0);
	profiler_close(&profiler);
	assert_true(profile.samples > 10);
	assert_true(profile.user < profile.samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),	 cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_recorded), cmocka_unit_test(test_shares),
		cmocka_unit_test(test_broken),	 cmocka_unit_test(test_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
