/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static void read_is(const struct tree *tree, const char *path, const char *want)
{
	_cleanup_free_ char *text = NULL;

	assert_int_equal(root_read(tree->root, path, 4096, &text, NULL), 0);
	assert_string_equal(text, want);
}

static void test_links_stay_inside(void **state _unused_)
{
	struct tree t;
	_cleanup_free_ char *where = NULL, *text = NULL;

	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "etc/passwd", "inside");
	tree_symlink(&t, "/etc/passwd", "abs");
	tree_symlink(&t, "../../../../etc/passwd", "dir/up");
	tree_symlink(&t, "loop", "loop");
	for (int walker = 0; walker < 2; walker++) {
		root_set_walker(t.root, walker);
		read_is(&t, "/abs", "inside");
		read_is(&t, "/dir/up", "inside");
		read_is(&t, "/../../etc/passwd", "inside");
		assert_int_equal(root_read(t.root, "/loop", 10, &text, NULL), -ELOOP);
	}
	assert_int_equal(root_resolve(t.root, "/dir/up", &where), 0);
	assert_string_equal(where, "/etc/passwd");
	tree_done(&t);
}

static void test_kernel_dirs(void **state _unused_)
{
	static const char *const hidden[] = {
		"/proc/cmdline", "//./proc/cmdline", "/run/x",
		"/sys/y",	 "/via-link",	     "/var/run/x"
	};

	for (int mode = ROOT_OFFLINE; mode <= ROOT_SNAPSHOT; mode++) {
		struct tree t;

		tree_init(&t, (enum root_mode)mode);
		tree_write(&t, "proc/cmdline", "a");
		tree_write(&t, "run/x", "a");
		tree_write(&t, "sys/y", "a");
		tree_symlink(&t, "/run/x", "via-link");
		tree_symlink(&t, "../run", "var/run");
		tree_write(&t, "usr/proc/x", "not the kernel's");
		for (int walker = 0; walker < 2; walker++) {
			root_set_walker(t.root, walker);
			read_is(&t, "/usr/proc/x", "not the kernel's");
			for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
				_cleanup_free_ char *text = NULL;
				int r = root_read(t.root, hidden[i], 10, &text, NULL);

				assert_int_equal(r, mode == ROOT_OFFLINE ? -ENOENT : 0);
			}
		}
		tree_done(&t);
	}
}

static void test_only_regular_files(void **state _unused_)
{
	struct tree t;
	char path[128];
	int fd;

	tree_init(&t, ROOT_OFFLINE);
	tree_mkdir(&t, "dir");
	(void)snprintf(path, sizeof(path), "%s/fifo", t.path);
	assert_int_equal(mkfifo(path, 0600), 0);
	tree_symlink(&t, "fifo", "link");
	assert_int_equal(root_open_file(t.root, "/fifo", &fd, NULL), -EBADFD);
	assert_int_equal(root_open_file(t.root, "/link", &fd, NULL), -EBADFD);
	assert_int_equal(root_open_file(t.root, "/dir", &fd, NULL), -EISDIR);
	tree_done(&t);
}

static void test_size_cap(void **state _unused_)
{
	struct tree t;
	char *text;

	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "file", "12345");
	assert_int_equal(root_read(t.root, "/file", 4, &text, NULL), -EFBIG);
	read_is(&t, "/file", "12345");
	tree_done(&t);
}

static void test_glob(void **state _unused_)
{
	struct tree t;
	_cleanup_strv_ struct strv found = {}, few = {};
	size_t budget = 10;

	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "etc/a.d/2.conf", "");
	tree_write(&t, "etc/a.d/1.conf", "");
	tree_write(&t, "etc/a.d/.hidden.conf", "");
	tree_write(&t, "etc/b.d/3.conf", "");
	tree_symlink(&t, "nowhere", "etc/b.d/4.conf");
	assert_int_equal(root_glob(t.root, "/etc/*.d/*.conf", 100, &found), 0);
	assert_int_equal(found.n, 3);
	assert_string_equal(found.items[0], "/etc/a.d/1.conf");
	assert_string_equal(found.items[2], "/etc/b.d/3.conf");
	assert_int_equal(root_glob(t.root, "/etc/*.d/*.conf", 2, &few), -EFBIG);
	assert_int_equal(few.n, 2);
	/* a last component without wildcards is left to the caller; the budget is shared */
	strv_done(&found);
	assert_int_equal(
		root_glob_budget(t.root, "/etc/*.d/1.conf", false, 100, &budget, &found), 0);
	assert_int_equal(found.n, 2);
	assert_int_equal(budget, 8);
	assert_int_equal(root_glob(t.root, "/etc/*.d/1.conf", 100, &few), 0);
	assert_int_equal(few.n, 3);
	budget = 3;
	assert_int_equal(root_glob_budget(t.root, "/etc/*.d/*", false, 100, &budget, &found),
			 -EFBIG);
	tree_done(&t);
}

/* What may not be read is passed over, and said. */
static void test_glob_unreadable(void **state _unused_)
{
	struct tree t;
	_cleanup_strv_ struct strv found = {};
	_cleanup_free_ char *closed = NULL;

	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	tree_init(&t, ROOT_OFFLINE);
	tree_write(&t, "home/a/.config/x", "");
	tree_write(&t, "home/b/.config/x", "");
	assert_int_equal(str_printf(&closed, "%s/home/a", t.path), 0);
	assert_int_equal(chmod(closed, 0), 0);
	assert_int_equal(root_glob(t.root, "/home/*/.config/*", 100, &found), -EACCES);
	assert_int_equal(found.n, 1);
	assert_string_equal(found.items[0], "/home/b/.config/x");
	strv_done(&found);
	assert_int_equal(root_glob(t.root, "/home/*/.config/x", 100, &found), -EACCES);
	assert_int_equal(found.n, 1);
	assert_int_equal(chmod(closed, 0700), 0);
	tree_done(&t);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

static unsigned next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
	return (unsigned)(*seed >> 33);
}

/* A tree of directories, files and links of every kind, then random paths through it. */
static void test_walker_agrees(void **state _unused_)
{
	static const char *const names[] = { "a",  "b",	 "c",	    "f",    "l1",
					     "l2", "l3", "l4",	    "loop", "..",
					     ".",  "",	 "missing", "proc", "run" };
	const char *given = getenv("MEMCG_POLICY_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : 20260101;
	struct tree t;

	printf("seed %llu\n", (unsigned long long)seed);
	tree_init(&t, ROOT_SNAPSHOT);
	tree_write(&t, "a/b/f", "1");
	tree_write(&t, "a/c/f", "2");
	tree_write(&t, "b/f", "3");
	tree_write(&t, "f", "4");
	tree_write(&t, "proc/f", "5");
	tree_symlink(&t, "../../b", "a/b/l1");
	tree_symlink(&t, "/a/c", "a/l2");
	tree_symlink(&t, "l1", "l2");
	tree_symlink(&t, "a/b/", "l1");
	tree_symlink(&t, "/../../f", "b/l3");
	tree_symlink(&t, "f/", "l4");
	tree_symlink(&t, "loop", "loop");
	tree_symlink(&t, "nothing", "a/l4");
	for (int i = 0; i < 20000; i++) {
		char path[256] = "";
		int answer[2], fds[2] = { -EBADF, -EBADF };
		struct stat st[2];
		unsigned parts = 1 + next_random(&seed) % 7;
		bool follow = next_random(&seed) % 2;

		for (unsigned k = 0; k < parts; k++) {
			if (k > 0 || next_random(&seed) % 2)
				strcat(path, "/");
			strcat(path, names[next_random(&seed) % ARRAY_SIZE(names)]);
		}
		for (int w = 0; w < 2; w++) {
			root_set_walker(t.root, w);
			answer[w] = follow ? root_open_path(t.root, path, &fds[w])
					   : root_open_path_nofollow(t.root, path, &fds[w]);
			if (answer[w] == 0) {
				assert_int_equal(fstat(fds[w], &st[w]), 0);
				close(fds[w]);
			}
		}
		if (answer[0] != answer[1])
			fail_msg("\"%s\" (follow %d): openat2 %d, walker %d", path, follow,
				 answer[0], answer[1]);
		if (answer[0] == 0 && st[0].st_ino != st[1].st_ino)
			fail_msg("\"%s\": not the same file", path);
	}
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links_stay_inside),
		cmocka_unit_test(test_kernel_dirs),
		cmocka_unit_test(test_only_regular_files),
		cmocka_unit_test(test_size_cap),
		cmocka_unit_test(test_glob),
		cmocka_unit_test(test_glob_unreadable),
		cmocka_unit_test(test_walker_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
