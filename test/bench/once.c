/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * once FILE PROGRAM [ARGUMENT...]: runs a program with its output in FILE and prints
 * "wall-ns cpu-ns peak-KiB exit-status". Small on purpose: a child's peak resident size starts
 * from that of the process that spawned it.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long ns(struct timespec t)
{
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long us(struct timeval t)
{
	return t.tv_sec * 1000000LL + t.tv_usec;
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	struct timespec start, end;
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 3)
		return 2;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, argv[1], O_WRONLY | O_CREAT | O_TRUNC,
					 0600);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (posix_spawn(&pid, argv[2], &actions, NULL, argv + 2, environ) != 0)
		return 1;
	if (wait4(pid, &status, 0, &usage) < 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%lld %lld %ld %d\n", ns(end) - ns(start),
	       1000 * (us(usage.ru_utime) + us(usage.ru_stime)), usage.ru_maxrss,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}
