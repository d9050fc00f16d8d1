/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"
#include "boot/image.h"

#include <stdio.h>

static void put32(struct strbuf *out, uint32_t value, bool big)
{
	for (unsigned i = 0; i < 4; i++)
		strbuf_addc(out, (char)(value >> (big ? 24 - 8 * i : 8 * i)));
}

static void pad(struct strbuf *out, size_t to)
{
	while (out->len < to)
		strbuf_addc(out, '\0');
}

/* A PE image with .osrel and .cmdline. */
static void make_pe(struct strbuf *out, const char *cmdline, uint32_t vsize, uint32_t offset)
{
	strbuf_adds(out, "MZ");
	pad(out, 0x3c);
	put32(out, 0x80, false);
	pad(out, 0x80);
	strbuf_add(out, "PE\0\0", 4);
	strbuf_add(out, "\x64\x86\x02\x00", 4);
	pad(out, 0x80 + 20);
	strbuf_add(out, "\x10\x00\x00\x00", 4); /* optional header of 16 bytes */
	pad(out, 0x80 + 24 + 16);
	for (unsigned i = 0; i < 2; i++) {
		size_t start = out->len;

		strbuf_adds(out, i ? ".cmdline" : ".osrel");
		pad(out, start + 8);
		put32(out, i ? vsize : 4, false);
		put32(out, 0, false);
		put32(out, i ? 512 : 4, false);
		put32(out, i ? offset : 0x200, false);
		pad(out, start + 40);
	}
	pad(out, 0x200);
	strbuf_adds(out, "ID=x");
	pad(out, 0x300);
	strbuf_adds(out, cmdline);
	pad(out, 0x500);
}

static void test_pe(void **state _unused_)
{
	static const struct {
		uint32_t vsize;
		uint32_t offset;
		int r;
		const char *want;
	} cases[] = {
		{ 10, 0x300, 0, "root=x qui" },
		{ 512, 0x300, 0, "root=x quiet" },
		{ 0, 0x300, 0, "" },
		{ 4096, 0x300, 0, "root=x quiet" },
		{ 512, 0x310, -EBADMSG, NULL },
		{ 512, 0xfffffff0, -EBADMSG, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf pe = {};
		_cleanup_free_ char *got = NULL;
		struct tree tree;

		tree_init(&tree, ROOT_OFFLINE);
		make_pe(&pe, "root=x quiet", cases[i].vsize, cases[i].offset);
		tree_write_n(&tree, "/a.efi", pe.data, pe.len);
		assert_int_equal(image_pe_section(tree.root, "/a.efi", ".cmdline", &got),
				 cases[i].r);
		if (!streq_ptr(got, cases[i].want))
			fail_msg("case %zu: %s", i, got);
		/* cut anywhere it is refused, and never read beyond */
		for (size_t n = 0; n < 0x300; n += 7) {
			_cleanup_free_ char *cut = NULL;
			int r;

			tree_write_n(&tree, "/cut.efi", pe.data, n);
			r = image_pe_section(tree.root, "/cut.efi", ".cmdline", &cut);
			if (r != -EBADMSG && !(r == 0 && cases[i].vsize == 0))
				fail_msg("%zu bytes: %d", n, r);
		}
		assert_int_equal(image_pe_section(tree.root, "/a.efi", ".linux", &got),
				 -ENOENT);
		tree_done(&tree);
	}
}

static void make_dtb(struct strbuf *out)
{
	static const char strings[] = "compatible\0bootargs";
	struct strbuf structs = {};

	put32(&structs, 1, true); /* root */
	put32(&structs, 0, true);
	put32(&structs, 3, true); /* a bootargs that is not chosen's */
	put32(&structs, 2, true);
	put32(&structs, 11, true);
	strbuf_add(&structs, "x\0\0\0", 4);
	put32(&structs, 4, true);
	put32(&structs, 1, true);
	strbuf_add(&structs, "chosen\0\0", 8);
	put32(&structs, 3, true);
	put32(&structs, 5, true);
	put32(&structs, 0, true);
	strbuf_add(&structs, "abcd\0\0\0\0", 8);
	put32(&structs, 3, true);
	put32(&structs, 22, true);
	put32(&structs, 11, true);
	strbuf_add(&structs, "cgroup_disable=memory\0\0\0", 24);
	put32(&structs, 2, true);
	put32(&structs, 2, true);
	put32(&structs, 9, true);
	put32(out, 0xd00dfeed, true);
	put32(out, 0, true);
	put32(out, 40, true);
	put32(out, (uint32_t)(40 + structs.len), true);
	pad(out, 32);
	put32(out, sizeof(strings), true);
	put32(out, (uint32_t)structs.len, true);
	strbuf_add(out, structs.data, structs.len);
	strbuf_add(out, strings, sizeof(strings));
	strbuf_done(&structs);
}

static void test_dtb(void **state _unused_)
{
	_cleanup_strbuf_ struct strbuf dtb = {};
	_cleanup_free_ char *got = NULL;

	make_dtb(&dtb);
	assert_int_equal(image_dtb_bootargs(dtb.data, dtb.len, &got), 0);
	assert_string_equal(got, "cgroup_disable=memory");
	assert_int_equal(image_dtb_bootargs("", 0, &got), -EBADMSG);
	/* any byte may be wrong: an answer or a refusal, never a read outside */
	for (size_t i = 0; i < dtb.len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			_cleanup_free_ char *copy = str_dup_n(dtb.data, dtb.len), *out = NULL;
			int r;

			copy[i] = (char)(copy[i] ^ 1 << bit);
			r = image_dtb_bootargs(copy, dtb.len, &out);
			assert_true(r == 0 || r == -ENOENT || r == -EBADMSG);
		}
	for (size_t n = 0; n < dtb.len; n++) {
		_cleanup_free_ char *copy = str_dup_n(dtb.data, n), *out = NULL;

		assert_int_equal(image_dtb_bootargs(copy, n, &out), -EBADMSG);
	}
}

static void test_variable(void **state _unused_)
{
	static const char value[] = "\6\0\0\0s\0d\0-\0\xe9\0\x20\x26\0\xd8\0\0z\0";
	_cleanup_free_ char *got = NULL;
	struct tree tree;

	tree_init(&tree, ROOT_SNAPSHOT);
	tree_write_n(
		&tree,
		"/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
		value, sizeof(value) - 1);
	assert_int_equal(image_loader_variable(tree.root, "LoaderInfo", &got), 0);
	assert_string_equal(got, "sd-\xc3\xa9\xe2\x98\xa0\xef\xbf\xbd");
	assert_int_equal(image_loader_variable(tree.root, "StubInfo", &got), -ENOENT);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pe),
		cmocka_unit_test(test_dtb),
		cmocka_unit_test(test_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
