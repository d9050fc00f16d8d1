/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/profile.h"

#include "base/json.h"
#include "base/str.h"
#include "bench/counters.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
	FREQUENCY = 4000,
	RING_PAGES = 256, /* a power of two; a minute of samples */
	SHOWN = 20,
};

void profile_done(struct profile *profile)
{
	free(profile->hits);
	*profile = (struct profile){};
}

/* --- records --- */

static void count(struct profile *profile, const struct symbols *symbols, uint16_t misc,
		  uint64_t address)
{
	size_t i;

	profile->samples++;
	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_KERNEL) {
		profile->user++;
		return;
	}
	i = symbols_find(symbols, address);
	if (i == SIZE_MAX) {
		profile->groups[SYMBOL_OTHER]++;
		return;
	}
	profile->groups[symbols->items[i].group]++;
	profile->hits[i]++;
}

int profile_add(struct profile *profile, const struct symbols *symbols, const void *records,
		size_t size)
{
	const char *p = records;

	if (!profile->hits)
		profile->hits = calloc(symbols->n, sizeof(*profile->hits));
	if (!profile->hits)
		return -ENOMEM;
	while (size > 0) {
		struct perf_event_header header;
		uint64_t words[2] = {}; /* what follows it, as far as it matters */

		if (size < sizeof(header))
			return -EBADMSG;
		memcpy(&header, p, sizeof(header));
		if (header.size < sizeof(header) || header.size > size)
			return -EBADMSG;
		memcpy(words, p + sizeof(header),
		       MIN(header.size - sizeof(header), sizeof(words)));
		if (header.type == PERF_RECORD_SAMPLE)
			count(profile, symbols, header.misc, words[0]);
		else if (header.type == PERF_RECORD_LOST) /* id, how many */
			profile->lost += words[1];
		else if (header.type == PERF_RECORD_THROTTLE)
			profile->throttled++;
		p += header.size;
		size -= header.size;
	}
	return 0;
}

bool profile_is_biased(const struct profile *profile)
{
	return (double)profile->groups[SYMBOL_INTERRUPTS] >
	       PROFILE_MOST_INTERRUPTS * (double)profile->samples;
}

/* --- JSON --- */

/* The function with most hits among those not yet taken; SIZE_MAX: none. */
static size_t next_function(const struct profile *profile, const struct symbols *symbols,
			    const size_t *taken, size_t n)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; profile->hits && i < symbols->n; i++) {
		bool is_taken = false;

		if (profile->hits[i] == 0 || symbols->items[i].group == SYMBOL_OTHER ||
		    (best != SIZE_MAX && profile->hits[i] <= profile->hits[best]))
			continue;
		for (size_t k = 0; k < n; k++)
			is_taken = is_taken || taken[k] == i;
		if (!is_taken)
			best = i;
	}
	return best;
}

struct json *profile_to_json(const struct profile *profile, const struct symbols *symbols)
{
	struct json *object = json_new_object(), *functions = json_new_array();
	double all = (double)MAX(profile->samples, UINT64_C(1));
	size_t taken[SHOWN];

	json_add_u64(object, "samples", profile->samples);
	json_add_u64(object, "lost", profile->lost);
	json_add_u64(object, "throttled", profile->throttled);
	json_add_double(object, "user", (double)profile->user / all);
	json_add_bool(object, "biased", profile_is_biased(profile));
	json_add_double(object, symbol_group_name(SYMBOL_INTERRUPTS),
			(double)profile->groups[SYMBOL_INTERRUPTS] / all);
	/* numbers of a biased profile would be quoted */
	for (int g = SYMBOL_MEMCONTROL; g <= SYMBOL_SHARED; g++)
		if (profile_is_biased(profile))
			json_add_null(object, symbol_group_name((enum symbol_group)g));
		else
			json_add_double(object, symbol_group_name((enum symbol_group)g),
					(double)profile->groups[g] / all);
	for (size_t n = 0; n < SHOWN && !profile_is_biased(profile); n++) {
		struct json *function;
		size_t i = next_function(profile, symbols, taken, n);

		if (i == SIZE_MAX)
			break;
		taken[n] = i;
		function = json_new_object();
		json_add_string(function, "name", symbols->items[i].name);
		json_add_string(function, "group", symbol_group_name(symbols->items[i].group));
		json_add_double(function, "share", profile->hits[i] / all);
		json_append(functions, function);
	}
	json_add(object, "functions", functions);
	return object;
}

/* --- taking samples --- */

int profiler_start(enum profile_clock clock, pid_t pid, struct profiler *ret)
{
	struct perf_event_attr attr = {
		.type = clock == PROFILE_CYCLES ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = clock == PROFILE_CYCLES ? PERF_COUNT_HW_CPU_CYCLES
						  : PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = FREQUENCY,
		.freq = 1,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_hv = 1,
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *ring;

	if (fd < 0)
		return -errno;
	ring = mmap(NULL, (1 + RING_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED) {
		int r = -errno;

		closep(&fd);
		return r;
	}
	*ret = (struct profiler){ .ring = ring, .size = RING_PAGES * page, .fd = fd };
	return 0;
}

int profiler_stop(struct profiler *profiler, const struct symbols *symbols,
		  struct profile *profile)
{
	struct perf_event_mmap_page *head = profiler->ring;
	const char *data = (const char *)profiler->ring + (size_t)sysconf(_SC_PAGESIZE);
	uint64_t filled;

	if (ioctl(profiler->fd, PERF_EVENT_IOC_DISABLE, 0) < 0)
		return -errno;
	filled = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
	/* nothing was read meanwhile, so the kernel dropped what did not fit and wrote that */
	return profile_add(profile, symbols, data, MIN(filled, profiler->size));
}

void profiler_close(struct profiler *profiler)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!profiler->ring)
		return;
	(void)munmap(profiler->ring, profiler->size + page); /* cannot fail: it was mapped */
	closep(&profiler->fd);
	*profiler = (struct profiler){ .fd = -EBADF };
}

int profile_probe(const struct root *root, struct symbols *ret, char **ret_why)
{
	struct profiler profiler = {};
	int r = profiler_start(PROFILE_CYCLES, 0, &profiler), e;

	if (r < 0) {
		e = str_printf(ret_why, "%s", counters_pmu_reason(r));
		return e < 0 ? e : r;
	}
	profiler_close(&profiler);
	r = symbols_load(root, ret);
	if (r == -EPERM || r == -ENODATA)
		e = str_printf(ret_why, "/proc/kallsyms shows no addresses "
					"(kernel.kptr_restrict, or CONFIG_KALLSYMS is off)");
	else if (r < 0)
		e = str_printf(ret_why, "/proc/kallsyms: %s", strerror(-r));
	else
		return 0;
	return e < 0 ? e : r;
}
