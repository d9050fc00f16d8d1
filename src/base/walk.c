/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/walk.h"

#include "base/str.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* as many as the kernel follows (fs/namei.c, MAXSYMLINKS) */
#define MAX_LINKS 40

bool walk_is_kernel_dir(const char *name, size_t n)
{
	return (n == 4 && memcmp(name, "proc", 4) == 0) ||
	       (n == 3 && (memcmp(name, "sys", 3) == 0 || memcmp(name, "run", 3) == 0));
}

/* A stack of the directories entered, so that ".." needs no trust in the file system. */
struct walk {
	int *fds;
	char **names; /* names[i] leads from fds[i] to fds[i + 1] */
	size_t n;
	size_t alloc;
};

static void walk_done(struct walk *walk)
{
	for (size_t i = 0; i < walk->n; i++) {
		closep(&walk->fds[i]);
		free(walk->names[i]);
	}
	free(walk->fds);
	free(walk->names);
}

static int walk_push(struct walk *walk, int fd, const char *name, size_t name_size)
{
	char *copy = str_dup_n(name, name_size);

	if (!copy) {
		closep(&fd);
		return -ENOMEM;
	}
	if (walk->n == walk->alloc) {
		size_t alloc = walk->alloc ? walk->alloc * 2 : 16;
		int *fds = reallocarray(walk->fds, alloc, sizeof(*fds));
		char **names;

		if (fds)
			walk->fds = fds;
		names = reallocarray(walk->names, alloc, sizeof(*names));
		if (names)
			walk->names = names;
		if (!fds || !names) {
			closep(&fd);
			free(copy);
			return -ENOMEM;
		}
		walk->alloc = alloc;
	}
	walk->fds[walk->n] = fd;
	walk->names[walk->n++] = copy;
	return 0;
}

static void walk_pop(struct walk *walk)
{
	if (walk->n == 0)
		return;
	walk->n--;
	closep(&walk->fds[walk->n]);
	free(walk->names[walk->n]);
}

int walk_read_link(int fd, const char *name, char **ret)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(fd, name, target, sizeof(target));

	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(target))
		return -ENAMETOOLONG;
	*ret = str_dup_n(target, (size_t)n);
	return *ret ? 0 : -ENOMEM;
}

/* Opens one component below fd without following it. */
static int open_component(int fd, const char *name, size_t size, int *ret_fd, mode_t *ret_type)
{
	char component[NAME_MAX + 1];
	struct stat st;
	int child;

	if (size > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(component, name, size);
	component[size] = '\0';
	child = openat(fd, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (child < 0)
		return -errno;
	if (fstat(child, &st) < 0) {
		int r = -errno;

		closep(&child);
		return r;
	}
	*ret_fd = child;
	*ret_type = st.st_mode & S_IFMT;
	return 0;
}

/* How far a path has been resolved. */
struct progress {
	struct walk walk;
	char *todo; /* the path, or what a link put in its place */
	char *p;    /* the rest of it */
	unsigned links;
	int last; /* a non-directory as last component, or -EBADF */
	char *last_name;
};

static void progress_done(struct progress *at)
{
	walk_done(&at->walk);
	free(at->todo);
	closep(&at->last);
	free(at->last_name);
}

/* Puts the target of the link child, and the size bytes on, in front of the rest. */
static int follow_link(struct progress *at, int child, size_t size)
{
	_cleanup_free_ char *target = NULL;
	char *rest;
	int r;

	r = walk_read_link(child, "", &target);
	if (r < 0)
		return r;
	if (++at->links > MAX_LINKS)
		return -ELOOP;
	if (*target == '\0')
		return -ENOENT;
	if (*target == '/')
		while (at->walk.n > 0)
			walk_pop(&at->walk);
	r = str_printf(&rest, "%s%s", target, at->p + size);
	if (r < 0)
		return r;
	free(at->todo);
	at->todo = at->p = rest;
	return 0;
}

/*
 * Takes one component of size bytes. Returns 1 when it was the last one and no directory, 0 to
 * go on.
 */
static int step(int root_fd, bool offline, struct progress *at, size_t size, bool follow,
		bool allow_missing)
{
	int base = at->walk.n > 0 ? at->walk.fds[at->walk.n - 1] : root_fd, r;
	_cleanup_fd_ int child = -EBADF;
	const char *rest = at->p + size;
	bool final = rest[strspn(rest, "/")] == '\0', wants_dir = *rest == '/';
	mode_t type = 0;

	if (offline && at->walk.n == 0 && walk_is_kernel_dir(at->p, size))
		return -ENOENT;
	r = open_component(base, at->p, size, &child, &type);
	if (r == -ENOENT && final && allow_missing && !wants_dir) {
		at->last_name = str_dup_n(at->p, size);
		return at->last_name ? 1 : -ENOMEM;
	}
	if (r < 0)
		return r;
	if (type == S_IFLNK && (follow || !final || wants_dir))
		return follow_link(at, child, size);
	if (type == S_IFDIR) {
		r = walk_push(&at->walk, TAKE_FD(child), at->p, size);
		at->p += size;
		return r;
	}
	if (!final || wants_dir)
		return -ENOTDIR;
	at->last = TAKE_FD(child);
	at->last_name = str_dup_n(at->p, size);
	return at->last_name ? 1 : -ENOMEM;
}

/* The path of what was resolved, inside the root. */
static int progress_path(const struct progress *at, char **ret)
{
	_cleanup_strbuf_ struct strbuf buf = {};

	for (size_t i = 0; i < at->walk.n; i++)
		strbuf_addf(&buf, "/%s", at->walk.names[i]);
	if (at->last_name)
		strbuf_addf(&buf, "/%s", at->last_name);
	if (buf.len == 0)
		strbuf_addc(&buf, '/');
	return strbuf_take(&buf, ret, NULL);
}

/* Takes every component of path; what it came to is in *at. */
static int walk(int root_fd, bool offline, const char *path, bool follow, bool allow_missing,
		struct progress *at)
{
	int r = 0;

	if (*path == '\0')
		return -ENOENT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	at->p = at->todo = strdup(path);
	if (!at->todo)
		return -ENOMEM;
	while (r == 0) {
		size_t n;

		at->p += strspn(at->p, "/");
		n = strcspn(at->p, "/");
		if (n == 0)
			break;
		if (n == 1 && *at->p == '.') {
			at->p += n;
		} else if (n == 2 && at->p[0] == '.' && at->p[1] == '.') {
			walk_pop(&at->walk);
			at->p += n;
		} else
			r = step(root_fd, offline, at, n, follow, allow_missing);
	}
	return MIN(r, 0);
}

int walk_open(int root_fd, bool offline, const char *path, bool follow, int *ret_fd)
{
	_cleanup_(progress_done) struct progress at = { .last = -EBADF };
	int r = walk(root_fd, offline, path, follow, false, &at);

	if (r < 0)
		return r;
	if (at.last >= 0)
		*ret_fd = TAKE_FD(at.last);
	else if (at.walk.n > 0)
		*ret_fd = TAKE_FD(at.walk.fds[at.walk.n - 1]);
	else {
		*ret_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
		if (*ret_fd < 0)
			return -errno;
	}
	return 0;
}

int walk_name(int root_fd, bool offline, const char *path, char **ret)
{
	_cleanup_(progress_done) struct progress at = { .last = -EBADF };
	int r = walk(root_fd, offline, path, true, true, &at);

	return r < 0 ? r : progress_path(&at, ret);
}
