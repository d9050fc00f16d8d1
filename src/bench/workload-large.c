/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The page-fault test: one large untouched region, cut among N clients that touch their slices
 * at the same time, each pinned to its CPU. Clients are processes (each with its own page
 * tables) or threads of one (which share them, and the locks).
 */

#include "bench/workload.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { WARM_BYTES = 1 << 20 };

/* In memory that all clients share. */
struct large {
	pthread_barrier_t barrier;
	struct large_client {
		struct counts counts; /* of touch and unmap */
		uint64_t touch_cpu_ns;
		uint64_t begin_ns, touched_ns, end_ns;
		int error;
	} clients[WORKLOAD_MAX_CLIENTS];
};

/* What one client is given; of its own, so that nothing is written to the shared part
 * meanwhile. */
struct task {
	const struct workload_env *env;
	struct large *large;
	volatile char *region;
	size_t size;
	unsigned client;
	bool pmu;
};

static void wait_for_all(struct large *large)
{
	(void)pthread_barrier_wait(&large->barrier); /* one of them is told apart; not needed */
}

/* Every client meets the others as often, also after an error. */
static void run_client(const struct task *task)
{
	struct large_client *own = &task->large->clients[task->client];
	struct sample warm = {};
	struct counters counters;
	uint64_t cpu_ns;
	int r = workload_pin(task->env, task->client);

	/* fills the charge cache of this CPU */
	if (r >= 0)
		r = workload_map_loop(task->env, WARM_BYTES, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, &warm);
	counters_open(&counters, task->pmu);
	own->error = r;
	wait_for_all(task->large);
	counters_start(&counters);
	own->begin_ns = counters_wall_ns();
	cpu_ns = counters_cpu_ns();
	workload_touch(task->region, task->size, task->env->page_size, true);
	own->touch_cpu_ns = counters_cpu_ns() - cpu_ns;
	own->touched_ns = counters_wall_ns();
	if (munmap((void *)(uintptr_t)task->region, task->size) < 0)
		own->error = -errno;
	own->end_ns = counters_wall_ns();
	counters_stop(&counters, &own->counts);
	counters_close(&counters);
}

static void *run_thread(void *data)
{
	run_client(data);
	return NULL;
}

/* Client 0 is the caller. */
static int run_threads(struct task *tasks, unsigned clients)
{
	pthread_t threads[WORKLOAD_MAX_CLIENTS];

	for (unsigned i = 1; i < clients; i++) {
		int error = pthread_create(&threads[i], NULL, run_thread, &tasks[i]);

		if (error != 0)
			return -error;
	}
	run_client(&tasks[0]);
	for (unsigned i = 1; i < clients; i++)
		(void)pthread_join(threads[i], NULL); /* fails only for a wrong argument */
	return 0;
}

static int run_processes(struct task *tasks, unsigned clients)
{
	pid_t pids[WORKLOAD_MAX_CLIENTS];
	int r = 0;

	for (unsigned i = 1; i < clients; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a barrier has no timeout */
			run_client(&tasks[i]);
			_exit(0);
		}
		if (pids[i] < 0) {
			r = -errno;
			for (unsigned k = 1; k < i; k++)
				(void)kill(pids[k], SIGKILL); /* ours, and not yet waited for */
			clients = i;
		}
	}
	if (r >= 0)
		run_client(&tasks[0]);
	for (unsigned i = 1; i < clients; i++)
		while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
			;
	return r;
}

static int sum_up(const struct large *large, unsigned clients, struct sample *ret)
{
	uint64_t begin = UINT64_MAX, touched = 0, end = 0;
	bool pmu = true, moved = false;
	int r = 0;

	for (unsigned i = 0; i < clients; i++) {
		const struct large_client *one = &large->clients[i];
		const struct counts *counts = &one->counts;

		r = r < 0 ? r : one->error;
		begin = MIN(begin, one->begin_ns);
		touched = MAX(touched, one->touched_ns);
		end = MAX(end, one->end_ns);
		ret->touch_cpu_ns += one->touch_cpu_ns;
		ret->counts.cpu_ns += counts->cpu_ns;
		ret->counts.minflt += counts->minflt;
		ret->counts.majflt += counts->majflt;
		ret->counts.nvcsw += counts->nvcsw;
		ret->counts.nivcsw += counts->nivcsw;
		ret->counts.instructions += counts->instructions;
		ret->counts.cycles += counts->cycles;
		ret->counts.multiplexed |= counts->multiplexed;
		pmu = pmu && counts->has_pmu;
		moved = moved || counts->first_cpu != counts->last_cpu;
	}
	ret->counts.has_pmu = pmu;
	ret->counts.first_cpu = large->clients[0].counts.first_cpu;
	/* one that moved spoils the sample */
	ret->counts.last_cpu = moved ? -1 : ret->counts.first_cpu;
	ret->phase_ns[PHASE_TOUCH] = touched - begin;
	ret->phase_ns[PHASE_UNMAP] = end > touched ? end - touched : 0;
	ret->counts.wall_ns = end - begin;
	return r;
}

static int run_large(const struct workload_case *c, const struct workload_env *env,
		     bool threads, struct sample *ret)
{
	struct task tasks[WORKLOAD_MAX_CLIENTS];
	pthread_barrierattr_t shared;
	struct large *large;
	uint64_t start;
	size_t slice = c->bytes / c->clients / env->page_size * env->page_size;
	volatile char *region;
	int r;

	large = mmap(NULL, sizeof(*large), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (large == MAP_FAILED)
		return -errno;
	/* none of these fails on Linux with these arguments */
	(void)pthread_barrierattr_init(&shared);
	(void)pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	(void)pthread_barrier_init(&large->barrier, &shared, c->clients);
	start = counters_wall_ns();
	region = mmap(NULL, slice * c->clients, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED) {
		r = -errno;
		(void)munmap(large, sizeof(*large));
		return r;
	}
	(void)madvise((void *)(uintptr_t)region, slice * c->clients, MADV_NOHUGEPAGE);
	ret->phase_ns[PHASE_MAP] = counters_wall_ns() - start;
	for (unsigned i = 0; i < c->clients; i++)
		tasks[i] = (struct task){ env, large, region + i * slice, slice, i, env->pmu };
	r = threads ? run_threads(tasks, c->clients) : run_processes(tasks, c->clients);
	if (r < 0)
		return r; /* clients may still wait at the barrier: the worker's end ends them
			   */
	r = sum_up(large, c->clients, ret);
	ret->units = slice / env->page_size * c->clients;
	/* what processes did not unmap themselves */
	(void)munmap((void *)(uintptr_t)region, slice * c->clients);
	(void)munmap(large, sizeof(*large));
	return r;
}

static int run_with_processes(const struct workload_case *c, const struct workload_env *env,
			      struct sample *ret)
{
	return run_large(c, env, false, ret);
}

const struct workload workload_anon_large = {
	.name = "anon-large",
	.unit = "page",
	.help = "one large region (at most 128 MiB), touched by 1..N processes at once",
	.region = 128 << 20,
	.least_region = 16 << 20,
	.has_phases = true,
	.has_clients = true,
	.faults = FAULTS_EACH,
	.run = run_with_processes,
};

static int run_with_threads(const struct workload_case *c, const struct workload_env *env,
			    struct sample *ret)
{
	return run_large(c, env, true, ret);
}

const struct workload workload_anon_large_threads = {
	.name = "anon-large-threads",
	.unit = "page",
	.help = "the same by 1..N threads of one process",
	.region = 128 << 20,
	.least_region = 16 << 20,
	.has_phases = true,
	.has_clients = true,
	.faults = FAULTS_EACH,
	.run = run_with_threads,
};
