/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/root.h"

#include "base/str.h"
#include "base/walk.h"

#include <fcntl.h>
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

struct root {
	int fd;
	char *path;
	enum root_mode mode;
	bool walker;
	root_record_fn *record; /* or NULL */
	void *record_data;
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

void root_record(struct root *root, root_record_fn *fn, void *userdata)
{
	root->record = fn;
	root->record_data = userdata;
}

bool root_is_recorded(const struct root *root)
{
	return root->record;
}

void root_note(const struct root *root, enum root_access access, const char *dir,
	       const char *name)
{
	_cleanup_free_ char *path = NULL;

	if (!root->record)
		return;
	/* out of memory: it is missing from the record, as fn would have to leave it out too */
	if (name && str_printf(&path, "%s/%s", dir, name) < 0)
		return;
	root->record(root->record_data, access, name ? path : dir);
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
	return walk_is_kernel_dir(path, n);
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
	r = walk_read_link(AT_FDCWD, proc, &base);
	if (r < 0)
		return -EAGAIN;
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd); /* fits */
	r = walk_read_link(AT_FDCWD, proc, &name);
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

	root_note(root, ROOT_ACCESS_PATH, path, NULL);
	if (root->walker)
		return walk_open(root->fd, root->mode == ROOT_OFFLINE, path, follow, ret_fd);
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
			return walk_open(root->fd, root->mode == ROOT_OFFLINE, path, follow,
					 ret_fd);
		return -errno;
	}
	if (root->mode == ROOT_OFFLINE) {
		r = offline_hidden(root, fd);
		if (r == -EAGAIN)
			return walk_open(root->fd, root->mode == ROOT_OFFLINE, path, follow,
					 ret_fd);
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
	root_note(root, ROOT_ACCESS_PATH, path, NULL);
	return walk_name(root->fd, root->mode == ROOT_OFFLINE, path, ret);
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
	root_note(root, ROOT_ACCESS_FILE, path, NULL);
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

	root_note(root, ROOT_ACCESS_PATH, dir_path, name);
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
	root_note(root, ROOT_ACCESS_FILE, dir_path, name);
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
	root_note(root, ROOT_ACCESS_DIR, path, NULL);
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

const char *root_read_error(int r)
{
	switch (r) {
	case -EFBIG:
		return "is too large for what it should be";
	case -EBADFD:
		return "is no regular file";
	case -EISDIR:
		return "is a directory";
	case -ELOOP:
		return "is a loop of links";
	case -EACCES:
		return "cannot be read; run this as root";
	default:
		return strerror(-r);
	}
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
	r = walk_read_link(fd, "", ret);
	/* readlinkat(2): ENOENT with an empty name means that it is no link */
	return r == -ENOENT ? -EINVAL : r;
}
