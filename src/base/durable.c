/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/durable.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

/* A file system stays frozen at most this long, whatever happens to us. */
enum { FREEZE_TIMEOUT_MS = 10000 };

bool durable_is_fat(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (uint32_t)fs.f_type == MSDOS_SUPER_MAGIC;
}

/*
 * Whether syncfs(2) may leave what a loader needs in a journal: XFS, and a file system that
 * holds nothing but boot files (where a freeze stops nobody). Btrfs gives each subvolume a
 * device number, and syncfs commits its whole tree.
 */
static bool wants_freeze(int dir_fd, int root_fd)
{
	struct stat dir, root;
	struct statfs fs;

	if (fstatfs(dir_fd, &fs) < 0 || (uint32_t)fs.f_type == BTRFS_SUPER_MAGIC)
		return false;
	if ((uint32_t)fs.f_type == DURABLE_XFS_MAGIC)
		return true;
	return fstat(dir_fd, &dir) == 0 && fstat(root_fd, &root) == 0 &&
	       dir.st_dev != root.st_dev;
}

/*
 * The watchdog: thaws when told to, when we die (the socket closes) and when time is up. It is
 * its own session, so a signal to our process group does not reach it. Nothing here may write
 * or allocate.
 */
static void watch(int dir_fd, int sock)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	sigset_t all;
	char c;

	(void)setsid(); /* a fresh child is no group leader: cannot fail */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL); /* cannot fail */
	/* "I am watching" */
	if (write(sock, "w", 1) != 1)
		_exit(1);
	(void)poll(&pfd, 1, FREEZE_TIMEOUT_MS); /* whatever it says, thaw */
	if (!(pfd.revents & POLLIN) || read(sock, &c, 1) != 1)
		(void)ioctl(dir_fd, FITHAW, 0); /* EINVAL: it was not frozen */
	_exit(0);
}

/* Freezes and thaws the file system, which empties its journal. Best effort: see durable.h. */
static int freeze_and_thaw(int dir_fd)
{
	int sock[2], r = 0;
	pid_t pid;
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		r = -errno;
		(void)close(sock[0]); /* a socket: nothing to lose */
		(void)close(sock[1]);
		return r;
	}
	if (pid == 0) {
		(void)close(sock[0]); /* ours is 1; the end of 0 must be the parent's alone */
		watch(dir_fd, sock[1]);
	}
	(void)close(sock[1]); /* a socket: nothing to lose */
	/* never freeze unwatched */
	if (read(sock[0], &c, 1) == 1 && ioctl(dir_fd, FIFREEZE, 0) == 0) {
		if (ioctl(dir_fd, FITHAW, 0) < 0)
			r = -errno;
	}
	/* EOPNOTSUPP, EPERM, EBUSY (frozen by somebody else): syncfs is what there is */
	if (r == 0)
		(void)send(sock[0], "d", 1, MSG_NOSIGNAL); /* else it thaws: harmless */
	(void)close(sock[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

int durable_sync(int dir_fd, int root_fd, enum durable_level level)
{
	/* a directory that cannot be fsynced (some FUSE and network file systems) says EINVAL
	 */
	if (fsync(dir_fd) < 0 && errno != EINVAL)
		return -errno;
	if (level == DURABLE_DIRECTORY)
		return 0;
	if (syncfs(dir_fd) < 0)
		return -errno;
	/* syncfs ends by writing blocks to their places; this empties the disk's cache */
	if (fsync(dir_fd) < 0 && errno != EINVAL)
		return -errno;
	if (level == DURABLE_BOOT && !durable_is_fat(dir_fd) && wants_freeze(dir_fd, root_fd))
		return freeze_and_thaw(dir_fd);
	return 0;
}
