/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Where a worker's time goes, by samples of the machine's performance monitoring unit: the
 * share of memcg's functions, as the first measurements of it were made. A lower bound: what
 * the compiler inlined elsewhere goes by other names.
 *
 * Only honest where the unit interrupts by NMI. An ordinary timer cannot land where interrupts
 * are off, and piles its samples up where they are let in again; a profile with many of those
 * is worthless and not shown.
 */

#include "base/macro.h"
#include "bench/symbols.h"

#include <sys/types.h>

struct json;
struct root;

/* Initialise with {}. */
struct profile {
	uint64_t samples; /* all of them */
	uint64_t user;	  /* outside the kernel */
	uint64_t lost, throttled;
	uint64_t groups[_SYMBOL_GROUP_MAX];
	uint32_t *hits; /* by index of the symbols */
};

void profile_done(struct profile *profile);
#define _cleanup_profile_ _cleanup_(profile_done)

/*
 * Counts a stream of records as the kernel writes them (PERF_SAMPLE_IP). -EBADMSG when it is
 * not made of whole records.
 */
int profile_add(struct profile *profile, const struct symbols *symbols, const void *records,
		size_t size) _must_check_;

/* More samples than this share where interrupts are let in: not by NMI. */
#define PROFILE_MOST_INTERRUPTS 0.05
bool profile_is_biased(const struct profile *profile) _pure_;

/* NULL when out of memory (json_add() takes that). Shares are of all samples, 0 to 1. */
struct json *profile_to_json(const struct profile *profile, const struct symbols *symbols);

/* --- taking samples --- */

enum profile_clock {
	PROFILE_CYCLES, /* of the unit */
	PROFILE_TIMER,	/* is there everywhere, and biased: tests only */
};

struct profiler {
	void *ring;
	size_t size; /* of the data behind the first page */
	int fd;
};

/* Starts to sample a process. Negative errno of perf_event_open(2) or mmap(2). */
int profiler_start(enum profile_clock clock, pid_t pid, struct profiler *ret) _must_check_;
/* Ends it and counts what was sampled. */
int profiler_stop(struct profiler *profiler, const struct symbols *symbols,
		  struct profile *profile) _must_check_;
void profiler_close(struct profiler *profiler);

/*
 * Whether a profile can be taken here: 0, or why not as a negative errno with a sentence in
 * *ret_why (a string to free).
 */
int profile_probe(const struct root *root, struct symbols *ret, char **ret_why) _must_check_;
