/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/limits.h"

#include "base/libcgroup.h"
#include "base/root.h"
#include "base/str.h"
#include "facts/running.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>

enum {
	MAX_GROUPS = 20000,
	MAX_DEPTH = 32,
	MAX_VALUE = 64,
	MAX_MS = 2000,
};

/* v1's "no limit" is LONG_MAX rounded down to a page, on 64 and on 32 bit */
#define V1_UNLIMITED (UINT64_C(1) << 43)

/* The first of each kind is there wherever the controller is. */
static const struct file {
	const char *name;
	bool protects; /* 0 is the default, not "max" */
} v2_files[] = {
	{ "memory.max", false },       { "memory.high", false }, { "memory.swap.max", false },
	{ "memory.zswap.max", false }, { "memory.min", true },	 { "memory.low", true },
};
static const struct file v1_files[] = {
	{ "memory.limit_in_bytes", false },
	{ "memory.soft_limit_in_bytes", false },
};

struct walk {
	const struct root *root;
	const char *tree;
	bool v1;
	size_t groups;
	time_t until;
	struct limits *ret;
};

void limits_done(struct limits *limits)
{
	for (size_t i = 0; i < limits->n; i++) {
		free(limits->items[i].group);
		free(limits->items[i].value);
		free(limits->items[i].owner);
	}
	free(limits->items);
	*limits = (struct limits){};
}

static bool is_default(const struct walk *walk, const struct file *file, const char *value)
{
	uint64_t number;

	if (streq(value, "max") || str_parse_u64(value, &number) < 0)
		return true;
	if (file->protects)
		return number == 0;
	return walk->v1 && number >= V1_UNLIMITED;
}

static int add(struct walk *walk, const char *group, uid_t uid, const struct file *file,
	       char *value)
{
	struct limits *ret = walk->ret;
	struct limit *limit;

	if (!GROW(ret->items, ret->n, ret->alloc)) {
		free(value);
		return -ENOMEM;
	}
	limit = &ret->items[ret->n++];
	*limit = (struct limit){ .file = file->name, .value = value, .group = strdup(group) };
	return limit->group ? cgroup_owner(walk->root, group, uid, &limit->owner) : -ENOMEM;
}

/* 1 when the controller is in the group, 0 when not, and so in none below it. */
static int read_group(struct walk *walk, int dir, const char *path, const char *group,
		      uid_t uid)
{
	const struct file *files = walk->v1 ? v1_files : v2_files;
	size_t n = walk->v1 ? ARRAY_SIZE(v1_files) : ARRAY_SIZE(v2_files);

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *value = NULL;
		_cleanup_fd_ int fd = -EBADF;
		int r = root_open_file_at(walk->root, dir, path, files[i].name, &fd, NULL);

		if (r < 0 && i == 0)
			return r == -ENOMEM ? r : 0;
		if (r >= 0)
			r = root_read_fd(fd, MAX_VALUE, &value, NULL);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue; /* an older kernel, or gone meanwhile */
		value[strcspn(value, "\n")] = '\0';
		if (is_default(walk, &files[i], value))
			continue;
		r = add(walk, group, uid, &files[i], TAKE_PTR(value));
		if (r < 0)
			return r;
	}
	return 1;
}

/* False when there were enough. */
static bool may_go_on(struct walk *walk, unsigned depth)
{
	struct timespec now;

	/* the clock is asked now and then: it costs as much as a file */
	if (walk->groups % 64 == 0) {
		(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
		if (walk->until == 0)
			walk->until = now.tv_sec + 1 + MAX_MS / 1000;
		if (now.tv_sec > walk->until)
			walk->ret->cut = true;
	}
	if (walk->groups++ >= MAX_GROUPS || depth > MAX_DEPTH)
		walk->ret->cut = true;
	return !walk->ret->cut;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir); /* only read */
}

static bool is_directory(int dir, const struct dirent *de)
{
	struct stat st;

	if (de->d_type != DT_UNKNOWN)
		return de->d_type == DT_DIR;
	return fstatat(dir, de->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISDIR(st.st_mode);
}

/* The names of the directories in one, which is taken over. */
static int list_groups(int fd, struct strv *ret)
{
	_cleanup_(closedirp) DIR *dir = fdopendir(fd);
	struct dirent *de;

	if (!dir) {
		closep(&fd);
		return -ENOMEM;
	}
	while ((de = readdir(dir)))
		if (*de->d_name != '.' && is_directory(dirfd(dir), de))
			strv_add(ret, de->d_name);
	strv_sort(ret);
	return strv_error(ret);
}

/* One group, and with below those in it; "" is the root, which has no limits. */
static int look_at(struct walk *walk, const char *group, unsigned depth, bool below)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_strv_ struct strv names = {};
	_cleanup_fd_ int fd = -EBADF;
	struct stat st;
	int r;

	if (str_printf(&path, "%s%s%s", walk->tree, *group ? "/" : "", group) < 0)
		return -ENOMEM;
	r = root_open_dir(walk->root, path, &fd);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || fstat(fd, &st) < 0) {
		/* a group may be gone meanwhile; of a captured machine the tree may be missing
		 */
		if (!*group && !(r == -ENOENT && root_mode(walk->root) == ROOT_SNAPSHOT))
			walk->ret->unopened = true;
		return 0;
	}
	if (*group) {
		r = read_group(walk, fd, path, group, st.st_uid);
		if (r <= 0)
			return r;
	}
	/* two links: itself and its name in its parent, so there is no directory in it */
	if (!below || st.st_nlink == 2)
		return 0;
	r = list_groups(TAKE_FD(fd), &names);
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		_cleanup_free_ char *child = NULL;

		if (!may_go_on(walk, depth + 1))
			break;
		r = str_printf(&child, "%s%s%s", group, *group ? "/" : "", names.items[i]);
		if (r >= 0)
			r = look_at(walk, child, depth + 1, true);
	}
	return r;
}

/* -EOPNOTSUPP when libcgroup cannot tell. */
static int look_by_libcgroup(struct walk *walk)
{
	_cleanup_strv_ struct strv names = {};
	int r = libcgroup_list("memory", MAX_GROUPS, &names);

	if (r == -EFBIG)
		walk->ret->cut = true;
	else if (r < 0)
		return r;
	for (size_t i = 0; i < names.n && may_go_on(walk, 0); i++) {
		r = look_at(walk, names.items[i], 0, false);
		if (r < 0)
			return r;
	}
	return 0;
}

int limits_find(const struct root *root, const struct running *running, struct limits *ret)
{
	_cleanup_limits_ struct limits limits = {};
	struct walk walk = {
		.root = root,
		.tree = running->memory_tree,
		.v1 = running->hierarchy != HIERARCHY_V2,
		.ret = &limits,
	};
	int r = -EOPNOTSUPP;

	if (running->memcg != MEMCG_ON || !running->memory_tree)
		return 0;
	if (walk.v1 && root_mode(root) == ROOT_LIVE && !root_is_recorded(root))
		r = look_by_libcgroup(&walk);
	if (r < 0 && r != -ENOMEM)
		r = look_at(&walk, "", 0, true);
	if (r < 0)
		return r;
	*ret = limits;
	limits = (struct limits){};
	return 0;
}
