/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kernel objects: not charged in the root cgroup, so a child pays nearly all of the cost. */

#include "bench/workload.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { OPERATIONS = 16 }; /* of a loop */

static int open_loop(const struct workload_case *c _unused_,
		     const struct workload_env *env _unused_, struct sample *sample)
{
	for (int i = 0; i < OPERATIONS; i++) {
		int fd = open("/proc/version", O_RDONLY | O_CLOEXEC);

		if (fd < 0 || close(fd) < 0)
			return -errno;
	}
	sample->units += OPERATIONS;
	return 0;
}

static int run_open(const struct workload_case *c, const struct workload_env *env,
		    struct sample *ret)
{
	return workload_run_loops(c, env, open_loop, ret);
}

const struct workload workload_kmem_open = {
	.name = "kmem-open",
	.group = "kmem",
	.unit = "open+close",
	.help = "open and close /proc/version",
	.faults = FAULTS_ANY,
	.run = run_open,
};

static int pipe_loop(const struct workload_case *c _unused_,
		     const struct workload_env *env _unused_, struct sample *sample)
{
	for (int i = 0; i < OPERATIONS; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) < 0 || close(fds[0]) < 0 || close(fds[1]) < 0)
			return -errno;
	}
	sample->units += OPERATIONS;
	return 0;
}

static int run_pipe(const struct workload_case *c, const struct workload_env *env,
		    struct sample *ret)
{
	return workload_run_loops(c, env, pipe_loop, ret);
}

const struct workload workload_kmem_pipe = {
	.name = "kmem-pipe",
	.group = "kmem",
	.unit = "pipe+close",
	.help = "make a pipe and close it",
	.faults = FAULTS_ANY,
	.run = run_pipe,
};

static int fork_loop(const struct workload_case *c _unused_,
		     const struct workload_env *env _unused_, struct sample *sample)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(0);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	sample->units++;
	return 0;
}

static uint64_t children_cpu_ns(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_CHILDREN, &usage); /* cannot fail with these arguments */
	/* the sum is exact, the split is not */
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static int run_fork(const struct workload_case *c, const struct workload_env *env,
		    struct sample *ret)
{
	uint64_t before = children_cpu_ns();
	int r = workload_run_loops(c, env, fork_loop, ret);

	ret->counts.cpu_ns += children_cpu_ns() - before;
	return r;
}

const struct workload workload_kmem_fork = {
	.name = "kmem-fork",
	.group = "kmem",
	.unit = "fork+exit+wait",
	.help = "fork a process that exits at once, and wait for it",
	.no_pmu = true,
	.faults = FAULTS_ANY,
	.run = run_fork,
};
