/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "units/unit-name.h"

static void test_forms(void **state _unused_)
{
	static const struct {
		const char *name;
		enum unit_form form;
	} cases[] = {
		{ "foo.service", UNIT_FORM_PLAIN },
		{ "foo@x.service", UNIT_FORM_INSTANCE },
		{ "foo@.service", UNIT_FORM_TEMPLATE },
		{ "foo@a@b.service", UNIT_FORM_INSTANCE },
		{ "-.slice", UNIT_FORM_PLAIN },
		{ "a.b.service", UNIT_FORM_PLAIN },
		{ "dev-\\x2d.swap", UNIT_FORM_PLAIN },
		{ "@x.service", UNIT_FORM_INVALID },
		{ ".service", UNIT_FORM_INVALID },
		{ "foo", UNIT_FORM_INVALID },
		{ "foo.conf", UNIT_FORM_INVALID },
		{ "fo o.service", UNIT_FORM_INVALID },
		{ "foo.Service", UNIT_FORM_INVALID },
		{ "f\xc3\xa9.service", UNIT_FORM_INVALID },
		{ "foo.service.d", UNIT_FORM_INVALID },
		{ "", UNIT_FORM_INVALID },
	};
	char name[300];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (unit_name_form(cases[i].name, NULL) != cases[i].form)
			fail_msg("%s", cases[i].name);
	memset(name, 'a', sizeof(name));
	strcpy(name + 247, ".service");
	assert_int_equal(unit_name_form(name, NULL), UNIT_FORM_PLAIN); /* 255 bytes */
	strcpy(name + 248, ".service");
	name[247] = 'a';
	assert_int_equal(unit_name_form(name, NULL), UNIT_FORM_INVALID);
}

static void test_dropin_stems(void **state _unused_)
{
	static const struct {
		const char *name;
		const char *want;
	} cases[] = {
		{ "foo.service", "foo.service" },
		{ "a-b.service", "a-b.service a-.service" },
		{ "a-b-c.slice", "a-b-c.slice a-b-.slice a-.slice" },
		{ "a-b@x.service",
		  "a-b@x.service a-b@.service a-.service a-@x.service a-@.service" },
		{ "a-b@.service", "a-b@.service a-.service" },
		{ "a-b-c@x.service", "a-b-c@x.service a-b-c@.service a-b-.service a-.service "
				     "a-b-@x.service a-b-@.service a-@x.service a-@.service" },
		{ "a-.service", "a-.service" },
		{ "a--b.service", "a--b.service a--.service a-.service" },
		{ "a--.service", "a--.service a-.service" },
		{ "-.slice", "-.slice" },
		{ "-a.service", "-a.service" },
		{ "user-1000.slice", "user-1000.slice user-.slice" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strv_ struct strv stems = {}, want = {};

		unit_name_dropin_stems(cases[i].name, &stems);
		strv_split(&want, cases[i].want, " ");
		assert_int_equal(strv_error(&stems), 0);
		if (stems.n != want.n)
			fail_msg("%s: %zu", cases[i].name, stems.n);
		for (size_t k = 0; k < want.n; k++)
			assert_string_equal(stems.items[k], want.items[k]);
	}
}

static void test_slices(void **state _unused_)
{
	static const struct {
		const char *name;
		bool user;
		const char *want; /* NULL: none */
	} cases[] = {
		{ "foo.service", false, "system.slice" },
		{ "foo.service", true, "app.slice" },
		{ "a-b@x.service", false, "system-a\\x2db.slice" },
		{ "a@x.service", true, "app-a.slice" },
		{ "a-b.slice", false, "a.slice" },
		{ "a-b-c.slice", false, "a-b.slice" },
		{ "a.slice", false, "-.slice" },
		{ "-.slice", false, NULL },
		{ "foo@.service", false, NULL },
		{ "init.scope", false, "-.slice" },
		{ "-.mount", false, "-.slice" },
		{ "home.mount", false, "system.slice" },
		{ "home.mount", true, "-.slice" },
	};
	static const char *const parents[] = { "a-b.slice", "a.slice", "-.slice" };
	char above[UNIT_NAME_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char slice[UNIT_NAME_MAX];
		int r = unit_name_default_slice(cases[i].name, cases[i].user, slice);

		assert_int_equal(r, cases[i].want ? 0 : -ENOENT);
		if (cases[i].want)
			assert_string_equal(slice, cases[i].want);
	}
	strcpy(above, "a-b-c.slice");
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		assert_int_equal(unit_name_parent_slice(above, above), 0);
		assert_string_equal(above, parents[i]);
	}
	assert_int_equal(unit_name_parent_slice(above, above), -ENOENT);
}

static void test_instances(void **state _unused_)
{
	char name[UNIT_NAME_MAX];
	size_t n = 0;

	assert_int_equal(unit_name_template("foo@x.service", name), 0);
	assert_string_equal(name, "foo@.service");
	assert_int_equal(unit_name_template("foo.service", name), -EINVAL);
	assert_int_equal(unit_name_instantiate("bar@.service", "foo@x.y.service", name), 0);
	assert_string_equal(name, "bar@x.y.service");
	assert_int_equal(unit_name_instantiate("bar.service", "foo@x.service", name), -EINVAL);
	assert_memory_equal(unit_name_instance("foo@x.service", &n), "x", 1);
	assert_int_equal(n, 1);
	assert_null(unit_name_instance("foo@.service", &n));
	assert_true(unit_name_is_backup(".x.conf"));
	assert_true(unit_name_is_backup("x.conf~"));
	assert_true(unit_name_is_backup("x.service.dpkg-old"));
	assert_false(unit_name_is_backup("x.conf"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_dropin_stems),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_instances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
