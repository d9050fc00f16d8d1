/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The loops that are measured. Each runs in a fresh worker process that has joined its cgroup
 * and is pinned; nothing here allocates from the heap, prints, or knows about cgroups.
 */

#include "base/macro.h"
#include "bench/counters.h"

#include <sys/types.h>

enum {
	WORKLOAD_MAX_CLIENTS = 128,
};

/* Timed apart: memory is charged in touch, uncharged in unmap. */
enum workload_phase {
	PHASE_MAP,
	PHASE_TOUCH,
	PHASE_UNMAP,
	_PHASE_MAX,
};

/* Why a sample does not count; fixed beforehand, "too slow" is none of them. */
enum sample_invalid {
	SAMPLE_FAULTS = 1 << 0,	     /* not one fault a page: huge pages, or somebody else's */
	SAMPLE_MAJOR = 1 << 1,	     /* waited for a disk */
	SAMPLE_MIGRATED = 1 << 2,    /* not on one CPU throughout */
	SAMPLE_MULTIPLEXED = 1 << 3, /* the counters were shared */
	SAMPLE_FAILED = 1 << 4, /* a system call failed, the worker died or took too long */
	_SAMPLE_INVALID_MAX = 1 << 5,
};

/* Of the lowest bit set, for messages and JSON. */
const char *sample_invalid_name(unsigned invalid);

/* What one worker measured; crosses a pipe as it is. */
struct sample {
	struct counts counts; /* of all clients together; wall_ns is that of the whole */
	uint64_t units;	      /* pages or operations */
	uint64_t phase_ns[_PHASE_MAX]; /* wall; 0 where the workload has no phases */
	uint64_t touch_cpu_ns;	       /* all clients; 0 where it was not taken apart */
	unsigned invalid;
	int error; /* errno with SAMPLE_FAILED */
};

enum workload_faults {
	FAULTS_EACH,   /* one a unit */
	FAULTS_AROUND, /* the kernel maps neighbours too: as many as the first time */
	FAULTS_ANY,    /* not a test of faults */
};

struct workload;

/* One workload as it is run here; the same for all arms. */
struct workload_case {
	const struct workload *workload;
	unsigned clients;
	uint64_t loops;	 /* of a sample */
	uint64_t bytes;	 /* of the region */
	uint64_t faults; /* expected of a sample (FAULTS_AROUND) */
};

/* What a worker inherits. */
struct workload_env {
	const char *dir; /* of the file of the file workloads; NULL: in memory */
	int file_fd;	 /* that file, in the worker */
	size_t page_size;
	bool pmu;
	const int *cpus; /* one per client, reused from the start when there are more clients */
	size_t n_cpus;
};

struct workload {
	const char *name;
	const char *group; /* also selects it, or NULL */
	const char *unit;  /* singular */
	const char *help;
	/* mapped at once: as much as possible, less where faults are slow; 0: nothing */
	uint64_t region, least_region;
	bool copies; /* of a file: the region is memory beyond it */
	bool has_phases;
	bool has_clients; /* runs with 1..N; the others have one */
	bool has_file;
	bool no_pmu; /* part of the work is another process's */
	enum workload_faults faults;
	/* Runs the loops and fills in everything but invalid: 0 or a negative errno. */
	int (*run)(const struct workload_case *c, const struct workload_env *env,
		   struct sample *ret);
};

/* In the order they are run and shown. */
extern const struct workload *const workloads[];
extern const size_t n_workloads;

/* NULL when there is none of that name. */
const struct workload *workload_find(const char *name);

/* Memory in use at once by such a case: its region, its file or both. */
uint64_t workload_bytes(const struct workload *workload, uint64_t region) _pure_;

/*
 * Pins the calling process, keeps huge pages out, makes the file if there is one, warms up and
 * takes one sample. Never fails: what went wrong is in the sample.
 */
void workload_measure(const struct workload_case *c, const struct workload_env *env,
		      struct sample *ret);

/* Sets invalid from what was counted. */
void sample_check(const struct workload_case *c, const struct workload_env *env,
		  struct sample *sample);

/* --- for the workload-*.c files --- */

/* Runs loop() c->loops times between two readings. loop() adds to phase_ns and units. */
int workload_run_loops(const struct workload_case *c, const struct workload_env *env,
		       int (*loop)(const struct workload_case *c,
				   const struct workload_env *env, struct sample *sample),
		       struct sample *ret);
/* Maps size bytes, touches every page, unmaps; times the three apart. */
int workload_map_loop(const struct workload_env *env, size_t size, int prot, int flags, int fd,
		      struct sample *sample);
/* Writes, or reads, one byte of each page. */
void workload_touch(volatile char *map, size_t size, size_t page_size, bool write);
/* Pins the calling thread to the client's CPU. */
int workload_pin(const struct workload_env *env, unsigned client);

extern const struct workload workload_anon, workload_anon_large, workload_anon_large_threads,
	workload_file_read, workload_file_write, workload_cow, workload_brk, workload_kmem_open,
	workload_kmem_pipe, workload_kmem_fork;
