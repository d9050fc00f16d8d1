/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What one thread used between two points: clocks and faults everywhere, instructions and
 * cycles in the kernel where the machine has a performance monitoring unit (most small VMs have
 * none).
 */

#include "base/macro.h"

/* Differences; those of the unit are 0 unless has_pmu. */
struct counts {
	uint64_t wall_ns; /* CLOCK_MONOTONIC_RAW: not slewed by NTP */
	uint64_t cpu_ns;  /* CLOCK_THREAD_CPUTIME_ID: exact, unlike utime against stime */
	uint64_t minflt, majflt;
	uint64_t nvcsw, nivcsw;	       /* switches the thread asked for, and others */
	uint64_t instructions, cycles; /* in the kernel only: that is where memcg is */
	bool has_pmu;
	bool multiplexed; /* the unit was shared: the numbers are estimates and not used */
	int first_cpu, last_cpu;
};

struct counters {
	struct counts start;
	uint64_t enabled, running; /* of the group at the start */
	int fds[2];		   /* instructions (the leader), cycles; or -EBADF */
};

/* Current readings. */
uint64_t counters_wall_ns(void);
uint64_t counters_cpu_ns(void);

/*
 * Opens the unit's counters for the calling thread. Without them counting goes on with the
 * rest.
 */
void counters_open(struct counters *counters, bool pmu);
void counters_close(struct counters *counters);
void counters_start(struct counters *counters);
void counters_stop(const struct counters *counters, struct counts *ret);

/* 0 when kernel instructions can be counted here, else why not as a negative errno. */
int counters_probe_pmu(void);
/* A sentence for each of those. */
const char *counters_pmu_reason(int error);
