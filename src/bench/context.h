/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What of the host belongs in a result, and the few values that are watched over time. */

#include "base/macro.h"

struct result;
struct root;
struct running;

/* Fills in what does not change while bench runs. 0 or -ENOMEM: what is not there stays
 * unknown. */
int context_load(const struct root *root, const struct running *running,
		 struct result *result) _must_check_;

/* Whole text of a small file, without white space at its end; NULL when it cannot be read. */
char *context_read(const struct root *root, const char *path);
/* A number in it, NAN when there is none. */
double context_read_number(const struct root *root, const char *path);
/* The number behind a name at the start of a line ("MemTotal:", "pgfault"); NAN. */
double context_read_field(const struct root *root, const char *path, const char *name);
/* The word in brackets ("always [madvise] never"); NULL. */
char *context_read_choice(const struct root *root, const char *path);
/* The hypervisor's name, "yes" where only that there is one is known, "no"; NULL: not known. */
char *context_hypervisor(const struct root *root);
/* The speed of one CPU now, NAN when the kernel does not say. */
double context_khz(const struct root *root, int cpu);

/* Ticks of all CPUs since boot: all of them, and those the hypervisor gave to others. */
struct context_ticks {
	double all, stolen;
};
/* NANs when unknown. */
struct context_ticks context_ticks(const struct root *root);
