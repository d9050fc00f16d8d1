/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/initramfs.h"
#include "base/str.h"

static void add_member(struct strbuf *out, const char *name, const char *data, size_t size)
{
	strbuf_addf(out, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x", 1,
		    0100644, 0, 0, 1, 0, size, 0, 0, 0, 0, strlen(name) + 1, 0);
	strbuf_add(out, name, strlen(name) + 1);
	while (out->len % 4)
		strbuf_addc(out, '\0');
	strbuf_add(out, data, size);
	while (out->len % 4)
		strbuf_addc(out, '\0');
}

static int list(void *userdata, const char *name, const char *data, size_t size)
{
	strbuf_addf(userdata, "%s=%s(%zu) ", name, data ? data : "-", size);
	return streq(name, "stop") ? 7 : 0;
}

/* cpio archives, one after the other, with and without padding between them */
static void test_members(void **state _unused_)
{
	static const char large[INITRAMFS_MAX_MEMBER + 1];
	_cleanup_strbuf_ struct strbuf image = {}, seen = {};

	add_member(&image, "early", "1", 1);
	add_member(&image, "TRAILER!!!", "", 0);
	while (image.len % 512)
		strbuf_addc(&image, '\0');
	add_member(&image, "./usr/lib/a", "four", 4);
	add_member(&image, "/etc/empty", "", 0);
	add_member(&image, ".", "", 0);
	add_member(&image, "large", large, sizeof(large));
	add_member(&image, ".hidden", "xyz", 3);
	add_member(&image, "TRAILER!!!", "", 0);
	add_member(&image, "third", "", 0);
	add_member(&image, "TRAILER!!!", "", 0);
	assert_int_equal(initramfs_walk(image.data, image.len, list, &seen), 0);
	assert_string_equal(seen.data, "early=1(1) usr/lib/a=four(4) etc/empty=(0) .=(0) "
				       "large=-(65537) .hidden=xyz(3) third=(0) ");
	/* cut anywhere but at the end of an archive it is damaged */
	for (size_t n = 0; n < image.len; n += n < 1500 || n > image.len - 500 ? 1 : 997) {
		_cleanup_free_ char *copy = malloc(n + 1);
		_cleanup_strbuf_ struct strbuf ignored = {};
		int r;

		assert_non_null(copy);
		memcpy(copy, image.data, n);
		r = initramfs_walk(copy, n, list, &ignored);
		if (r != 0 && r != -EBADMSG)
			fail_msg("cut at %zu: %d", n, r);
		if (r == 0 && !strstr(ignored.data, "early"))
			fail_msg("cut at %zu is taken for whole", n);
	}
}

static void test_stop(void **state _unused_)
{
	_cleanup_strbuf_ struct strbuf image = {}, seen = {};

	add_member(&image, "stop", "", 0);
	strbuf_adds(&image, "rubbish");
	assert_int_equal(initramfs_walk(image.data, image.len, list, &seen), 7);
}

static void test_damaged(void **state _unused_)
{
	static const char *const names[] = { "", "0", "070701", "rubbish", "\0\0\0\0" };
	_cleanup_strbuf_ struct strbuf image = {}, seen = {};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(initramfs_walk(names[i], strlen(names[i]), list, &seen),
				 -EBADMSG);
	add_member(&image, "a", "", 0);
	for (size_t i = 0; i < 110; i++) {
		char kept = image.data[i];
		int r;

		image.data[i] = 'x';
		r = initramfs_walk(image.data, image.len, list, &seen);
		assert_int_equal(r, -EBADMSG);
		image.data[i] = kept;
	}
	/* a name and a file as long as can be */
	memcpy(image.data + 6 + 11 * 8, "ffffffff", 8);
	assert_int_equal(initramfs_walk(image.data, image.len, list, &seen), -EBADMSG);
	memcpy(image.data + 6 + 11 * 8, "00000002", 8);
	memcpy(image.data + 6 + 6 * 8, "ffffffff", 8);
	assert_int_equal(initramfs_walk(image.data, image.len, list, &seen), -EBADMSG);
}

/* What is compressed comes last: printf of two members, gzip -9n. */
static void test_compressed(void **state _unused_)
{
	_cleanup_strbuf_ struct strbuf image = {}, seen = {};
	/* gzip of "stored" blocks, made here: header, one block, CRC-32 and size left out */
	_cleanup_strbuf_ struct strbuf inner = {};
	int r;

	add_member(&image, "early", "1", 1);
	add_member(&image, "TRAILER!!!", "", 0);
	add_member(&inner, "usr/lib/memcg-policy/initrd", "decision=on\n", 12);
	add_member(&inner, "TRAILER!!!", "", 0);
	strbuf_add(&image, "\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11);
	strbuf_addc(&image, (char)(inner.len & 255));
	strbuf_addc(&image, (char)(inner.len >> 8));
	strbuf_addc(&image, (char)(~inner.len & 255));
	strbuf_addc(&image, (char)(~inner.len >> 8 & 255));
	strbuf_add(&image, inner.data, inner.len);
	r = initramfs_walk(image.data, image.len, list, &seen);
	if (r == -EOPNOTSUPP)
		skip();
	/* the check sum is missing: damaged, though what is in it was seen */
	assert_int_equal(r, -EBADMSG);
	assert_string_equal(seen.data,
			    "early=1(1) usr/lib/memcg-policy/initrd=decision=on\n(12) ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
