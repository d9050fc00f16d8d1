/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Loops over pages in one process: anonymous memory, page cache, copy on write, the heap. */

#include "bench/workload.h"

#include <sys/mman.h>

/* The loop of the oldest measurements of memcg: small enough to be charged and uncharged all
 * the time, large enough for the page walk to matter. */
static int anon_loop(const struct workload_case *c, const struct workload_env *env,
		     struct sample *sample)
{
	return workload_map_loop(env, c->bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, sample);
}

static int run_anon(const struct workload_case *c, const struct workload_env *env,
		    struct sample *ret)
{
	return workload_run_loops(c, env, anon_loop, ret);
}

const struct workload workload_anon = {
	.name = "anon",
	.unit = "page",
	.help = "map 1 MiB of anonymous memory, write each page, unmap",
	.region = 1 << 20,
	.least_region = 1 << 20,
	.has_phases = true,
	.faults = FAULTS_EACH,
	.run = run_anon,
};

static int file_read_loop(const struct workload_case *c, const struct workload_env *env,
			  struct sample *sample)
{
	return workload_map_loop(env, c->bytes, PROT_READ, MAP_SHARED, env->file_fd, sample);
}

static int run_file_read(const struct workload_case *c, const struct workload_env *env,
			 struct sample *ret)
{
	return workload_run_loops(c, env, file_read_loop, ret);
}

const struct workload workload_file_read = {
	.name = "file-read",
	.unit = "page",
	.help = "map 32 MiB of page cache, read each page, unmap; a fault maps several pages",
	.region = 32 << 20,
	.least_region = 4 << 20,
	.has_phases = true,
	.has_file = true,
	.faults = FAULTS_AROUND,
	.run = run_file_read,
};

static int file_write_loop(const struct workload_case *c, const struct workload_env *env,
			   struct sample *sample)
{
	return workload_map_loop(env, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				 env->file_fd, sample);
}

static int run_file_write(const struct workload_case *c, const struct workload_env *env,
			  struct sample *ret)
{
	return workload_run_loops(c, env, file_write_loop, ret);
}

const struct workload workload_file_write = {
	.name = "file-write",
	.unit = "page",
	.help = "the same, written: one fault a page",
	.region = 32 << 20,
	.least_region = 4 << 20,
	.has_phases = true,
	.has_file = true,
	.faults = FAULTS_EACH,
	.run = run_file_write,
};

static int cow_loop(const struct workload_case *c, const struct workload_env *env,
		    struct sample *sample)
{
	return workload_map_loop(env, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
				 env->file_fd, sample);
}

static int run_cow(const struct workload_case *c, const struct workload_env *env,
		   struct sample *ret)
{
	return workload_run_loops(c, env, cow_loop, ret);
}

const struct workload workload_cow = {
	.name = "cow",
	.unit = "page",
	.help = "map 4 MiB of page cache privately, write each page: a copy of each",
	.region = 4 << 20,
	.least_region = 4 << 20,
	.has_phases = true,
	.copies = true,
	.has_file = true,
	.faults = FAULTS_EACH,
	.run = run_cow,
};

static int brk_loop(const struct workload_case *c, const struct workload_env *env,
		    struct sample *sample)
{
	uint64_t start = counters_wall_ns(), grown, touched;
	volatile char *heap = sbrk((intptr_t)c->bytes);

	if (heap == (void *)-1)
		return -errno;
	grown = counters_wall_ns();
	workload_touch(heap, c->bytes, env->page_size, true);
	touched = counters_wall_ns();
	if (sbrk(-(intptr_t)c->bytes) == (void *)-1)
		return -errno;
	sample->phase_ns[PHASE_MAP] += grown - start;
	sample->phase_ns[PHASE_TOUCH] += touched - grown;
	sample->phase_ns[PHASE_UNMAP] += counters_wall_ns() - touched;
	sample->units += c->bytes / env->page_size;
	return 0;
}

static int run_brk(const struct workload_case *c, const struct workload_env *env,
		   struct sample *ret)
{
	return workload_run_loops(c, env, brk_loop, ret);
}

const struct workload workload_brk = {
	.name = "brk",
	.unit = "page",
	.help = "grow the heap by 1 MiB, write each page, shrink it",
	.region = 1 << 20,
	.least_region = 1 << 20,
	.has_phases = true,
	.faults = FAULTS_EACH,
	.run = run_brk,
};
