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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build),	    cmocka_unit_test(test_text),
		cmocka_unit_test(test_lost_member), cmocka_unit_test(test_parse),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
