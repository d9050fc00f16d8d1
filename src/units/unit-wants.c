/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-wants.h"

#include "base/root.h"
#include "units/unit-scan.h"

#include <dirent.h>
#include <fcntl.h>

/* Directories of one name ("bar.target.wants"), by priority. */
struct group {
	int fds[UNIT_PATH_MAX]; /* of those that are there */
	size_t n_fds;
};

static void group_done(struct group *group)
{
	for (size_t i = 0; i < group->n_fds; i++)
		closep(&group->fds[i]);
}

/* Whether a higher directory of the same name has the entry already. */
static bool is_hidden(const struct group *group, const char *name)
{
	struct stat st;

	/* the last is the one that is being listed */
	for (size_t i = 0; i + 1 < group->n_fds; i++)
		if (fstatat(group->fds[i], name, &st, AT_SYMLINK_NOFOLLOW) >= 0)
			return true;
	return false;
}

/* A link to /dev/null or to an empty file takes the dependency away. */
static bool is_mask(const struct root *root, int dir_fd, const char *dir_path, const char *name)
{
	char link[16];
	ssize_t n = readlinkat(dir_fd, name, link, sizeof(link));
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (n == 9 && memcmp(link, "/dev/null", 9) == 0)
		return true;
	if (str_printf(&path, "%s/%s", dir_path, name) < 0 || root_stat(root, path, &st) < 0)
		return false; /* a dangling link is a wish all the same */
	return S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ||
	       (S_ISREG(st.st_mode) && st.st_size == 0);
}

/* One directory of a group; it stays open to hide what later ones have. */
static int walk_one(struct group *group, const struct unit_subdir *wants,
		    const struct unit_path *path, struct unit_listing *listing,
		    int (*function)(void *data, const char *name), void *data)
{
	_cleanup_free_ char *dir_path = NULL;
	unsigned char type;
	const char *name;
	int r;

	r = unit_path_open_subdir(path, wants->dir, wants->name, &listing->fd);
	if (r < 0)
		return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
	group->fds[group->n_fds++] = listing->fd;
	r = str_printf(&dir_path, "%s/%s", path->dirs[wants->dir].path, wants->name);
	while (r >= 0 && unit_listing_next(listing, &name, &type)) {
		if ((type != DT_LNK && type != DT_UNKNOWN) || unit_name_is_backup(name) ||
		    unit_name_form(name, NULL) == UNIT_FORM_INVALID)
			continue;
		if (is_hidden(group, name) || is_mask(path->root, listing->fd, dir_path, name))
			continue;
		r = function(data, name);
	}
	return r;
}

int unit_wants_walk(const struct unit_scan *scan, const struct unit_path *path, size_t *budget,
		    int (*function)(void *data, const char *name), void *data)
{
	const struct unit_subdirs *wants = &scan->wants;
	_cleanup_free_ char *buf = malloc(UNIT_LISTING_SIZE);
	int r = buf ? 0 : -ENOMEM;

	for (size_t i = 0; i < wants->n && r >= 0;) {
		_cleanup_(group_done) struct group group = {};
		const char *name = wants->items[i].name;

		for (; i < wants->n && r >= 0 && streq(wants->items[i].name, name); i++)
			r = walk_one(&group, &wants->items[i], path,
				     &(struct unit_listing){ .buf = buf, .budget = budget },
				     function, data);
	}
	return r;
}
