/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/counters.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t); /* these clocks are always there */
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t counters_wall_ns(void)
{
	return read_clock(CLOCK_MONOTONIC_RAW);
}

uint64_t counters_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static int open_event(uint64_t config, int group_fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_user = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* One group, so that both are counted over the same time or neither is. */
static int open_group(int fds[static 2])
{
	fds[0] = open_event(PERF_COUNT_HW_INSTRUCTIONS, -1);
	fds[1] = fds[0] < 0 ? fds[0] : open_event(PERF_COUNT_HW_CPU_CYCLES, fds[0]);
	if (fds[1] < 0) {
		int r = fds[1];

		closep(&fds[0]);
		fds[0] = fds[1] = -EBADF;
		return r;
	}
	return 0;
}

void counters_open(struct counters *counters, bool pmu)
{
	*counters = (struct counters){ .fds = { -EBADF, -EBADF } };
	if (pmu)
		IGNORE(open_group(counters->fds)); /* has_pmu says so */
}

void counters_close(struct counters *counters)
{
	closep(&counters->fds[1]);
	closep(&counters->fds[0]);
	counters->fds[0] = counters->fds[1] = -EBADF;
}

static bool read_group(int fd, struct counts *counts, uint64_t *ret_enabled,
		       uint64_t *ret_running)
{
	struct {
		uint64_t n, enabled, running, values[2];
	} group;

	if (fd < 0 || read(fd, &group, sizeof(group)) != sizeof(group) || group.n != 2)
		return false;
	counts->instructions = group.values[0];
	counts->cycles = group.values[1];
	*ret_enabled = group.enabled;
	*ret_running = group.running;
	return true;
}

static void read_usage(struct counts *counts)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_THREAD, &usage); /* cannot fail with these arguments */
	counts->minflt = (uint64_t)usage.ru_minflt;
	counts->majflt = (uint64_t)usage.ru_majflt;
	counts->nvcsw = (uint64_t)usage.ru_nvcsw;
	counts->nivcsw = (uint64_t)usage.ru_nivcsw;
}

void counters_start(struct counters *counters)
{
	struct counts *start = &counters->start;

	read_usage(start);
	start->first_cpu = sched_getcpu();
	start->has_pmu =
		read_group(counters->fds[0], start, &counters->enabled, &counters->running);
	start->cpu_ns = counters_cpu_ns();
	start->wall_ns = counters_wall_ns();
}

void counters_stop(const struct counters *counters, struct counts *ret)
{
	const struct counts *start = &counters->start;
	struct counts end = { .wall_ns = counters_wall_ns() };
	uint64_t enabled, running;

	end.cpu_ns = counters_cpu_ns();
	end.has_pmu = start->has_pmu && read_group(counters->fds[0], &end, &enabled, &running);
	read_usage(&end);
	end.first_cpu = start->first_cpu;
	end.last_cpu = sched_getcpu();
	end.wall_ns -= start->wall_ns;
	end.cpu_ns -= start->cpu_ns;
	end.minflt -= start->minflt;
	end.majflt -= start->majflt;
	end.nvcsw -= start->nvcsw;
	end.nivcsw -= start->nivcsw;
	if (end.has_pmu) {
		end.multiplexed = enabled - counters->enabled != running - counters->running;
		end.instructions -= start->instructions;
		end.cycles -= start->cycles;
	}
	*ret = end;
}

int counters_probe_pmu(void)
{
	int fds[2], r = open_group(fds);

	if (r < 0)
		return r;
	closep(&fds[1]);
	closep(&fds[0]);
	return 0;
}

const char *counters_pmu_reason(int error)
{
	switch (-error) {
	case 0:
		return "kernel instructions and cycles are counted";
	case ENOENT:
	case ENODEV:
		return "this machine shows no performance monitoring unit (usual in a VM)";
	case EACCES:
	case EPERM:
		return "perf_event_paranoid or a seccomp filter forbids it; run as root";
	case ENOSYS:
		return "the kernel was built without CONFIG_PERF_EVENTS";
	default:
		return strerror(-error);
	}
}
