/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/spawn.h"

#include "base/root.h"
#include "base/str.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

enum {
	OUTPUT_MAX = 256 * 1024,
	TERM_GRACE_MS = 3000, /* between SIGTERM and SIGKILL */
};

static const char *const environment[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LC_ALL=C",
	"HOME=/",
	"TERM=dumb",
	NULL,
};

void spawn_result_done(struct spawn_result *result)
{
	free(result->output);
	*result = (struct spawn_result){};
}

static int64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail */
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* In the child: the target's /dev, /proc and /sys, seen by this process and its children only.
 */
static int mount_kernel_dirs(int root)
{
	static const char *const dirs[] = { "dev", "proc", "sys" };

	/* first, since unshare(2) takes the working directory along, and no descriptor */
	if (fchdir(root) < 0)
		return -errno;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		char from[8];
		/* a link could lead out of the root */
		int fd = openat(root, dirs[i], O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			return -errno;
		(void)close(fd);				    /* was only looked at */
		(void)snprintf(from, sizeof(from), "/%s", dirs[i]); /* fits */
		if (mount(from, dirs[i], NULL, MS_BIND | MS_REC, NULL) < 0)
			return -errno;
	}
	return 0;
}

/* Async-signal-safe calls only matter after fork in threads; this program has none by then. */
static void child(const struct spawn *spawn, int output, int errors, pid_t parent)
{
	sigset_t none;
	int null, r = 0;

	(void)setsid(); /* a fresh child is no group leader: cannot fail */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL); /* some have no other */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		r = -errno;
	if (getppid() != parent)
		_exit(125); /* it died before we could ask to be told */
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (r == 0 && spawn->where == SPAWN_NAMESPACE)
		r = mount_kernel_dirs(root_fd(spawn->root));
	else if (r == 0 && spawn->where == SPAWN_CHROOT && fchdir(root_fd(spawn->root)) < 0)
		r = -errno;
	if (r == 0 && spawn->where != SPAWN_HERE && chroot(".") < 0)
		r = -errno;
	if (r == 0 && chdir("/") < 0)
		r = -errno;
	if (r == 0) {
		if (null < 0)
			(void)close(STDIN_FILENO); /* reads nothing, either way */
		else if (dup2(null, STDIN_FILENO) < 0)
			r = -errno;
	}
	if (r == 0 && (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0))
		r = -errno;
	if (r == 0) {
		(void)umask(022); /* cannot fail */
		execve(spawn->argv[0], (char *const *)(uintptr_t)spawn->argv,
		       (char *const *)(uintptr_t)environment);
		r = -errno;
	}
	IGNORE(write(errors, &r, sizeof(r))); /* the parent sees the exit status as well */
	_exit(126);
}

/* Keeps the last OUTPUT_MAX bytes. */
static void keep_output(struct strbuf *out, const char *data, size_t size)
{
	strbuf_add(out, data, size);
	if (!out->failed && out->len > OUTPUT_MAX * 2) {
		memmove(out->data, out->data + out->len - OUTPUT_MAX, OUTPUT_MAX + 1);
		out->len = OUTPUT_MAX;
	}
}

static int reap(pid_t pid, int *ret_status)
{
	pid_t done = waitpid(pid, ret_status, WNOHANG);

	if (done < 0 && errno != EINTR)
		return -errno;
	return done == pid;
}

/*
 * Reads until the program has ended and its output with it: 0, -ETIMEDOUT or another errno. A
 * daemon it left behind may hold the output open; that is not waited for.
 */
static int collect(pid_t pid, int fd, int64_t deadline, struct strbuf *out, int *ret_status)
{
	bool open = true;
	int ended = 0;

	for (;;) {
		struct pollfd pfd = { .fd = open ? fd : -1, .events = POLLIN };
		char data[16384];
		ssize_t n = 0;

		if (ended == 0)
			ended = reap(pid, ret_status);
		if (ended < 0)
			return ended;
		if (ended == 0 && now_ms() >= deadline)
			return -ETIMEDOUT;
		/* a wake-up now and then tells of the end of one that closed its output */
		if (poll(&pfd, 1, ended ? 0 : open ? 200 : 20) < 0 && errno != EINTR)
			return -errno;
		if (pfd.revents) {
			n = read(fd, data, sizeof(data));
			if (n < 0 && errno != EINTR && errno != EAGAIN)
				return -errno;
			if (n == 0)
				open = false;
			if (n > 0)
				keep_output(out, data, (size_t)n);
		}
		if (ended && n <= 0)
			return 0;
	}
}

static void kill_group(pid_t pid, int *ret_status)
{
	int64_t deadline = now_ms() + TERM_GRACE_MS;
	int ended = 0;

	(void)kill(-pid, SIGTERM); /* ESRCH: gone */
	while (ended == 0 && now_ms() < deadline) {
		(void)poll(NULL, 0, 20); /* only waits */
		ended = reap(pid, ret_status);
	}
	(void)kill(-pid, SIGKILL); /* also whoever of the group ignored SIGTERM */
	while (ended == 0 && waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
}

int spawn_run(const struct spawn *spawn, struct spawn_result *ret)
{
	_cleanup_fd_ int out_r = -EBADF, out_w = -EBADF, err_r = -EBADF, err_w = -EBADF;
	_cleanup_strbuf_ struct strbuf output = {};
	int64_t deadline = now_ms() + (int64_t)spawn->timeout * 1000;
	int pipes[2], status = 0, failure = 0, r;
	pid_t parent = getpid(), pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	out_r = pipes[0];
	out_w = pipes[1];
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	err_r = pipes[0];
	err_w = pipes[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		child(spawn, out_w, err_w, parent);
	closep(&out_w);
	out_w = -EBADF;
	closep(&err_w);
	err_w = -EBADF;
	if (read(err_r, &failure, sizeof(failure)) != sizeof(failure))
		failure = 0; /* execve(2) closed it: the program runs */
	r = collect(pid, out_r, deadline, &output, &status);
	if (r < 0)
		kill_group(pid, &status);
	if (failure < 0)
		return failure;
	if (r < 0 && r != -ETIMEDOUT)
		return r;
	if (output.len > OUTPUT_MAX) {
		memmove(output.data, output.data + output.len - OUTPUT_MAX, OUTPUT_MAX);
		output.len = OUTPUT_MAX;
	}
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (strbuf_take(&output, &ret->output, &ret->size) < 0)
		return -ENOMEM;
	return r;
}
