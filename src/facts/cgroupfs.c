/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/cgroupfs.h"

#include "base/mounts.h"
#include "base/root.h"
#include "base/str.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>

#define TOP	"/sys/fs/cgroup"
#define UNIFIED "/sys/fs/cgroup/unified"

enum { MAX_SMALL = 64 * 1024 };

void cgroupfs_done(struct cgroupfs *cgroupfs)
{
	free(cgroupfs->source);
	free(cgroupfs->memory_tree);
	*cgroupfs = (struct cgroupfs){};
}

/* --- single questions --- */

static bool exists_in(const struct root *root, const char *dir, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return n > 0 && (size_t)n < sizeof(path) && root_exists(root, path);
}

/* The file system's magic; 0 when it cannot be told. */
static unsigned long fs_magic(const struct root *root, const char *path)
{
	_cleanup_fd_ int fd = -EBADF;
	struct statfs st;

	if (root_open_path(root, path, &fd) < 0 || fstatfs(fd, &st) < 0)
		return 0;
	/* what tells the same of a captured machine */
	root_note(root, ROOT_ACCESS_PATH, path, "cgroup.controllers");
	root_note(root, ROOT_ACCESS_PATH, path, "cgroup.procs");
	return (unsigned long)st.f_type & 0xffffffffUL;
}

/* A captured machine has no file systems, but the files that only a v2 tree has. */
static bool is_v2(const struct root *root, const char *path)
{
	if (root_mode(root) == ROOT_SNAPSHOT)
		return exists_in(root, path, "cgroup.controllers");
	return fs_magic(root, path) == CGROUP2_SUPER_MAGIC;
}

static bool is_v1(const struct root *root, const char *path)
{
	if (root_mode(root) == ROOT_SNAPSHOT)
		return exists_in(root, path, "cgroup.procs") && !is_v2(root, path);
	return fs_magic(root, path) == CGROUP_SUPER_MAGIC;
}

static bool is_v1_memory(const struct root *root, const char *path)
{
	if (root_mode(root) == ROOT_LIVE && fs_magic(root, path) != CGROUP_SUPER_MAGIC)
		return false;
	return exists_in(root, path, "memory.usage_in_bytes") ||
	       exists_in(root, path, "memory.limit_in_bytes");
}

/* cgroup.events (since 4.5) and cgroup.type are in every cgroup but the root. */
static bool is_child(const struct root *root, const char *path)
{
	return exists_in(root, path, "cgroup.events") || exists_in(root, path, "cgroup.type");
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; *p;) {
		size_t size = strcspn(p, " \t\n");

		if (size == n && memcmp(p, word, n) == 0)
			return true;
		p += size;
		p += strspn(p, " \t\n");
	}
	return false;
}

/* --- answers --- */

static int set_string(char **string, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*string);
	*string = copy;
	return 0;
}

static int answer_on(struct cgroupfs *ret, const char *tree, const char *source,
		     const char *why)
{
	int r = set_string(&ret->source, source);

	if (r >= 0 && tree)
		r = set_string(&ret->memory_tree, tree);
	ret->memcg = MEMCG_ON;
	ret->absent = false;
	ret->why = why;
	return r;
}

/* Asks a v2 tree mounted at path. */
static int ask_v2(const struct root *root, const char *path, struct cgroupfs *ret)
{
	_cleanup_free_ char *controllers = NULL, *source = NULL;
	int r;

	r = str_printf(&source, "%s/memory.max", path);
	if (r < 0)
		return r;
	ret->namespaced = is_child(root, path);
	ret->sure_root = !ret->namespaced && exists_in(root, path, "cgroup.procs");
	if (root_exists(root, source)) /* the root has none */
		return answer_on(ret, path, source, "this cgroup has the controller's files");
	free(source);
	source = NULL;
	r = str_printf(&source, "%s/cgroup.controllers", path);
	if (r >= 0)
		r = root_read(root, source, MAX_SMALL, &controllers, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (has_word(controllers, "memory"))
		return answer_on(ret, path, source, "memory is among the v2 controllers");
	if (ret->namespaced)
		return 0; /* its parent may not have handed it down */
	ret->absent = true;
	return set_string(&ret->source, source);
}

/* "4:memory:/user.slice": a controller in use on a v1 hierarchy, mounted here or not. */
static int ask_self(const struct root *root, struct cgroupfs *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = root_read(root, "/proc/self/cgroup", ROOT_MAX_PROC, &text, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (const char *line = text; *line;) {
		const char *list = line + strcspn(line, ":\n");
		size_t size;

		for (bool more = *list == ':'; more; list += size) {
			list++;
			size = strcspn(list, ",:\n");
			if (size == 6 && memcmp(list, "memory", 6) == 0)
				return answer_on(ret, NULL, "/proc/self/cgroup",
						 "memory is on a v1 hierarchy");
			more = list[size] == ',';
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return 0;
}

/* Mounts elsewhere than at the usual places, and what kinds of trees there are. */
static int ask_mounts(const struct root *root, struct cgroupfs *ret)
{
	_cleanup_mounts_ struct mounts mounts = {};
	const struct mount *v2 = NULL, *memory = NULL;
	bool v1 = false;
	int r;

	r = mounts_load(root, &mounts);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < mounts.n; i++) {
		const struct mount *m = &mounts.items[i];

		if (streq(m->type, "cgroup2"))
			v2 = m;
		if (!streq(m->type, "cgroup"))
			continue;
		v1 = true;
		if (mount_has_option(m, "memory"))
			memory = m;
	}
	if (v1 && v2)
		ret->hierarchy = HIERARCHY_HYBRID;
	else if (ret->hierarchy == HIERARCHY_UNKNOWN && (v1 || v2))
		ret->hierarchy = v1 ? HIERARCHY_V1 : HIERARCHY_V2;
	else if (ret->hierarchy == HIERARCHY_UNKNOWN && root_mode(root) == ROOT_LIVE)
		ret->hierarchy = HIERARCHY_NONE;
	if (memory && ret->memcg != MEMCG_ON)
		return answer_on(ret, memory->target, mounts.path,
				 "memory is mounted as cgroup v1");
	if (memory && !ret->memory_tree)
		return set_string(&ret->memory_tree, memory->target);
	if (v2 && ret->memcg != MEMCG_ON && !ret->absent)
		return ask_v2(root, v2->target, ret);
	return 0;
}

/* Cgroups of a captured machine: the controller's files in one of them, or its name. */
static int ask_captured(const struct root *root, struct cgroupfs *ret)
{
	static const char *const patterns[] = { TOP "/*", TOP "/*/*", TOP "/*/*/*",
						TOP "/*/*/*/*" };
	static const char *const files[] = { "memory.max", "memory.current",
					     "cgroup.controllers", "cgroup.subtree_control" };
	enum { MAX_CAPTURED = 10000 };

	for (size_t i = 0; i < ARRAY_SIZE(patterns) * ARRAY_SIZE(files); i++) {
		const char *file = files[i % ARRAY_SIZE(files)];
		_cleanup_free_ char *pattern = NULL;
		_cleanup_strv_ struct strv paths = {};
		int r;

		r = str_printf(&pattern, "%s/%s", patterns[i / ARRAY_SIZE(files)], file);
		if (r >= 0)
			r = root_glob(root, pattern, MAX_CAPTURED, &paths);
		for (size_t k = 0; r >= 0 && k < paths.n; k++) {
			_cleanup_free_ char *text = NULL;

			if (str_skip_prefix(file, "cgroup.") &&
			    (root_read(root, paths.items[k], MAX_SMALL, &text, NULL) < 0 ||
			     !has_word(text, "memory")))
				continue;
			return answer_on(ret, NULL, paths.items[k], "a cgroup has memory");
		}
		if (r == -ENOMEM)
			return r;
	}
	return 0;
}

/* What is at the usual places. */
static enum hierarchy usual_hierarchy(const struct root *root)
{
	static const char *const trees[] = { TOP "/systemd", TOP "/memory", TOP "/cpu",
					     TOP "/cpuset",  TOP "/pids",   TOP "/devices",
					     TOP "/freezer" };

	if (is_v2(root, TOP))
		return HIERARCHY_V2;
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
		if (is_v1(root, trees[i]))
			return is_v2(root, UNIFIED) ? HIERARCHY_HYBRID : HIERARCHY_V1;
	return HIERARCHY_UNKNOWN;
}

int cgroupfs_look(const struct root *root, struct cgroupfs *ret)
{
	_cleanup_cgroupfs_ struct cgroupfs cgroupfs = { .memcg = MEMCG_UNKNOWN };
	int r = 0;

	cgroupfs.hierarchy = usual_hierarchy(root);
	cgroupfs.v2_only = cgroupfs.hierarchy == HIERARCHY_V2;
	if (cgroupfs.v2_only)
		r = ask_v2(root, TOP, &cgroupfs);
	else if (is_v1_memory(root, TOP "/memory"))
		r = answer_on(&cgroupfs, TOP "/memory", TOP "/memory",
			      "memory is mounted as cgroup v1");
	if (r >= 0 && cgroupfs.memcg != MEMCG_ON)
		r = ask_self(root, &cgroupfs);
	if (r >= 0 && cgroupfs.memcg != MEMCG_ON && !cgroupfs.v2_only && is_v2(root, UNIFIED))
		r = ask_v2(root, UNIFIED, &cgroupfs);
	/* dear (a library), and only where the usual places did not answer */
	if (r >= 0 &&
	    (cgroupfs.hierarchy == HIERARCHY_UNKNOWN ||
	     (cgroupfs.memcg == MEMCG_ON && !cgroupfs.memory_tree) ||
	     (cgroupfs.memcg != MEMCG_ON && !cgroupfs.absent && !cgroupfs.namespaced)))
		r = ask_mounts(root, &cgroupfs);
	if (r >= 0 && cgroupfs.memcg != MEMCG_ON && root_mode(root) == ROOT_SNAPSHOT)
		r = ask_captured(root, &cgroupfs);
	if (r < 0)
		return r;
	*ret = cgroupfs;
	cgroupfs = (struct cgroupfs){};
	return 0;
}

int cgroupfs_read_table(const struct root *root, struct cgroupfs_table *ret)
{
	_cleanup_free_ char *text = NULL;
	struct cgroupfs_table table = {};
	char *save = NULL;
	int r;

	r = root_read(root, "/proc/cgroups", MAX_SMALL, &text, NULL);
	if (r < 0)
		return r;
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char name[64];
		unsigned hierarchy, enabled;

		if (*line == '#' ||
		    sscanf(line, "%63s %u %*u %u", name, &hierarchy, &enabled) != 3)
			continue;
		table.rows = true;
		table.mounted |= hierarchy != 0;
		if (streq(name, "memory"))
			table.memory = enabled ? ANSWER_YES : ANSWER_NO;
	}
	*ret = table;
	return 0;
}
