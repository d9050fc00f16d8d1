/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Result files: what is written is read, and what is wrong is told. */

#include "made-result.h"
#include "tree.h"

#include "base/diag.h"
#include "base/json.h"
#include "bench/result.h"

static void test_round_trip(void **state _unused_)
{
	_cleanup_result_ struct result result = {}, again = {};
	_cleanup_json_ struct json *value = NULL;
	_cleanup_free_ char *text = NULL, *text_again = NULL;
	_cleanup_diag_ struct diag diag = {};

	make_result(&result, "on", "a", 3, 10, 1, noisy_cost);
	result.cases[0].has_clients = true;
	result.cases[0].clients = 4;
	result.samples[3].sample.invalid = SAMPLE_FAILED;
	result.samples[3].sample.error = ENOSPC;
	strv_add(&result.warnings, "one");
	text = to_text(&result);
	assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
	assert_int_equal(result_from_json(value, "x", &again, &diag), 0);
	text_again = to_text(&again);
	assert_string_equal(text, text_again);
}

/* Files come from others, and what they say is printed: no terminal may take it for orders. */
static void test_hostile_text(void **state _unused_)
{
	_cleanup_result_ struct result result = {}, again = {};
	_cleanup_json_ struct json *value = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_diag_ struct diag diag = {};

	make_result(&result, "on\x1b[31m", "a", 3, 10, 1, noisy_cost);
	free(result.arms[2].name);
	result.arms[2].name = copy("child\n\x07");
	free(result.cases[0].workload);
	result.cases[0].workload = copy("\\x\x7f");
	strv_add(&result.warnings, "\x1b]0;");
	text = to_text(&result);
	assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
	assert_int_equal(result_from_json(value, "x", &again, &diag), 0);
	assert_string_equal(again.text[CONTEXT_MEMCG], "on\\x1b[31m");
	assert_string_equal(again.arms[2].name, "child\\x0a\\x07");
	assert_string_equal(again.cases[0].workload, "\\x\\x7f");
	assert_string_equal(again.warnings.items[0], "\\x1b]0;");
}

/* What is compared with each other is bounded. */
static void test_too_many_cases(void **state _unused_)
{
	_cleanup_result_ struct result result = {}, again = {};
	_cleanup_json_ struct json *value = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_diag_ struct diag diag = {};

	make_result(&result, "on", "a", 3, 10, 1, noisy_cost);
	text = to_text(&result);
	assert_int_equal(json_parse(text, strlen(text), &value, NULL), 0);
	for (int i = 0; i < 1280; i++) {
		struct json *more = json_new_object();

		json_add_string(more, "name", "anon");
		json_add_string(more, "unit", "page");
		json_append(json_get(value, "workloads"), more);
	}
	assert_int_equal(result_from_json(value, "x", &again, &diag), -EINVAL);
	assert_int_equal(diag.n, 1);
}

/* Every way a file can be wrong is an error with a sentence, and none is a crash. */
static void test_wrong_files(void **state _unused_)
{
	static const struct {
		const char *from, *to;
	} changes[] = {
		{ "\"kind\":\"bench\"", "\"kind\":\"other\"" },
		{ "\"schema\":1", "\"schema\":2" },
		{ "\"arms\":[", "\"arms\":[],\"x\":[" },
		{ "\"arms\":[", "\"arms\":[{}],"
				"\"x\":[" },
		{ "\"workloads\":[", "\"workloads\":3,\"x\":[" },
		{ "\"cpu_ns\"", "\"cpu_nanoseconds\"" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[9,0,0" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[0,9,0" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[0,0,4000000000" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[0,0,-1" },
		{ "\"samples\":[[0,0,0,0,2048", "\"samples\":[[0,0,0,0,0" },
		{ "\"samples\":[[0,0,0", "\"samples\":[[0],[0,0,0" },
		{ "\"samples\":[[0,0,0", "\"samples\":[7,[0,0,0" },
	};
	_cleanup_result_ struct result result = {};
	_cleanup_free_ char *text = NULL;

	make_result(&result, "on", "a", 3, 10, 1, noisy_cost);
	text = to_text(&result);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_json_ struct json *value = NULL;
		_cleanup_diag_ struct diag diag = {};
		_cleanup_free_ char *changed = NULL;
		struct result none = {};
		const char *at = strstr(text, changes[i].from);

		if (!at)
			fail_msg("%s is not there", changes[i].from);
		assert_true(str_printf(&changed, "%.*s%s%s", (int)(at - text), text,
				       changes[i].to, at + strlen(changes[i].from)) >= 0);
		assert_int_equal(json_parse(changed, strlen(changed), &value, NULL), 0);
		if (result_from_json(value, "x", &none, &diag) != -EINVAL)
			fail_msg("%s was taken", changes[i].to);
		assert_int_equal(diag_count(&diag, DIAG_ERROR), 1);
	}
}

static void test_csv(void **state _unused_)
{
	_cleanup_result_ struct result result = {};
	char *text = NULL;
	size_t size, lines = 0;
	FILE *f = open_memstream(&text, &size);

	make_result(&result, "on", "a", 3, 10, 1, noisy_cost);
	result.samples[1].sample.invalid = SAMPLE_MAJOR;
	assert_non_null(f);
	assert_int_equal(result_print_csv(&result, f), 0);
	assert_int_equal(fclose(f), 0);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 31);
	assert_non_null(strstr(text, "\nanon,control,0,"));
	assert_non_null(strstr(text, ",major-faults,"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_too_many_cases),
		cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_csv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
