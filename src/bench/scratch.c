/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/scratch.h"

#include "base/libcgroup.h"
#include "base/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

/* Ours are PREFIX PID "-" DEPTH, so that a later run can tell whether their maker still runs.
 */
#define PREFIX "memcg-policy-bench-"

unsigned scratch_depth(const char *path)
{
	unsigned depth = 0;

	for (; *path; path++)
		depth += *path == '/' && path[1] != '\0' && path[1] != '/';
	return depth;
}

static int write_at(int dir_fd, const char *file, const char *text)
{
	_cleanup_fd_ int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

/* Opens a group, path being below base. */
static int open_group(const struct scratch *scratch, const char *path, int *ret_fd)
{
	_cleanup_free_ char *whole = NULL;
	int r = str_printf(&whole, "%s%s%s%s", scratch->tree, scratch->base, *path ? "/" : "",
			   path);

	return r < 0 ? r : root_open_dir(scratch->root, whole, ret_fd);
}

/* Removes the groups below an open one. */
static int remove_below(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), r = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		closep(&copy);
		return -errno;
	}
	while ((entry = readdir(dir)) && r >= 0) {
		_cleanup_fd_ int child = -EBADF;

		if (entry->d_type != DT_DIR || streq(entry->d_name, ".") ||
		    streq(entry->d_name, ".."))
			continue;
		child = openat(fd, entry->d_name, O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		r = child < 0 ? -errno : remove_below(child);
		if (r >= 0 && unlinkat(fd, entry->d_name, AT_REMOVEDIR) < 0)
			r = -errno;
	}
	(void)closedir(dir);
	return r;
}

/* A worker that was killed leaves its group a moment after it was waited for. */
static int remove_top(const struct scratch *scratch, const char *name)
{
	_cleanup_fd_ int base = -EBADF, top = -EBADF;
	int r = open_group(scratch, "", &base);

	if (r < 0)
		return r;
	for (int attempt = 0; attempt < 20; attempt++) {
		closep(&top);
		top = openat(base, name, O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (top < 0)
			return errno == ENOENT ? 0 : -errno;
		r = remove_below(top);
		if (r >= 0 && unlinkat(base, name, AT_REMOVEDIR) >= 0)
			return 0;
		if (r >= 0)
			r = -errno;
		(void)poll(NULL, 0, 10);
	}
	return r;
}

static int remove_by_library(const struct scratch *scratch, const char *name)
{
	_cleanup_free_ char *whole = NULL;

	if (scratch->v2)
		return -EOPNOTSUPP;
	if (str_printf(&whole, "%s/%s", scratch->base, name) < 0)
		return -ENOMEM;
	return libcgroup_remove("memory", whole + (*whole == '/'));
}

static int make_group(const struct scratch *scratch, const char *path)
{
	_cleanup_free_ char *whole = NULL;
	_cleanup_fd_ int base = -EBADF;
	int r;

	if (!scratch->v2) {
		r = str_printf(&whole, "%s/%s", scratch->base, path);
		if (r >= 0)
			r = libcgroup_make("memory", whole + (*whole == '/'));
		if (r != -EOPNOTSUPP)
			return r;
	}
	r = open_group(scratch, "", &base);
	if (r < 0)
		return r;
	return mkdirat(base, path, 0755) < 0 ? -errno : 0;
}

/* Lets the children of a group (path below base) have the memory controller. */
static int enable_below(struct scratch *scratch, const char *path)
{
	_cleanup_free_ char *whole = NULL, *text = NULL;
	_cleanup_fd_ int fd = -EBADF;
	_cleanup_strv_ struct strv words = {};
	int r;

	if (!scratch->v2)
		return 0;
	r = str_printf(&whole, "%s%s%s%s/cgroup.subtree_control", scratch->tree, scratch->base,
		       *path ? "/" : "", path);
	if (r < 0)
		return r;
	r = root_read(scratch->root, whole, ROOT_MAX_PROC, &text, NULL);
	if (r < 0)
		return r;
	strv_split(&words, text, " \n");
	if (strv_contains(&words, "memory"))
		return strv_error(&words);
	r = open_group(scratch, path, &fd);
	if (r >= 0)
		r = write_at(fd, "cgroup.subtree_control", "+memory");
	if (r < 0)
		return r;
	strv_add(&scratch->enabled, path);
	return strv_error(&scratch->enabled);
}

/* Out of the way: a group with members cannot give its children a controller (v2). */
static int step_aside(struct scratch *scratch)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_fd_ int fd = -EBADF;
	int r;

	if (!scratch->v2 || scratch->base_depth == 0)
		return 0;
	r = str_printf(&name, PREFIX "%d-0", (int)getpid());
	if (r >= 0)
		r = make_group(scratch, name);
	if (r >= 0)
		r = open_group(scratch, name, &fd);
	return r < 0 ? r : write_at(fd, "cgroup.procs", "0");
}

/* Groups of a run that was killed; those that are in use stay, as rmdir() refuses. */
static void remove_stale(const struct scratch *scratch)
{
	_cleanup_strv_ struct strv names = {};
	_cleanup_free_ char *path = NULL;

	if (str_printf(&path, "%s%s", scratch->tree, scratch->base) < 0 ||
	    root_list(scratch->root, path, &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		const char *rest = str_skip_prefix(names.items[i], PREFIX);
		_cleanup_free_ char *pid = NULL;
		unsigned number;

		if (!rest)
			continue;
		pid = str_dup_n(rest, strcspn(rest, "-"));
		if (pid && str_parse_uint(pid, &number) >= 0 && number > 0 &&
		    kill((pid_t)number, 0) < 0 && errno == ESRCH)
			(void)remove_top(scratch, names.items[i]);
	}
}

int scratch_open(const struct root *root, const char *tree, const char *base, bool v2,
		 struct scratch *ret)
{
	struct scratch scratch = { .root = root, .v2 = v2 };
	int r;

	scratch.tree = strdup(tree);
	scratch.base = strdup(streq(base, "/") ? "" : base);
	if (!scratch.tree || !scratch.base) {
		free(scratch.tree);
		free(scratch.base);
		return -ENOMEM;
	}
	scratch.base_depth = scratch_depth(scratch.base);
	remove_stale(&scratch);
	r = step_aside(&scratch);
	if (r >= 0)
		r = enable_below(&scratch, "");
	if (r < 0) {
		(void)scratch_close(&scratch);
		return r;
	}
	*ret = scratch;
	return 0;
}

int scratch_make(struct scratch *scratch, unsigned depth, int *ret_fd)
{
	_cleanup_free_ char *top = NULL;
	_cleanup_strbuf_ struct strbuf path = {};
	int r;

	if (depth <= scratch->base_depth)
		return -ERANGE;
	r = str_printf(&top, PREFIX "%d-%u", (int)getpid(), depth);
	if (r < 0)
		return r;
	strv_add(&scratch->tops, top);
	r = strv_error(&scratch->tops);
	strbuf_adds(&path, top);
	for (unsigned at = scratch->base_depth + 1; r >= 0; at++) {
		if (path.failed)
			return -ENOMEM;
		r = make_group(scratch, path.data);
		if (at == depth || r < 0)
			break;
		r = enable_below(scratch, path.data);
		strbuf_adds(&path, "/n");
	}
	return r < 0 ? r : open_group(scratch, path.data, ret_fd);
}

bool scratch_close(struct scratch *scratch)
{
	bool clean = true;

	for (size_t i = 0; i < scratch->tops.n; i++) {
		const char *name = scratch->tops.items[i];

		if (remove_by_library(scratch, name) < 0 && remove_top(scratch, name) < 0)
			clean = false;
	}
	/* those of the groups just removed are gone with them */
	for (size_t i = scratch->enabled.n; i-- > 0;) {
		_cleanup_fd_ int fd = -EBADF;

		if (*scratch->enabled.items[i] == '\0' && scratch->base_depth == 0 &&
		    (open_group(scratch, "", &fd) < 0 ||
		     write_at(fd, "cgroup.subtree_control", "-memory") < 0))
			clean = false;
	}
	strv_done(&scratch->tops);
	strv_done(&scratch->enabled);
	free(scratch->tree);
	free(scratch->base);
	*scratch = (struct scratch){};
	return clean;
}
