/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include "base/str.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>

static void full_path(const struct tree *tree, const char *path, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s/%s", tree->path, path);

	assert_true(n > 0 && (size_t)n < size);
}

void tree_init(struct tree *tree, enum root_mode mode)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(tree->path, sizeof(tree->path), "%s/memcg-test-XXXXXX",
		       tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(tree->path));
	assert_int_equal(root_open(tree->path, mode, &tree->root), 0);
}

void tree_mkdir(const struct tree *tree, const char *path)
{
	char buf[8192];

	full_path(tree, path, buf, sizeof(buf));
	for (char *p = buf + strlen(tree->path) + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			assert_true(mkdir(buf, 0755) == 0 || errno == EEXIST);
			*p = '/';
		}
	assert_true(mkdir(buf, 0755) == 0 || errno == EEXIST);
}

static void make_parents(const struct tree *tree, const char *path)
{
	char *copy = strdup(path), *slash;

	assert_non_null(copy);
	slash = strrchr(copy, '/');
	if (slash && slash != copy) {
		*slash = '\0';
		tree_mkdir(tree, copy);
	}
	free(copy);
}

void tree_write_n(const struct tree *tree, const char *path, const void *data, size_t size)
{
	char buf[8192];
	FILE *f;

	make_parents(tree, path);
	full_path(tree, path, buf, sizeof(buf));
	f = fopen(buf, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

void tree_write(const struct tree *tree, const char *path, const char *text)
{
	tree_write_n(tree, path, text, strlen(text));
}

void tree_symlink(const struct tree *tree, const char *target, const char *path)
{
	char buf[8192];

	make_parents(tree, path);
	full_path(tree, path, buf, sizeof(buf));
	assert_int_equal(symlink(target, buf), 0);
}

char *tree_read(const struct tree *tree, const char *path)
{
	char buf[8192], *text;
	int fd;

	full_path(tree, path, buf, sizeof(buf));
	fd = open(buf, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	assert_int_equal(root_read_fd(fd, 64 << 20, &text, NULL), 0);
	close(fd);
	return text;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void tree_assert(const struct tree *tree, const char *path, const char *want)
{
	_cleanup_free_ char *now = tree_read(tree, path);

	if (!now != !want)
		fail_msg("%s %s", path, want ? "is missing" : "is there");
	if (want)
		assert_string_equal(now, want);
}

void tree_done(struct tree *tree)
{
	root_free(tree->root);
	(void)nftw(tree->path, remove_one, 64, FTW_DEPTH | FTW_PHYS);
}
