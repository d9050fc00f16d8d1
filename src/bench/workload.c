/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/workload.h"

#include "base/str.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

const struct workload *const workloads[] = {
	&workload_anon,	     &workload_anon_large, &workload_anon_large_threads,
	&workload_file_read, &workload_file_write, &workload_cow,
	&workload_brk,	     &workload_kmem_open,  &workload_kmem_pipe,
	&workload_kmem_fork,
};
const size_t n_workloads = ARRAY_SIZE(workloads);

const struct workload *workload_find(const char *name)
{
	for (size_t i = 0; i < n_workloads; i++)
		if (streq(workloads[i]->name, name))
			return workloads[i];
	return NULL;
}

const char *sample_invalid_name(unsigned invalid)
{
	if (invalid & SAMPLE_FAILED)
		return "failed";
	if (invalid & SAMPLE_FAULTS)
		return "faults";
	if (invalid & SAMPLE_MAJOR)
		return "major-faults";
	if (invalid & SAMPLE_MIGRATED)
		return "migrated";
	return invalid & SAMPLE_MULTIPLEXED ? "multiplexed" : NULL;
}

/* Neighbours that one read fault maps: 16 by default; huge pages would be 512. */
enum { MOST_AROUND = 64 };

uint64_t workload_bytes(const struct workload *workload, uint64_t region)
{
	return workload->has_file && workload->copies ? 2 * region : region;
}

/* The sanitizer's own memory would be touched too, and its faults counted. */
__attribute__((no_sanitize("address"))) void workload_touch(volatile char *map, size_t size,
							    size_t page_size, bool write)
{
	if (write)
		for (size_t i = 0; i < size; i += page_size)
			map[i] = 1;
	else
		for (size_t i = 0; i < size; i += page_size)
			(void)map[i];
}

/* Writes one byte a page through a mapping without huge pages, so that the file has none. */
static int fill(int fd, size_t size, size_t page_size)
{
	volatile char *map;

	if (ftruncate(fd, (off_t)size) < 0)
		return -errno;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	(void)madvise((void *)(uintptr_t)map, size, MADV_NOHUGEPAGE);
	/* a full disk ends the worker here, which is told as such */
	workload_touch(map, size, page_size, true);
	return munmap((void *)(uintptr_t)map, size) < 0 ? -errno : 0;
}

/*
 * A file of the worker's own: page cache belongs to the cgroup that touched it first, so that
 * of a shared file would be the root's in a child too; and new pages every time keep one lucky
 * placement from being taken for a difference. Nothing of it reaches a disk: it has no name,
 * and is gone before it would be written.
 */
static int create_file(const char *dir, size_t size, size_t page_size, int *ret_fd)
{
	_cleanup_fd_ int fd = -EBADF;
	int r;

	if (dir)
		fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	else
		fd = memfd_create("memcg-policy-bench", MFD_CLOEXEC);
	r = fd < 0 ? -errno : fill(fd, size, page_size);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int workload_pin(const struct workload_env *env, unsigned client)
{
	cpu_set_t *set;
	int cpu, r;

	if (env->n_cpus == 0)
		return 0;
	cpu = env->cpus[client % env->n_cpus];
	set = CPU_ALLOC(cpu + 1);
	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(CPU_ALLOC_SIZE(cpu + 1), set);
	CPU_SET_S(cpu, CPU_ALLOC_SIZE(cpu + 1), set);
	r = sched_setaffinity(0, CPU_ALLOC_SIZE(cpu + 1), set) < 0 ? -errno : 0;
	CPU_FREE(set);
	return r;
}

int workload_run_loops(const struct workload_case *c, const struct workload_env *env,
		       int (*loop)(const struct workload_case *c,
				   const struct workload_env *env, struct sample *sample),
		       struct sample *ret)
{
	struct counters counters;
	int r = 0;

	counters_open(&counters, env->pmu && !c->workload->no_pmu);
	counters_start(&counters);
	for (uint64_t i = 0; i < c->loops && r >= 0; i++)
		r = loop(c, env, ret);
	counters_stop(&counters, &ret->counts);
	counters_close(&counters);
	return r;
}

int workload_map_loop(const struct workload_env *env, size_t size, int prot, int flags, int fd,
		      struct sample *sample)
{
	uint64_t start = counters_wall_ns(), mapped, touched;
	volatile char *map = mmap(NULL, size, prot, flags, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	/* not available without CONFIG_TRANSPARENT_HUGEPAGE, and not needed then */
	(void)madvise((void *)(uintptr_t)map, size, MADV_NOHUGEPAGE);
	mapped = counters_wall_ns();
	workload_touch(map, size, env->page_size, prot & PROT_WRITE);
	touched = counters_wall_ns();
	if (munmap((void *)(uintptr_t)map, size) < 0)
		return -errno;
	sample->phase_ns[PHASE_MAP] += mapped - start;
	sample->phase_ns[PHASE_TOUCH] += touched - mapped;
	sample->phase_ns[PHASE_UNMAP] += counters_wall_ns() - touched;
	sample->units += size / env->page_size;
	return 0;
}

void sample_check(const struct workload_case *c, const struct workload_env *env,
		  struct sample *sample)
{
	const struct counts *counts = &sample->counts;
	uint64_t faults = counts->minflt + counts->majflt;
	uint64_t expected = c->workload->faults == FAULTS_EACH ? sample->units : c->faults;
	uint64_t tolerance = expected / 100;

	if (sample->invalid & SAMPLE_FAILED)
		return;
	/* expected = 0: the first sample, which sets what is expected */
	if (c->workload->faults != FAULTS_ANY && expected > 0 &&
	    (faults + tolerance < expected || faults > expected + tolerance))
		sample->invalid |= SAMPLE_FAULTS;
	if (c->workload->faults == FAULTS_AROUND && faults * MOST_AROUND < sample->units)
		sample->invalid |= SAMPLE_FAULTS;
	if (c->workload->faults != FAULTS_ANY && counts->majflt > 0)
		sample->invalid |= SAMPLE_MAJOR;
	if (env->n_cpus > 0 && counts->first_cpu != counts->last_cpu)
		sample->invalid |= SAMPLE_MIGRATED;
	if (counts->has_pmu && counts->multiplexed)
		sample->invalid |= SAMPLE_MULTIPLEXED;
}

void workload_measure(const struct workload_case *c, const struct workload_env *env,
		      struct sample *ret)
{
	struct workload_env own = *env;
	struct workload_case warm = *c;
	struct sample unused = {};
	int r;

	*ret = (struct sample){};
	own.file_fd = -EBADF;
	r = workload_pin(env, 0);
	/* a belt to madvise()'s braces; unknown to kernels without huge pages */
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (r >= 0 && c->workload->has_file)
		r = create_file(env->dir, c->bytes, env->page_size, &own.file_fd);
	/* fills the charge cache of this CPU and copies what fork() shared; clients do it alone
	 */
	warm.loops = 1 + c->loops / 8;
	if (r >= 0 && !c->workload->has_clients)
		r = c->workload->run(&warm, &own, &unused);
	if (r >= 0)
		r = c->workload->run(c, &own, ret);
	if (r < 0) {
		ret->invalid = SAMPLE_FAILED;
		ret->error = -r;
	}
	closep(&own.file_fd);
	sample_check(c, env, ret);
}
