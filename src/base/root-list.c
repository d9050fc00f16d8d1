/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Directories below a root: their names, and glob patterns over several of them. */

#include "base/root.h"
#include "base/str.h"

#include <dirent.h>
#include <limits.h>

static void closedirp(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir); /* only read */
}

/* Lists an open directory, taking fd over; *budget is lowered by what was looked at. */
static int list_fd(int fd, size_t *budget, struct strv *ret)
{
	_cleanup_(closedirp) DIR *dir = fdopendir(fd);

	if (!dir) {
		int r = -errno;

		closep(&fd);
		return r;
	}
	for (;;) {
		struct dirent *de;

		errno = 0;
		de = readdir(dir);
		if (!de)
			return errno ? -errno : strv_error(ret);
		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		if (*budget == 0)
			return -EFBIG;
		(*budget)--;
		strv_add(ret, de->d_name);
	}
}

int root_list(const struct root *root, const char *path, struct strv *ret)
{
	size_t budget = ROOT_MAX_DIR_ENTRIES;
	int fd = -EBADF, r;

	r = root_open_dir(root, path, &fd);
	if (r < 0)
		return r;
	r = list_fd(fd, &budget, ret);
	strv_sort(ret);
	return r;
}

/* What one glob may still do. */
struct glob {
	const struct root *root;
	size_t max;
	size_t *budget;	 /* directory entries to look at */
	bool unchecked;	 /* a literal last component need not exist */
	bool unreadable; /* a directory was passed over */
	struct strv *ret;
};

static int glob_add(struct glob *glob, const char *path, bool literal)
{
	_cleanup_fd_ int fd = -EBADF;

	if (!(literal && glob->unchecked)) {
		int r = root_open_path(glob->root, path, &fd);

		if (r == -EACCES)
			glob->unreadable = true;
		if (r < 0)
			return 0;
	}
	if (glob->ret->n >= glob->max)
		return -EFBIG;
	strv_add(glob->ret, path);
	return strv_error(glob->ret);
}

static int glob_list(struct glob *glob, const char *base, struct strv *names)
{
	int fd = -EBADF, r = root_open_dir(glob->root, *base ? base : "/", &fd);

	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
		return 0;
	if (r == -EACCES) {
		glob->unreadable = true;
		return 0;
	}
	if (r < 0)
		return r;
	r = list_fd(fd, glob->budget, names);
	strv_sort(names);
	return r;
}

static int glob_below(struct glob *glob, const char *base, const char *pattern)
{
	_cleanup_strv_ struct strv names = {};
	_cleanup_free_ char *component = NULL;
	const char *rest;
	bool literal;
	size_t n;
	int r;

	pattern += strspn(pattern, "/");
	n = strcspn(pattern, "/");
	rest = pattern + n + strspn(pattern + n, "/");
	component = str_dup_n(pattern, n);
	if (!component)
		return -ENOMEM;
	literal = component[strcspn(component, "*?[")] == '\0';
	if (literal) {
		strv_add(&names, component);
		r = strv_error(&names);
	} else
		r = glob_list(glob, base, &names);
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		_cleanup_free_ char *path = NULL;
		const char *name = names.items[i];

		if (*name == '.' && *component != '.')
			continue;
		if (!streq(component, name) && !str_match_glob(component, name))
			continue;
		r = str_printf(&path, "%s/%s", base, name);
		if (r < 0)
			return r;
		r = *rest ? glob_below(glob, path, rest) : glob_add(glob, path, literal);
	}
	return r;
}

static int run_glob(struct glob *glob, const char *pattern)
{
	int r;

	if (strlen(pattern) >= PATH_MAX)
		return -ENAMETOOLONG;
	r = glob_below(glob, "", pattern);
	return r >= 0 && glob->unreadable ? -EACCES : r;
}

int root_glob(const struct root *root, const char *pattern, size_t max, struct strv *ret)
{
	size_t budget = ROOT_MAX_DIR_ENTRIES;
	struct glob glob = { .root = root, .max = max, .budget = &budget, .ret = ret };

	return run_glob(&glob, pattern);
}

int root_glob_budget(const struct root *root, const char *pattern, bool check, size_t max,
		     size_t *budget, struct strv *ret)
{
	struct glob glob = {
		.root = root,
		.max = max,
		.budget = budget,
		.unchecked = !check,
		.ret = ret,
	};

	return run_glob(&glob, pattern);
}
