/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/worker.h"

#include "bench/workload.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { DEADLINE_MS = 60000 };

/* Moves the calling process; "0" means itself, on v1 and v2. */
static int join(int cgroup_fd)
{
	_cleanup_fd_ int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		return -errno;
	return 0;
}

/*
 * fork(), into the cgroup from the first instruction where the kernel can (v2 since 5.7);
 * elsewhere *ret_joined is false and the child must move itself.
 */
static pid_t fork_into(int cgroup_fd, bool *ret_joined)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)cgroup_fd,
	};
	long pid = cgroup_fd < 0 ? -1 : syscall(SYS_clone3, &args, sizeof(args));

	*ret_joined = pid >= 0 || cgroup_fd < 0;
	return pid >= 0 ? (pid_t)pid : fork();
}

static void run_worker(const struct workload_case *c, const struct workload_env *env,
		       int cgroup_fd, bool joined, int gate_fd, int pipe_fd)
{
	struct sample sample = {};
	sigset_t none;
	char go;
	int r = joined ? 0 : join(cgroup_fd);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail with a valid signal */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* what the tool holds back ends us */
	/* whoever watches is ready; end of file: he gave up */
	if (gate_fd >= 0 && read(gate_fd, &go, 1) != 1)
		_exit(1);
	if (r >= 0)
		workload_measure(c, env, &sample);
	else {
		sample.invalid = SAMPLE_FAILED;
		sample.error = -r;
	}
	_exit(write(pipe_fd, &sample, sizeof(sample)) == sizeof(sample) ? 0 : 1);
}

/* Waits until the sample is there, the worker is gone, a signal came or it takes too long. */
static int receive(int pipe_fd, int signal_fd, struct sample *ret)
{
	struct pollfd fds[] = { { .fd = pipe_fd, .events = POLLIN },
				{ .fd = signal_fd, .events = POLLIN } };
	ssize_t n;
	int r;

	do
		r = poll(fds, ARRAY_SIZE(fds), DEADLINE_MS);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	if (fds[1].revents)
		return -EINTR;
	if (r == 0)
		return -ETIMEDOUT;
	n = read(pipe_fd, ret, sizeof(*ret));
	if (n < 0)
		return -errno;
	return n == sizeof(*ret) ? 0 : -ECHILD;
}

int worker_sample_watched(const struct workload_case *c, const struct workload_env *env,
			  int cgroup_fd, int signal_fd, worker_watch_fn *watch, void *data,
			  struct sample *ret)
{
	_cleanup_fd_ int in = -EBADF, out = -EBADF, gate = -EBADF, open_gate = -EBADF;
	int fds[2], r;
	bool joined;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	in = fds[0];
	out = fds[1];
	if (watch) {
		if (pipe2(fds, O_CLOEXEC) < 0)
			return -errno;
		gate = fds[0];
		open_gate = fds[1];
	}
	pid = fork_into(cgroup_fd, &joined);
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		closep(&open_gate);
		run_worker(c, env, cgroup_fd, joined, gate, out);
	}
	closep(&out);
	out = -EBADF;
	r = watch ? watch(data, pid) : 0;
	if (r >= 0 && watch && write(open_gate, "", 1) != 1)
		r = -errno;
	if (r >= 0) {
		r = receive(in, signal_fd, ret);
		if (r < 0 && r != -EINTR) {
			*ret = (struct sample){ .invalid = SAMPLE_FAILED, .error = -r };
			(void)kill(pid, SIGKILL); /* not waited for yet, so still ours */
			r = 0;
		}
	}
	if (r < 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return r;
}

int worker_sample(const struct workload_case *c, const struct workload_env *env, int cgroup_fd,
		  int signal_fd, struct sample *ret)
{
	return worker_sample_watched(c, env, cgroup_fd, signal_fd, NULL, NULL, ret);
}
