/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "boot/grubenv.h"

#define SIGNATURE "# GRUB Environment Block\n"

/* A block with this body, padded. */
static void block(char buf[GRUBENV_SIZE + 1], const char *body)
{
	size_t n = strlen(body);

	assert_true(n <= GRUBENV_SIZE);
	memset(buf, '#', GRUBENV_SIZE);
	memcpy(buf, body, n);
	buf[GRUBENV_SIZE] = '\0';
}

static void test_check(void **state _unused_)
{
	char buf[GRUBENV_SIZE + 1];

	block(buf, SIGNATURE);
	assert_int_equal(grubenv_check(buf, GRUBENV_SIZE), 0);
	assert_int_equal(grubenv_check(buf, GRUBENV_SIZE - 1), -EBADMSG);
	block(buf, "# GRUB environment block\n");
	assert_int_equal(grubenv_check(buf, GRUBENV_SIZE), -EBADMSG);
}

static void test_get(void **state _unused_)
{
	static const struct {
		const char *body;
		const char *want;
	} cases[] = {
		{ SIGNATURE "a=1\nkernelopts=root=x ro\nb=2\n", "root=x ro" },
		{ SIGNATURE "kernelopts=\n", "" },
		{ SIGNATURE "xkernelopts=1\nkernelopts2=1\n", NULL },
		{ SIGNATURE "kernelopts=a\\\\b\\\nc\n", "a\\b\nc" },
		{ SIGNATURE "# WARNING: edit with a tool\nkernelopts=x\n", "x" },
		{ SIGNATURE "a=1\\\nkernelopts=y\n", NULL },
		{ SIGNATURE, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char buf[GRUBENV_SIZE + 1];
		_cleanup_free_ char *got = NULL;
		int r;

		block(buf, cases[i].body);
		r = grubenv_get(buf, "kernelopts", &got);
		if (!streq_ptr(got, cases[i].want))
			fail_msg("case %zu: \"%s\", not \"%s\"", i, got, cases[i].want);
		assert_int_equal(r, cases[i].want ? 0 : -ENOENT);
	}
}

static void test_set(void **state _unused_)
{
	static const struct {
		const char *body;
		const char *value;
		const char *want;
	} cases[] = {
		{ SIGNATURE "a=1\nkernelopts=x\nb=2\n", "root=y ro",
		  SIGNATURE "a=1\nkernelopts=root=y ro\nb=2\n" },
		{ SIGNATURE "a=1\n", "z", SIGNATURE "a=1\nkernelopts=z\n" },
		{ SIGNATURE "a=1\nkernelopts=x\nb=2\n", NULL, SIGNATURE "a=1\nb=2\n" },
		{ SIGNATURE "a=1\n", NULL, SIGNATURE "a=1\n" },
		{ SIGNATURE, "a\\b\nc", SIGNATURE "kernelopts=a\\\\b\\\nc\n" },
		{ SIGNATURE "kernelopts=1\nkernelopts=2\n", "3",
		  SIGNATURE "kernelopts=3\nkernelopts=2\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char buf[GRUBENV_SIZE + 1], want[GRUBENV_SIZE + 1];
		_cleanup_free_ char *got = NULL;

		block(buf, cases[i].body);
		block(want, cases[i].want);
		assert_int_equal(grubenv_set(buf, "kernelopts", cases[i].value, &got), 0);
		if (memcmp(got, want, GRUBENV_SIZE) != 0)
			fail_msg("case %zu: %.200s", i, got);
	}
}

static void test_overflow(void **state _unused_)
{
	char buf[GRUBENV_SIZE + 1], value[GRUBENV_SIZE];
	size_t room = GRUBENV_SIZE - strlen(SIGNATURE) - strlen("kernelopts=\n");
	_cleanup_free_ char *got = NULL;

	block(buf, SIGNATURE);
	memset(value, 'x', sizeof(value));
	value[room] = '\0';
	assert_int_equal(grubenv_set(buf, "kernelopts", value, &got), 0);
	assert_int_equal(got[GRUBENV_SIZE - 1], '\n');
	freep(&got);
	got = NULL;
	value[room] = 'x';
	value[room + 1] = '\0';
	assert_int_equal(grubenv_set(buf, "kernelopts", value, &got), -ENOSPC);
	assert_null(got);
	/* a full block without padding is read too */
	memset(buf + strlen(SIGNATURE), 'y', GRUBENV_SIZE - strlen(SIGNATURE));
	assert_int_equal(grubenv_get(buf, "kernelopts", &got), -ENOENT);
	assert_int_equal(grubenv_set(buf, "k", "v", &got), -ENOSPC);
}

static void test_text_size(void **state _unused_)
{
	static const char text[] = "any other file\n####";
	char buf[GRUBENV_SIZE + 1];

	block(buf, SIGNATURE "# WARNING: edit with a tool\na=#\n");
	assert_int_equal(grubenv_text_size(buf, GRUBENV_SIZE),
			 strlen(SIGNATURE "# WARNING: edit with a tool\na=#\n"));
	block(buf, SIGNATURE);
	assert_int_equal(grubenv_text_size(buf, GRUBENV_SIZE), strlen(SIGNATURE));
	/* full: there is no padding */
	memset(buf + strlen(SIGNATURE), 'y', GRUBENV_SIZE - strlen(SIGNATURE));
	assert_int_equal(grubenv_text_size(buf, GRUBENV_SIZE), GRUBENV_SIZE);
	assert_int_equal(grubenv_text_size(text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(grubenv_text_size(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),	  cmocka_unit_test(test_get),
		cmocka_unit_test(test_set),	  cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_text_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
