/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One sample in a process of its own, born in the cgroup it is about. */

#include "base/macro.h"

#include <sys/types.h>

struct sample;
struct workload_case;
struct workload_env;

/*
 * Runs one sample in a new process inside the cgroup whose directory is cgroup_fd (-EBADF:
 * where the caller is) and waits for it. signal_fd (a signalfd, or -EBADF) ends it early:
 * -EINTR. Trouble inside the worker, also its death or taking longer than a minute, is an
 * invalid sample and no error here.
 */
int worker_sample(const struct workload_case *c, const struct workload_env *env, int cgroup_fd,
		  int signal_fd, struct sample *ret) _must_check_;

/* The same; before the worker does anything, watch(data, its PID) is called: 0 or an error. */
typedef int worker_watch_fn(void *data, pid_t pid);
int worker_sample_watched(const struct workload_case *c, const struct workload_env *env,
			  int cgroup_fd, int signal_fd, worker_watch_fn *watch, void *data,
			  struct sample *ret) _must_check_;
