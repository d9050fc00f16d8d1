/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/archive.h"
#include "base/str.h"

/* printf 'CONFIG_MEMCG=y\n' | gzip -n */
static const char gzipped[] =
	"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x73\xf6\xf7\x73\xf3\x74\x8f"
	"\xf7\x75\xf5\x75\x76\xb7\xad\xe4\x02\x00\xd4\xe0\xa3\xc3\x0f\x00\x00"
	"\x00";

static void test_uncompress(void **state _unused_)
{
	_cleanup_free_ char *text = NULL, *cut = NULL;
	size_t n = sizeof(gzipped) - 1, size;
	int r;

	assert_true(archive_is_compressed(gzipped, n));
	assert_false(archive_is_compressed("CONFIG_MEMCG=y\n", 15));
	assert_false(archive_is_compressed("", 0));
	r = archive_uncompress_all("CONFIG_MEMCG=y\n", 15, 100, &text, &size);
	assert_int_equal(r, -EINVAL);
	r = archive_uncompress_all(gzipped, n, 100, &text, &size);
	if (r == -EOPNOTSUPP) {
		print_message("SKIP uncompress: no libarchive\n");
		skip();
	}
	assert_int_equal(r, 0);
	assert_int_equal(size, 15);
	assert_string_equal(text, "CONFIG_MEMCG=y\n");
	assert_int_equal(archive_uncompress_all(gzipped, n, 14, &cut, &size), -EFBIG);
	assert_int_equal(archive_uncompress_all(gzipped, n - 12, 100, &cut, &size), -EBADMSG);
	assert_int_equal(archive_uncompress_all(gzipped, 4, 100, &cut, &size), -EBADMSG);
}

/* What only starts like a compressed file is damaged, not text. */
static void test_damaged(void **state _unused_)
{
	static const struct {
		const char *start;
		size_t size;
	} magics[] = {
		{ "\x1f\x8b\x08", 3 },
		{ "\xfd"
		  "7zXZ\0",
		  6 },
		{ "\x28\xb5\x2f\xfd", 4 },
		{ "\x04\x22\x4d\x18", 4 },
		{ "\x02\x21\x4c\x18", 4 },
		{ "BZh", 3 },
		{ "\x5d\0\0", 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		_cleanup_free_ char *text = NULL;
		char data[64];
		size_t size;
		int r;

		memset(data, ' ', sizeof(data));
		memcpy(data, magics[i].start, magics[i].size);
		r = archive_uncompress_all(data, sizeof(data), 1000, &text, &size);
		if (r != -EOPNOTSUPP && r != -EBADMSG)
			fail_msg("magic %zu: %d", i, r);
	}
}

static int stop_at_once(void *userdata, const void *data, size_t size)
{
	(void)data;
	*(size_t *)userdata = size;
	return 7;
}

static void test_stop(void **state _unused_)
{
	size_t seen = 0;
	int r = archive_uncompress(gzipped, sizeof(gzipped) - 1, 100, stop_at_once, &seen);

	if (r == -EOPNOTSUPP)
		skip();
	assert_int_equal(r, 7);
	assert_int_equal(seen, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uncompress),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
