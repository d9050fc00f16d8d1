/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What memcg costs, measured again by a program that shares nothing with memcg-policy: /init of
 * a machine whose clock counts instructions (guest.py). If both find the same differences on
 * the same kernel, they are the kernel's. One line a measurement on the second serial line:
 * pass, workload, place, then instructions per page. What was measured first after boot is not
 * settled yet, so everything is done twice and the second pass counts.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, ANON = 1 << 20, CACHE = 32 << 20, SETTLE_S = 30, REPETITIONS = 9 };

#define TREE "/cgroup"

static const struct {
	const char *name, *group; /* NULL: where init is */
} places[] = {
	{ "root", NULL },
	{ "child-1", TREE "/one" },
	{ "child-4", TREE "/four/n/n/n" },
};

static const struct {
	const char *name;
	size_t size;
	int times; /* a repetition */
	int file, write;
} workloads[] = {
	{ "anon", ANON, 16, 0, 1 },
	{ "file-read", CACHE, 1, 1, 0 },
	{ "file-write", CACHE, 1, 1, 1 },
};

static void die(const char *what)
{
	printf("failed: %s: %s\n", what, strerror(errno));
	reboot(RB_POWER_OFF);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), r;

	if (fd < 0)
		return -1;
	r = write(fd, text, strlen(text)) < 0 ? -1 : 0;
	close(fd);
	return r;
}

/* Groups one and four levels deep; 0 where the kernel has no memory controller. */
static int make_groups(void)
{
	static const char *const parents[] = { TREE, TREE "/four", TREE "/four/n",
					       TREE "/four/n/n" };
	char path[200];

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		snprintf(path, sizeof(path), "%s/cgroup.subtree_control", parents[i]);
		if (put(path, "+memory") < 0)
			return 0;
		snprintf(path, sizeof(path), "%s/%s", parents[i], i == 0 ? "four" : "n");
		if (mkdir(path, 0755) < 0)
			die(path);
	}
	if (mkdir(TREE "/one", 0755) < 0)
		die("mkdir");
	return 1;
}

static void touch_once(size_t size, int fd, int write)
{
	volatile char *map = mmap(NULL, size, write ? PROT_READ | PROT_WRITE : PROT_READ,
				  fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < size; i += PAGE)
		if (write)
			map[i] = 1;
		else
			(void)map[i];
	munmap((void *)map, size);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of some repetitions, after one that does not count. */
static double measure(size_t w)
{
	size_t size = workloads[w].size;
	double pages = (double)(size / PAGE) * workloads[w].times, costs[REPETITIONS];
	int fd = -1;

	if (workloads[w].file) {
		fd = memfd_create("reference", 0);
		if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
			die("memfd");
		touch_once(size, fd, 1);
	}
	touch_once(size, fd, workloads[w].write);
	for (int i = 0; i < REPETITIONS; i++) {
		double start = now();

		for (int k = 0; k < workloads[w].times; k++)
			touch_once(size, fd, workloads[w].write);
		costs[i] = (now() - start) / pages;
	}
	if (fd >= 0)
		close(fd);
	qsort(costs, REPETITIONS, sizeof(*costs), compare);
	return costs[REPETITIONS / 2];
}

static void measure_in(size_t place, int pass)
{
	char path[200];

	if (fork() > 0) {
		wait(NULL);
		return;
	}
	if (places[place].group) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", places[place].group);
		if (put(path, "0") < 0)
			die(path);
	}
	for (size_t w = 0; w < sizeof(workloads) / sizeof(*workloads); w++) {
		double cost = measure(w);

		printf("%d %s %s %.2f\n", pass, workloads[w].name, places[place].name, cost);
		fflush(stdout);
	}
	_exit(0);
}

int main(void)
{
	size_t n;

	mkdir("/dev", 0755);
	mkdir(TREE, 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	if (!freopen("/dev/ttyS1", "w", stdout))
		return 1;
	if (mount("cgroup", TREE, "cgroup2", 0, NULL) < 0)
		die("cgroup2");
	sleep(SETTLE_S);
	n = make_groups() ? sizeof(places) / sizeof(*places) : 1;
	for (int pass = 1; pass <= 2; pass++)
		for (size_t place = 0; place < n; place++)
			measure_in(place, pass);
	reboot(RB_POWER_OFF);
	return 0;
}
