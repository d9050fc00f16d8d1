/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/temporary.h"

#include "base/durable.h"
#include "base/root.h"
#include "base/str.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/* linux/fs.h; its C library function is glibc's only */
#define RENAME_NO_REPLACE 1U

static int make(int dir, struct temporary *ret)
{
	static const char digits[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	unsigned char random[6];

	for (unsigned tries = 0; tries < 100; tries++) {
		char suffix[sizeof(random) + 1] = {};
		int fd;

		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return errno ? -errno : -EIO;
		for (size_t i = 0; i < sizeof(random); i++)
			suffix[i] = digits[random[i] % (sizeof(digits) - 1)];
		(void)snprintf(ret->name, sizeof(ret->name), TEMPORARY_PREFIX "%s",
			       suffix); /* fits */
		fd = openat(dir, ret->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		if (fd >= 0) {
			ret->fd = fd;
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int write_all(int fd, const struct content *content)
{
	size_t done = 0;

	while (done < content->size) {
		ssize_t n = write(fd, content->data + done, content->size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

/* Reads back what fsync(2) said is written, from the disk where the cache lets go of it. */
static int check_written(int fd, const struct content *content)
{
	_cleanup_content_ struct content back = {};
	int r;

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* only a wish */
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = root_read_fd(fd, content->size + 1, &back.data, &back.size);
	if (r < 0)
		return r == -EFBIG ? -EIO : r;
	return content_equal(&back, content) ? 0 : -EIO;
}

/*
 * ACLs and the SELinux label are extended attributes too. The hashes of IMA and EVM are not
 * copied: they belong to the old bytes, and the kernel makes new ones.
 */
static int copy_xattrs(int from, int to)
{
	_cleanup_free_ char *names = NULL, *value = NULL;
	ssize_t size = flistxattr(from, NULL, 0), n;

	if (size < 0)
		return errno == ENOTSUP || errno == ENOSYS ? 0 : -errno;
	if (size == 0)
		return 0;
	names = malloc((size_t)size);
	value = malloc(XATTR_SIZE_MAX);
	if (!names || !value)
		return -ENOMEM;
	size = flistxattr(from, names, (size_t)size);
	if (size < 0)
		return -errno;
	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		if (streq(name, "security.ima") || streq(name, "security.evm"))
			continue;
		n = fgetxattr(from, name, value, XATTR_SIZE_MAX);
		if (n < 0 && errno == ENODATA)
			continue;
		if (n < 0 || fsetxattr(to, name, value, (size_t)n, 0) < 0)
			return -errno;
	}
	return 0;
}

int temporary_copy_metadata(int from, int to)
{
	struct stat old, new;

	if (fstat(from, &old) < 0 || fstat(to, &new) < 0)
		return -errno;
	/* only where they differ: FAT knows neither */
	if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) &&
	    fchown(to, old.st_uid, old.st_gid) < 0)
		return -errno;
	if ((old.st_mode & 07777) != (new.st_mode & 07777) &&
	    fchmod(to, old.st_mode & 07777) < 0)
		return -errno;
	return copy_xattrs(from, to);
}

int temporary_write(int dir, const struct content *content, int old_fd, mode_t mode,
		    struct temporary *ret)
{
	struct temporary new = { .fd = -EBADF };
	int r = make(dir, &new);

	if (r < 0)
		return r;
	r = write_all(new.fd, content);
	if (r >= 0 && old_fd >= 0)
		r = temporary_copy_metadata(old_fd, new.fd);
	else if (r >= 0 && fchmod(new.fd, mode) < 0 && !durable_is_fat(dir))
		r = -errno;
	if (r < 0) {
		temporary_done(dir, &new); /* the error is r */
		return r;
	}
	*ret = new;
	return 0;
}

int temporary_settle(const struct temporary *temporary, const struct content *content)
{
	if (temporary->fd < 0)
		return 0;
	return fsync(temporary->fd) < 0 ? -errno : check_written(temporary->fd, content);
}

static int rename_to(int dir, const char *from, const char *to, bool create)
{
	if (create) {
		if (syscall(SYS_renameat2, dir, from, dir, to, RENAME_NO_REPLACE) == 0)
			return 0;
		if (errno == EEXIST)
			return -ESTALE;
		if (errno != EINVAL && errno != ENOSYS)
			return -errno;
		/* a file system without the flag: the name was free a moment ago */
	}
	return renameat(dir, from, dir, to) < 0 ? -errno : 0;
}

int temporary_move(int dir, struct temporary *temporary, const char *to, bool create)
{
	int r = rename_to(dir, temporary->name, to, create);

	if (r >= 0)
		*temporary->name = '\0';
	return r;
}

void temporary_done(int dir, struct temporary *temporary)
{
	closep(&temporary->fd);
	if (*temporary->name)
		(void)unlinkat(dir, temporary->name, 0); /* the next run cleans as well */
	*temporary->name = '\0';
}
