/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/json.h"
#include "base/str.h"

static void test_build(void **state _unused_)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *list = json_new_array();
	_cleanup_free_ char *text = NULL;

	json_add_int(top, "schema", 1);
	json_add_string(top, "none", NULL);
	json_add_string(top, "bytes", "a\xff\nb");
	json_add_u64(top, "big", UINT64_MAX);
	json_append_string(list, "/x");
	json_add(top, "list", list);
	assert_int_equal(json_print(top, false, &text), 0);
	assert_string_equal(text, "{\"schema\":1,\"none\":null,\"bytes\":\"a\\\\xff\\\\x0ab\","
				  "\"big\":18446744073709551615,\"list\":[\"/x\"]}");
}

static void test_text(void **state _unused_)
{
	_cleanup_json_ struct json *top = json_new_object();
	_cleanup_free_ char *text = NULL;

	json_add_int(top, "schema", 1);
	json_add_text_take(top, "rows", strdup("[[1,2],[3,4]]"));
	json_add_int(top, "last", 2);
	assert_int_equal(json_print(top, false, &text), 0);
	assert_string_equal(text, "{\"schema\":1,\"rows\":[[1,2],[3,4]],\"last\":2}");
	freep(&text);
	text = NULL;
	json_add_text_take(top, "lost", NULL);
	assert_int_equal(json_print(top, false, &text), -ENOMEM);
}

static void test_lost_member(void **state _unused_)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *inner = json_new_object();
	char *text;

	/* NULL is what json_new_object() gives when out of memory */
	json_add(inner, "lost", NULL);
	json_add(top, "inner", inner);
	assert_int_equal(json_print(top, true, &text), -ENOMEM);
}

static void test_parse(void **state _unused_)
{
	static const char good[] = "{\"a\":[1,{\"b/c\":\"x\"}],\"n\":512} ";
	static const char *const bad[] = { "", "{", "{\"a\":1}}", "[1,]x", "nope" };
	_cleanup_json_ struct json *value = NULL;
	struct json *at;
	uint64_t n;
	size_t offset;

	assert_int_equal(json_parse(good, strlen(good), &value, &offset), 0);
	assert_int_equal(json_pointer(value, "/a/1/b~1c", &at), 0);
	assert_string_equal(json_as_string(at), "x");
	assert_int_equal(json_pointer(value, "/a/2", &at), -ENOENT);
	assert_int_equal(json_as_u64(json_get(value, "n"), &n), 0);
	assert_int_equal(n, 512);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct json *none = NULL;

		if (json_parse(bad[i], strlen(bad[i]), &none, &offset) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
	}
}

static void test_depth(void **state _unused_)
{
	char deep[100];
	struct json *none = NULL;

	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(json_parse(deep, strlen(deep), &none, NULL), -EINVAL);
}

/* One pointer among others, which must not change its answer: 1 found, 0 not there. */
static int find_one(const char *text, size_t size, const char *pointer, struct json_span *ret)
{
	const char *const pointers[] = { "/none", pointer, pointer };
	struct json_span spans[3];
	int r = json_find(text, size, pointers, ARRAY_SIZE(pointers), spans);

	if (r < 0)
		return r;
	assert_null(spans[0].text);
	assert_ptr_equal(spans[1].text, spans[2].text);
	*ret = spans[1];
	return spans[1].text != NULL;
}

/* What json_find() says must be what the parser says, or -EAGAIN. */
static void compare_find(const char *text, size_t size, const char *pointer)
{
	_cleanup_json_ struct json *top = NULL;
	_cleanup_free_ char *printed = NULL, *copy = str_dup_n(text, size);
	struct json *at = NULL;
	struct json_span span = {};
	size_t offset;
	int r = find_one(text, size, pointer, &span);

	assert_non_null(copy);
	if (r == -EAGAIN)
		return;
	if (json_parse(copy, size, &top, &offset) < 0)
		fail_msg("found in what is no JSON: %s", copy);
	if (json_pointer(top, pointer, &at) < 0) {
		assert_int_equal(r, 0);
		return;
	}
	assert_int_equal(r, 1);
	if (span.is_string) {
		assert_non_null(json_as_string(at));
		assert_int_equal(strlen(json_as_string(at)), span.size);
		assert_memory_equal(json_as_string(at), span.text, span.size);
		return;
	}
	if (!at)
		printed = strdup("null");
	else
		assert_int_equal(json_print(at, false, &printed), 0);
	/* json-c keeps the spelling of numbers only partly: compare what matters */
	if (strcspn(printed, ".eE") == strlen(printed) && !memchr(span.text, 'e', span.size) &&
	    !memchr(span.text, 'E', span.size) && !memchr(span.text, '-', span.size)) {
		assert_int_equal(strlen(printed), span.size);
		assert_memory_equal(printed, span.text, span.size);
	}
}

static void test_find(void **state _unused_)
{
	static const struct {
		const char *text;
		const char *pointer;
		int result;
		const char *want;
	} cases[] = {
		{ "{\"Memory\":536870912,\"x\":[1,{\"Memory\":2}]}", "/Memory", 1,
		  "536870912" },
		{ " { \"a\" : { \"b\" : \"c d\" } } \n", "/a/b", 1, "c d" },
		{ "{\"a\":{\"b\":true}}", "/a/b", 1, "true" },
		{ "{\"a\":{\"b\":null}}", "/a/b", 1, "null" },
		{ "{\"a\":{\"b\":-1.5e+3}}", "/a/b", 1, "-1.5e+3" },
		{ "7", "", 1, "7" },
		{ "{\"a\":1}", "/b", 0, NULL },
		{ "{\"a\":1}", "/a/b", 0, NULL },
		{ "{\"ab\":1}", "/a", 0, NULL },
		{ "{}", "/a", 0, NULL },
		{ "[]", "/a", -EAGAIN, NULL },
		/* the last of several counts */
		{ "{\"a\":1,\"a\":2}", "/a", 1, "2" },
		{ "{\"a\":{\"b\":1},\"a\":{}}", "/a/b", 0, NULL },
		/* left to the parser */
		{ "{\"a\":[1]}", "/a/0", -EAGAIN, NULL },
		{ "{\"a\":{}}", "/a", -EAGAIN, NULL },
		{ "{\"\\u0061\":1}", "/a", -EAGAIN, NULL },
		{ "{\"a\":\"\\n\"}", "/a", -EAGAIN, NULL },
		{ "{\"b\":\"\\\"\",\"a\":1}", "/a", 1, "1" },
		{ "{\"a/b\":1}", "/a~1b", -EAGAIN, NULL },
		{ "{\"a\":1", "/a", -EAGAIN, NULL },
		{ "{\"a\":1}x", "/a", -EAGAIN, NULL },
		{ "{\"a\":01}", "/a", -EAGAIN, NULL },
		{ "{\"a\":1,}", "/a", -EAGAIN, NULL },
		{ "{'a':1}", "/a", -EAGAIN, NULL },
		{ "", "", -EAGAIN, NULL },
		{ "\"a", "", -EAGAIN, NULL },
		{ "\"a\\", "/x", -EAGAIN, NULL },
	};
	static const char alphabet[] = "{}[]:,\"\\ab/01-e.tn \n";
	uint64_t seed = 1;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_span span = {};
		int r = find_one(cases[i].text, strlen(cases[i].text), cases[i].pointer, &span);

		if (r != cases[i].result ||
		    (r > 0 && (span.size != strlen(cases[i].want) ||
			       memcmp(span.text, cases[i].want, span.size) != 0)))
			fail_msg("case %zu: %d \"%.*s\"", i, r, (int)span.size,
				 span.text ? span.text : "");
		compare_find(cases[i].text, strlen(cases[i].text), cases[i].pointer);
	}
	/* one byte changed, at every place and to every letter of a small alphabet */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t k = 0; cases[i].text[k]; k++)
			for (const char *c = alphabet; *c; c++) {
				_cleanup_free_ char *text = strdup(cases[i].text);

				assert_non_null(text);
				text[k] = *c;
				compare_find(text, strlen(text), cases[i].pointer);
			}
	/* and texts of chance, a NUL among them */
	for (int i = 0; i < 20000; i++) {
		char text[24];
		size_t n;

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
		n = (seed >> 33) % sizeof(text);
		for (size_t k = 0; k < n; k++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
			text[k] = alphabet[(seed >> 33) % sizeof(alphabet)];
		}
		if (!memchr(text, '\0', n))
			compare_find(text, n, "/a");
		else
			IGNORE(find_one(text, n, "/a", &(struct json_span){}));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),  cmocka_unit_test(test_build),
		cmocka_unit_test(test_text),  cmocka_unit_test(test_lost_member),
		cmocka_unit_test(test_parse), cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
