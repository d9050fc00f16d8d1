/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/atomic.h"
#include "base/str.h"
#include "base/temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

static const struct content none = {};

static struct content text(const char *s)
{
	return (struct content){ .data = (char *)(uintptr_t)s, .size = strlen(s) };
}

static int put(const struct tree *t, const char *path, const char *from, const char *to,
	       unsigned flags)
{
	const struct content expected = from ? text(from) : none, wanted = to ? text(to) : none;

	return atomic_put(t->root, path, &expected, &wanted, 0600, flags);
}

static struct stat look(const struct tree *t, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(root_fd(t->root), path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static unsigned count(const char *dir, const char *prefix)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));)
		n += str_skip_prefix(e->d_name, prefix) != NULL;
	(void)closedir(d); /* only read */
	return n;
}

/* Nothing of ours lies about. */
static void is_tidy(const struct tree *t, const char *dir)
{
	_cleanup_free_ char *path = NULL;

	assert_true(str_printf(&path, "%s/%s", t->path, dir) >= 0);
	assert_int_equal(count(path, TEMPORARY_PREFIX), 0);
}

static void test_put(void **state _unused_)
{
	static const struct {
		const char *there, *from, *to;
		int result;
		const char *after;
	} cases[] = {
		{ "old", "old", "new", 1, "new" },
		{ "old", "old", "", 1, "" },
		{ "", "", "new", 1, "new" },
		{ "new", "old", "new", 0, "new" },
		{ "else", "old", "new", -ESTALE, "else" },
		{ "old, and more", "old", "new", -ESTALE, "old, and more" },
		{ "ol", "old", "new", -ESTALE, "ol" },
		{ NULL, "old", "new", -ESTALE, NULL },
		{ NULL, NULL, "new", 1, "new" },
		{ "new", NULL, "new", 0, "new" },
		{ "else", NULL, "new", -ESTALE, "else" },
		{ "", NULL, "new", -ESTALE, "" },
		{ "old", "old", NULL, 1, NULL },
		{ NULL, "old", NULL, 0, NULL },
		{ "else", "old", NULL, -ESTALE, "else" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned flags = 0; flags <= ATOMIC_BOOT; flags += ATOMIC_BOOT) {
			struct tree t;

			tree_init(&t, ROOT_OFFLINE);
			tree_mkdir(&t, "d");
			if (cases[i].there)
				tree_write(&t, "d/f", cases[i].there);
			assert_int_equal(put(&t, "/d/f", cases[i].from, cases[i].to, flags),
					 cases[i].result);
			tree_assert(&t, "d/f", cases[i].after);
			is_tidy(&t, "d");
			tree_done(&t);
		}
}

static void test_missing_directory(void **state _unused_)
{
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	assert_int_equal(put(&t, "/no/f", NULL, "new", 0), -ENOENT);
	assert_int_equal(put(&t, "/no/f", "old", NULL, 0), 0);
	tree_write(&t, "file", "");
	assert_int_equal(put(&t, "/file/f", NULL, "new", 0), -ENOTDIR);
	tree_done(&t);
}

static void test_metadata_is_kept(void **state _unused_)
{
	struct tree t;
	_cleanup_free_ char *path = NULL;
	char value[16];
	struct stat st;
	bool has_xattrs;

	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "f", "old");
	assert_true(str_printf(&path, "%s/f", t.path) >= 0);
	has_xattrs = setxattr(path, "user.note", "kept", 4, 0) == 0;
	if (geteuid() == 0)
		assert_int_equal(chown(path, 12, 34), 0);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(put(&t, "/f", "old", "new", 0), 1);
	st = look(&t, "f");
	assert_int_equal(st.st_mode & 07777, 0640);
	if (geteuid() == 0) {
		assert_int_equal(st.st_uid, 12);
		assert_int_equal(st.st_gid, 34);
	}
	if (has_xattrs) {
		assert_int_equal(getxattr(path, "user.note", value, sizeof(value)), 4);
		assert_memory_equal(value, "kept", 4);
	}
	assert_int_equal(put(&t, "/new", NULL, "new", 0), 1);
	assert_int_equal(look(&t, "new").st_mode & 07777, 0600);
	tree_done(&t);
}

static void test_links_are_followed_inside(void **state _unused_)
{
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	tree_mkdir(&t, "d");
	tree_write(&t, "d/real", "old");
	tree_symlink(&t, "../d/real", "d/relative");
	tree_symlink(&t, "/d/real", "absolute");
	tree_symlink(&t, "../../../../../d/made", "dangling");
	tree_symlink(&t, "loop", "loop");
	assert_int_equal(put(&t, "/d/relative", "old", "1", 0), 1);
	assert_int_equal(put(&t, "/absolute", "1", "2", 0), 1);
	tree_assert(&t, "d/real", "2");
	assert_int_equal(put(&t, "/dangling", NULL, "made", 0), 1);
	tree_assert(&t, "d/made", "made");
	assert_int_equal(put(&t, "/loop", NULL, "x", 0), -ELOOP);
	assert_true(S_ISLNK(look(&t, "d/relative").st_mode));
	assert_true(S_ISLNK(look(&t, "absolute").st_mode));
	assert_true(S_ISLNK(look(&t, "dangling").st_mode));
	/* deleting takes what a link leads to, and leaves the link to whoever made it */
	assert_int_equal(put(&t, "/absolute", "2", NULL, 0), 1);
	tree_assert(&t, "d/real", NULL);
	assert_true(S_ISLNK(look(&t, "absolute").st_mode));
	tree_done(&t);
}

static void test_odd_files_are_refused(void **state _unused_)
{
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	tree_mkdir(&t, "d/f");
	assert_int_equal(mkfifoat(root_fd(t.root), "d/fifo", 0600), 0);
	assert_int_equal(put(&t, "/d/f", NULL, "new", 0), -EISDIR);
	assert_int_equal(put(&t, "/d/f", "old", NULL, 0), -EISDIR);
	assert_int_equal(put(&t, "/d/fifo", NULL, "new", 0), -EBADFD);
	assert_int_equal(put(&t, "/", NULL, "new", 0), -EISDIR);
	assert_true(S_ISFIFO(look(&t, "d/fifo").st_mode));
	is_tidy(&t, "d");
	tree_done(&t);
}

static void test_touch(void **state _unused_)
{
	const struct timespec past[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "f", "same");
	for (unsigned flags = 0; flags <= ATOMIC_TOUCH; flags += ATOMIC_TOUCH) {
		assert_int_equal(utimensat(root_fd(t.root), "f", past, 0), 0);
		assert_int_equal(put(&t, "/f", "old", "same", flags), flags ? 1 : 0);
		assert_int_equal(look(&t, "f").st_mtime > 1000, flags != 0);
	}
	tree_done(&t);
}

static void test_in_place(void **state _unused_)
{
	struct tree t;
	struct stat before;
	char big[2][4098] = {};

	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "f", "old");
	before = look(&t, "f");
	assert_int_equal(put(&t, "/f", "old", "new", ATOMIC_IN_PLACE), 1);
	tree_assert(&t, "f", "new");
	assert_int_equal(look(&t, "f").st_ino, before.st_ino);
	assert_int_equal(put(&t, "/f", "old", "new", ATOMIC_IN_PLACE), 0);
	assert_int_equal(put(&t, "/f", "odd", "old", ATOMIC_IN_PLACE), -ESTALE);
	assert_int_equal(put(&t, "/f", "new", "longer", ATOMIC_IN_PLACE), -EINVAL);
	tree_assert(&t, "f", "new");
	memset(big[0], 'a', sizeof(big[0]) - 1);
	memset(big[1], 'b', sizeof(big[1]) - 1);
	tree_write(&t, "big", big[0]);
	assert_int_equal(put(&t, "/big", big[0], big[1], ATOMIC_IN_PLACE), -EINVAL);
	tree_assert(&t, "big", big[0]);
	/* there is nothing to write over */
	assert_int_equal(put(&t, "/none", NULL, "new", ATOMIC_IN_PLACE), 1);
	tree_done(&t);
}

enum { MANY = 20 };

struct many {
	char paths[MANY][16];
	struct content old, new;
	struct atomic_change changes[MANY];
};

/* Half of them in each of two directories. */
static void many_init(struct many *many, const struct tree *t)
{
	many->old = text("old");
	many->new = text("new");
	for (size_t i = 0; i < MANY; i++) {
		(void)snprintf(many->paths[i], sizeof(many->paths[i]), "/%s/%zu",
			       i < MANY / 2 ? "a" : "b", i); /* fits */
		tree_write(t, many->paths[i] + 1, "old");
		many->changes[i] = (struct atomic_change){
			many->paths[i], &many->old, &many->new, 0600, ATOMIC_BOOT,
		};
	}
}

static void test_put_all(void **state _unused_)
{
	static struct many many;
	struct tree t;
	size_t at = 0;
	unsigned open_before;

	tree_init(&t, ROOT_OFFLINE);
	many_init(&many, &t);
	tree_write(&t, "a/3", "new"); /* is right already */
	open_before = count("/proc/self/fd", "");
	assert_int_equal(atomic_put_all(t.root, many.changes, MANY, &at), 1);
	for (size_t i = 0; i < MANY; i++)
		tree_assert(&t, many.paths[i] + 1, "new");
	assert_int_equal(atomic_put_all(t.root, many.changes, MANY, &at), 0);
	assert_int_equal(atomic_put_all(t.root, many.changes, 0, &at), 0);
	assert_int_equal(count("/proc/self/fd", ""), open_before);
	is_tidy(&t, "a");
	is_tidy(&t, "b");
	tree_done(&t);
}

static void test_put_all_fails_whole(void **state _unused_)
{
	static struct many many;
	struct tree t;
	size_t at = 0;
	unsigned open_before;

	tree_init(&t, ROOT_OFFLINE);
	many_init(&many, &t);
	tree_write(&t, "b/13", "else");
	open_before = count("/proc/self/fd", "");
	assert_int_equal(atomic_put_all(t.root, many.changes, MANY, &at), -ESTALE);
	assert_int_equal(at, 13);
	/* it was seen before any name moved */
	for (size_t i = 0; i < MANY; i++)
		tree_assert(&t, many.paths[i] + 1, i == 13 ? "else" : "old");
	assert_int_equal(count("/proc/self/fd", ""), open_before);
	is_tidy(&t, "a");
	is_tidy(&t, "b");
	tree_done(&t);
}

static void test_directories(void **state _unused_)
{
	struct tree t;
	_cleanup_strv_ struct strv made = {};

	tree_init(&t, ROOT_OFFLINE);
	tree_mkdir(&t, "a");
	tree_symlink(&t, "/a", "link");
	assert_int_equal(atomic_mkdir(t.root, "/link/b/c", 0700, &made), 1);
	assert_int_equal(made.n, 2);
	assert_string_equal(made.items[0], "/a/b");
	assert_string_equal(made.items[1], "/a/b/c");
	assert_int_equal(look(&t, "a/b/c").st_mode & 07777, 0700);
	assert_int_equal(atomic_mkdir(t.root, "/a/b/c", 0755, &made), 0);
	assert_int_equal(made.n, 2);
	tree_write(&t, "a/file", "");
	assert_int_equal(atomic_mkdir(t.root, "/a/file/d", 0755, NULL), -ENOTDIR);
	assert_int_equal(atomic_rmdir(t.root, "/a/b"), 0); /* not empty */
	assert_true(S_ISDIR(look(&t, "a/b/c").st_mode));
	assert_int_equal(atomic_rmdir(t.root, "/a/b/c"), 1);
	assert_int_equal(atomic_rmdir(t.root, "/a/b/c"), 0);
	assert_int_equal(atomic_rmdir(t.root, "/a/no/c"), 0);
	assert_int_equal(atomic_rmdir(t.root, "/a/file"), 0); /* not ours to delete */
	tree_assert(&t, "a/file", "");
	tree_done(&t);
}

static void test_clean(void **state _unused_)
{
	struct tree t;

	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "d/f", "kept");
	tree_write(&t, "d/.memcg-policy.abcdef", "left behind");
	tree_write(&t, "d/.memcg-policyx", "kept");
	tree_write(&t, "d/.memcg-policy", "kept");
	tree_write(&t, ".memcg-policy.abcdef", "another directory's");
	assert_int_equal(atomic_clean(t.root, "/d/f"), 0);
	tree_assert(&t, "d/.memcg-policy.abcdef", NULL);
	tree_assert(&t, "d/f", "kept");
	tree_assert(&t, "d/.memcg-policyx", "kept");
	tree_assert(&t, "d/.memcg-policy", "kept");
	tree_assert(&t, ".memcg-policy.abcdef", "another directory's");
	assert_int_equal(atomic_clean(t.root, "/f"), 0);
	tree_assert(&t, ".memcg-policy.abcdef", NULL);
	assert_int_equal(atomic_clean(t.root, "/no/f"), 0);
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_missing_directory),
		cmocka_unit_test(test_metadata_is_kept),
		cmocka_unit_test(test_links_are_followed_inside),
		cmocka_unit_test(test_odd_files_are_refused),
		cmocka_unit_test(test_touch),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_put_all),
		cmocka_unit_test(test_put_all_fails_whole),
		cmocka_unit_test(test_directories),
		cmocka_unit_test(test_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
