/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/root.h"

#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>

/* linux/openat2.h (5.6); spelt out so that older kernel headers will do */
struct resolve_how {
	uint64_t flags;
	uint64_t mode;
	uint64_t resolve;
};
#define RESOLVE_NO_MAGIC 0x02
#define RESOLVE_NO_LINKS 0x04
#define RESOLVE_IN_ROOT	 0x10
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* as many as the kernel follows (fs/namei.c, MAXSYMLINKS) */
#define MAX_LINKS 40

struct root {
	int fd;
	char *path;
	enum root_mode mode;
	bool walker;
};

int root_open(const char *path, enum root_mode mode, struct root **ret)
{
	_cleanup_root_ struct root *root = calloc(1, sizeof(*root));

	if (!root)
		return -ENOMEM;
	root->mode = mode;
	root->path = strdup(path);
	root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->fd < 0)
		return -errno;
	if (!root->path)
		return -ENOMEM;
	*ret = TAKE_PTR(root);
	return 0;
}

struct root *root_free(struct root *root)
{
	if (!root)
		return NULL;
	closep(&root->fd);
	free(root->path);
	free(root);
	return NULL;
}

enum root_mode root_mode(const struct root *root)
{
	return root->mode;
}

const char *root_path(const struct root *root)
{
	return root->path;
}

int root_fd(const struct root *root)
{
	return root->fd;
}

void root_set_walker(struct root *root, bool walker)
{
	root->walker = walker;
}

/* The directories of a running kernel and its services, which an offline root does not show. */
static bool is_kernel_dir(const char *name, size_t n)
{
	return (n == 4 && memcmp(name, "proc", 4) == 0) ||
	       (n == 3 && (memcmp(name, "sys", 3) == 0 || memcmp(name, "run", 3) == 0));
}

/* Whether the path, as it is spelt, starts in such a directory. */
static bool spelt_hidden(const char *path)
{
	size_t n;

	for (;;) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n != 1 || *path != '.')
			break;
		path++;
	}
	return is_kernel_dir(path, n);
}

/* --- the walker: openat2(RESOLVE_IN_ROOT) in user space --- */

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

static int read_link_at(int fd, const char *name, char **ret)
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

	r = read_link_at(child, "", &target);
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
static int step(const struct root *root, struct progress *at, size_t size, bool follow,
		bool allow_missing)
{
	int base = at->walk.n > 0 ? at->walk.fds[at->walk.n - 1] : root->fd, r;
	_cleanup_fd_ int child = -EBADF;
	const char *rest = at->p + size;
	bool final = rest[strspn(rest, "/")] == '\0', wants_dir = *rest == '/';
	mode_t type = 0;

	if (root->mode == ROOT_OFFLINE && at->walk.n == 0 && is_kernel_dir(at->p, size))
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

/*
 * Resolves path below root. With follow unset, a link as last component is the result. The
 * answer is a descriptor or, with ret_path, a path whose last component need not exist.
 */
static int walk_path(const struct root *root, const char *path, bool follow, int *ret_fd,
		     char **ret_path)
{
	_cleanup_(progress_done) struct progress at = { .last = -EBADF };
	int r = 0;

	if (*path == '\0')
		return -ENOENT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	at.p = at.todo = strdup(path);
	if (!at.todo)
		return -ENOMEM;
	while (r == 0) {
		size_t n;

		at.p += strspn(at.p, "/");
		n = strcspn(at.p, "/");
		if (n == 0)
			break;
		if (n == 1 && *at.p == '.') {
			at.p += n;
		} else if (n == 2 && at.p[0] == '.' && at.p[1] == '.') {
			walk_pop(&at.walk);
			at.p += n;
		} else
			r = step(root, &at, n, follow, ret_path != NULL);
	}
	if (r < 0)
		return r;
	if (ret_path)
		return progress_path(&at, ret_path);
	if (at.last >= 0)
		*ret_fd = TAKE_FD(at.last);
	else if (at.walk.n > 0)
		*ret_fd = TAKE_FD(at.walk.fds[at.walk.n - 1]);
	else {
		*ret_fd = fcntl(root->fd, F_DUPFD_CLOEXEC, 3);
		if (*ret_fd < 0)
			return -errno;
	}
	return 0;
}

/* --- openat2 --- */

/*
 * Whether an offline root must hide what fd is. Links can lead into /run or /proc although the
 * path was spelt otherwise; the kernel's own name for the descriptor tells, and where /proc is
 * not mounted the walker has to answer: -EAGAIN.
 */
static int offline_hidden(const struct root *root, int fd)
{
	_cleanup_free_ char *base = NULL, *name = NULL;
	char proc[64];
	const char *rest;
	int r;

	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", root->fd); /* fits */
	r = read_link_at(AT_FDCWD, proc, &base);
	if (r < 0)
		return -EAGAIN;
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd); /* fits */
	r = read_link_at(AT_FDCWD, proc, &name);
	if (r < 0)
		return -EAGAIN;
	rest = streq(base, "/") ? name : str_skip_prefix(name, base);
	if (!rest)
		return -EAGAIN; /* moved meanwhile, or a mount we do not understand */
	return spelt_hidden(rest) ? 1 : 0;
}

static int open_resolved(const struct root *root, const char *path, bool follow, int *ret_fd)
{
	struct resolve_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGIC,
	};
	_cleanup_fd_ int fd = -EBADF;
	int r;

	if (root->walker)
		return walk_path(root, path, follow, ret_fd, NULL);
	if (root->mode == ROOT_OFFLINE && spelt_hidden(path))
		return -ENOENT;
	if (root->mode == ROOT_OFFLINE && !strstr(path, "..")) {
		/* without links and ".." the path is where it says: nothing to look up after */
		how.resolve |= RESOLVE_NO_LINKS;
		fd = (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
		if (fd >= 0) {
			*ret_fd = TAKE_FD(fd);
			return 0;
		}
		if (errno != ELOOP && errno != EAGAIN && errno != ENOSYS && errno != EPERM)
			return -errno;
		how.resolve &= ~(uint64_t)RESOLVE_NO_LINKS;
	}
	for (unsigned tries = 0;; tries++) {
		fd = (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
		if (fd >= 0)
			break;
		/* EAGAIN: something was renamed meanwhile (openat2(2)) */
		if (errno == EAGAIN && tries < 16)
			continue;
		/* before 5.6, or seccomp */
		if (errno == ENOSYS || errno == EPERM || errno == EAGAIN)
			return walk_path(root, path, follow, ret_fd, NULL);
		return -errno;
	}
	if (root->mode == ROOT_OFFLINE) {
		r = offline_hidden(root, fd);
		if (r == -EAGAIN)
			return walk_path(root, path, follow, ret_fd, NULL);
		if (r > 0)
			return -ENOENT;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int root_open_path(const struct root *root, const char *path, int *ret_fd)
{
	return open_resolved(root, path, true, ret_fd);
}

int root_open_path_nofollow(const struct root *root, const char *path, int *ret_fd)
{
	return open_resolved(root, path, false, ret_fd);
}

int root_resolve(const struct root *root, const char *path, char **ret)
{
	return walk_path(root, path, true, NULL, ret);
}

/* --- opening for reading --- */

/* Re-opens an O_PATH descriptor of a regular file. dir_fd and name serve where there is no
 * /proc. */
static int reopen(int path_fd, int dir_fd, const char *name, const struct stat *st, int *ret_fd)
{
	_cleanup_fd_ int fd = -EBADF;
	struct stat now;
	char proc[64];

	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", path_fd); /* fits */
	fd = open(proc, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT && name) {
		fd = openat(dir_fd, name,
			    O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
		if (fd >= 0 && (fstat(fd, &now) < 0 || now.st_ino != st->st_ino ||
				now.st_dev != st->st_dev))
			return -ESTALE;
	}
	if (fd < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int check_regular(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return 0;
	return S_ISDIR(st->st_mode) ? -EISDIR : -EBADFD;
}

/* Without /proc the file is opened by its name in its own directory. */
static int reopen_by_name(const struct root *root, const char *path, const struct stat *st,
			  int *ret_fd)
{
	_cleanup_free_ char *resolved = NULL;
	_cleanup_fd_ int dir = -EBADF;
	char *slash;
	int r;

	r = root_resolve(root, path, &resolved);
	if (r < 0)
		return r;
	slash = strrchr(resolved, '/');
	*slash = '\0';
	r = open_resolved(root, *resolved ? resolved : "/", true, &dir);
	if (r < 0)
		return r;
	return reopen(-1, dir, slash + 1, st, ret_fd);
}

int root_open_file(const struct root *root, const char *path, int *ret_fd, struct stat *ret_st)
{
	_cleanup_fd_ int path_fd = -EBADF;
	struct stat st;
	int r;

	r = root_open_path(root, path, &path_fd);
	if (r < 0)
		return r;
	if (fstat(path_fd, &st) < 0)
		return -errno;
	r = check_regular(&st);
	if (r < 0)
		return r;
	r = reopen(path_fd, -1, NULL, &st, ret_fd);
	if (r == -ENOENT)
		r = reopen_by_name(root, path, &st, ret_fd);
	if (r < 0)
		return r;
	if (ret_st)
		*ret_st = st;
	return 0;
}

int root_open_file_at(const struct root *root, int dir_fd, const char *dir_path,
		      const char *name, int *ret_fd, struct stat *ret_st)
{
	_cleanup_fd_ int path_fd = -EBADF;
	_cleanup_free_ char *path = NULL;
	struct stat st;
	int r;

	path_fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		/* a link is resolved inside the root, like any other path */
		r = str_printf(&path, "%s/%s", dir_path, name);
		if (r < 0)
			return r;
		return root_open_file(root, path, ret_fd, ret_st);
	}
	r = check_regular(&st);
	if (r < 0)
		return r;
	r = reopen(path_fd, dir_fd, name, &st, ret_fd);
	if (r < 0)
		return r;
	if (ret_st)
		*ret_st = st;
	return 0;
}

int root_open_dir(const struct root *root, const char *path, int *ret_fd)
{
	_cleanup_fd_ int path_fd = -EBADF;
	int fd, r;

	r = root_open_path(root, path, &path_fd);
	if (r < 0)
		return r;
	/* "." needs no /proc and cannot be anything but the directory itself */
	fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* st is of the file. */
static int read_fd(int fd, const struct stat *st, size_t max, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *data = NULL;
	size_t size = 0, alloc = 4096, expected = 0;

	if (st->st_size > 0) {
		if ((uint64_t)st->st_size > max)
			return -EFBIG;
		expected = (size_t)st->st_size;
		alloc = expected + 2; /* one byte to see the end, one for the NUL */
	}
	data = malloc(alloc);
	if (!data)
		return -ENOMEM;
	for (;;) {
		ssize_t n;

		if (size + 1 >= alloc) {
			char *more;

			alloc *= 2;
			more = realloc(data, alloc);
			if (!more)
				return -ENOMEM;
			data = more;
		}
		n = read(fd, data + size, alloc - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
		if (size > max)
			return -EFBIG;
		/* asked for more and got just what the file said: no need to ask again */
		if (size == expected)
			break;
	}
	data[size] = '\0';
	if (ret_size)
		*ret_size = size;
	*ret = TAKE_PTR(data);
	return 0;
}

int root_read_fd(int fd, size_t max, char **ret, size_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return read_fd(fd, &st, max, ret, ret_size);
}

int root_read(const struct root *root, const char *path, size_t max, char **ret,
	      size_t *ret_size)
{
	_cleanup_fd_ int fd = -EBADF;
	struct stat st = {};
	int r;

	r = root_open_file(root, path, &fd, &st);
	if (r < 0)
		return r;
	return read_fd(fd, &st, max, ret, ret_size);
}

/* --- looking --- */

int root_stat(const struct root *root, const char *path, struct stat *ret)
{
	_cleanup_fd_ int fd = -EBADF;
	int r;

	r = root_open_path(root, path, &fd);
	if (r < 0)
		return r;
	return fstat(fd, ret) < 0 ? -errno : 0;
}

int root_lstat(const struct root *root, const char *path, struct stat *ret)
{
	_cleanup_fd_ int fd = -EBADF;
	int r;

	r = root_open_path_nofollow(root, path, &fd);
	if (r < 0)
		return r;
	return fstat(fd, ret) < 0 ? -errno : 0;
}

bool root_exists(const struct root *root, const char *path)
{
	_cleanup_fd_ int fd = -EBADF;

	return root_open_path(root, path, &fd) >= 0;
}

int root_readlink(const struct root *root, const char *path, char **ret)
{
	_cleanup_fd_ int fd = -EBADF;
	int r;

	r = root_open_path_nofollow(root, path, &fd);
	if (r < 0)
		return r;
	r = read_link_at(fd, "", ret);
	/* readlinkat(2): ENOENT with an empty name means that it is no link */
	return r == -ENOENT ? -EINVAL : r;
}

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
