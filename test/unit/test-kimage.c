/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packings are in test/uml/images.py; here the rest. */

#include "tree.h"

#include "base/str.h"
#include "facts/kimage.h"

#include <sys/stat.h>

#define TEXT(s) s, sizeof(s) - 1

static enum answer honours(const struct tree *tree, const char *data, size_t size,
			   struct kimage_cache *cache, char **ret_release)
{
	enum answer answer = ANSWER_NOT_LOOKED;

	if (data)
		tree_write_n(tree, "boot/vmlinux", data, size);
	assert_int_equal(
		kimage_honours_enable(tree->root, "/boot/vmlinux", cache, &answer, ret_release),
		0);
	return answer;
}

static void test_plain(void **state _unused_)
{
	enum answer answer;
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	assert_int_equal(
		honours(&tree, TEXT("x\0cgroup_disable=\0cgroup_enable=\0y"), NULL, NULL),
		ANSWER_YES);
	assert_int_equal(honours(&tree, TEXT("x\0cgroup_disable=\0y"), NULL, NULL), ANSWER_NO);
	/* no control, no answer */
	assert_int_equal(honours(&tree, TEXT("x\0cgroup_enable=\0y"), NULL, NULL),
			 ANSWER_UNKNOWN);
	assert_int_equal(honours(&tree, TEXT("x\0cgroup_disable=memory\0y"), NULL, NULL),
			 ANSWER_UNKNOWN);
	assert_int_equal(honours(&tree, "", 0, NULL, NULL), ANSWER_UNKNOWN);
	assert_int_equal(kimage_honours_enable(tree.root, "/boot/none", NULL, &answer, NULL),
			 -ENOENT);
	assert_int_equal(kimage_honours_enable(tree.root, "/boot", NULL, &answer, NULL),
			 -EISDIR);
	tree_done(&tree);
}

/* Headers that point outside of their file, or at themselves, are read without harm. */
static void test_hostile(void **state _unused_)
{
	char image[1024];
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	for (unsigned round = 0; round < 3; round++) {
		static const uint32_t sizes[] = { 0xffffffff, 0, 1024 };

		memset(image, 0, sizeof(image));
		memcpy(image, "MZ\0\0zimg", 8);
		memset(image + 8, 0xff, 8);
		memcpy(image + 0x3c, "\x80\0\0", 4);
		memcpy(image + 0x80, "PE\0", 4);
		image[0x86] = 2;
		memcpy(image + 0x98, ".linux\0", 8);
		memcpy(image + 0x98 + 8, &sizes[round], 4);
		memcpy(image + 0x98 + 16, &sizes[round], 4);
		image[0x1f1] = (char)0xff;
		memcpy(image + 0x202, "HdrS\xff\xff", 6);
		memset(image + 0x248, 0xff, 8);
		assert_int_equal(honours(&tree, image, sizeof(image), NULL, NULL),
				 ANSWER_UNKNOWN);
	}
	tree_done(&tree);
}

/* Each part of a file's identity counts. */
static void check_identity(const struct kimage_cache *cache)
{
	const struct kimage_cache_entry *e = &cache->entries[0];

	for (unsigned part = 0; part < 6; part++) {
		_cleanup_free_ char *release = NULL;
		struct stat st = { .st_dev = e->dev + (part == 1),
				   .st_ino = e->ino + (part == 2),
				   .st_size = (off_t)e->size + (part == 3),
				   .st_mtim = { .tv_sec = e->mtime_s + (part == 4),
						.tv_nsec = e->mtime_ns + (part == 5) } };
		enum answer answer;

		assert_int_equal(kimage_cache_get(cache, &st, &answer, &release),
				 part == 0 ? 0 : -ENOENT);
	}
}

static void test_cache(void **state _unused_)
{
	static const char yes[] = "Linux version 6.1.0 (x)\0cgroup_disable=\0cgroup_enable=\0";
	_cleanup_kimage_cache_ struct kimage_cache cache = {}, read = {}, empty = {};
	_cleanup_free_ char *release = NULL, *text = NULL, *again = NULL;
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	assert_int_equal(honours(&tree, TEXT("x\0cgroup_enable=\0y"), &cache, NULL),
			 ANSWER_UNKNOWN);
	assert_int_equal(cache.n, 0); /* what could not be told is asked again */
	assert_int_equal(honours(&tree, TEXT(yes), &cache, &release), ANSWER_YES);
	assert_string_equal(release, "6.1.0");
	assert_int_equal(cache.n, 1);
	assert_true(cache.changed);
	assert_int_equal(kimage_cache_print(&cache, &text), 0);
	assert_int_equal(kimage_cache_parse(text, strlen(text), &read), 0);
	assert_int_equal(read.n, 1);
	assert_false(read.changed);
	/* the answer is now the cache's */
	read.entries[0].honours = ANSWER_NO;
	assert_int_equal(honours(&tree, NULL, 0, &read, &again), ANSWER_NO);
	assert_string_equal(again, "6.1.0");
	/* another size, another file */
	assert_int_equal(
		honours(&tree, TEXT("x\0cgroup_disable=\0cgroup_enable=\0more"), &read, NULL),
		ANSWER_YES);
	assert_int_equal(read.n, 2);
	check_identity(&cache);
	/* damage is an emptier cache */
	assert_int_equal(kimage_cache_parse(TEXT("1 2 3 4 5 yes\n1 2 3 4 5 maybe -\nx\n\n"
						 "1 2 3 4 5 no ../x\n-1 2 3 4 5 no -\n"),
					    &empty),
			 0);
	assert_int_equal(empty.n, 0);
	tree_done(&tree);
}

static void test_header(void **state _unused_)
{
	char image[2048] = "MZ";
	char *release = NULL;
	struct tree tree;

	tree_init(&tree, ROOT_OFFLINE);
	memcpy(image + 0x202, "HdrS\x0f\x02", 6);
	memcpy(image + 0x20e, "\0\x03", 2);
	memcpy(image + 0x500, "6.12.9-arch1-1 (x@y) #1", 24);
	tree_write_n(&tree, "boot/a", image, sizeof(image));
	assert_int_equal(kimage_header_release(tree.root, "/boot/a", &release), 0);
	assert_string_equal(release, "6.12.9-arch1-1");
	free(release);
	release = NULL;
	tree_write_n(&tree, "boot/b", image, 0x210);
	assert_int_equal(kimage_header_release(tree.root, "/boot/b", &release), -ENOENT);
	memcpy(image + 0x500, "../x ", 5);
	tree_write_n(&tree, "boot/c", image, sizeof(image));
	assert_int_equal(kimage_header_release(tree.root, "/boot/c", &release), -ENOENT);
	tree_write(&tree, "boot/d", "text");
	assert_int_equal(kimage_header_release(tree.root, "/boot/d", &release), -ENOENT);
	assert_null(release);
	tree_done(&tree);
}

static void test_kallsyms(void **state _unused_)
{
	static const struct {
		const char *last;
		enum answer answer;
	} cases[] = {
		{ "0 t cgroup_enable\n0 t cgroup_disable\n", ANSWER_YES },
		{ "0 t cgroup_disable\n", ANSWER_NO },
		{ "0 t cgroup_disable\n0 t cgroup_enable_task_cg_lists\n", ANSWER_NO },
		{ "0 t cgroup_disable\n0 t memcgroup_enable\n0 d __setup_cgroup_enable\n",
		  ANSWER_NO },
		{ "0 t cgroup_enable\n", ANSWER_UNKNOWN },
		{ "0 t cgroup_disable.llvm.12\n", ANSWER_UNKNOWN },
		{ "", ANSWER_UNKNOWN },
	};
	struct tree tree;
	enum answer answer;

	tree_init(&tree, ROOT_SNAPSHOT);
	assert_int_equal(kimage_running_honours_enable(tree.root, &answer), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		/* at every place of the seam between two reads */
		for (size_t pad = 0; pad < 40; pad++) {
			_cleanup_strbuf_ struct strbuf buf = {};

			while (buf.len < 64 * 1024 - 64 + pad)
				strbuf_adds(&buf, buf.len % 2 ? "0 T x\n" : "0 T xy\n");
			strbuf_adds(&buf, cases[i].last);
			tree_write(&tree, "proc/kallsyms", buf.data);
			assert_int_equal(kimage_running_honours_enable(tree.root, &answer), 0);
			assert_int_equal(answer, cases[i].answer);
		}
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	 cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_cache),	 cmocka_unit_test(test_header),
		cmocka_unit_test(test_kallsyms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
