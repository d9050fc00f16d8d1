/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Result files of several boots, reduced to medians, and whether they may be compared. */

#include "base/macro.h"
#include "bench/result.h"

struct comparison;
struct diag;

/* What is left of a file: its medians, and what the host was. */
struct boot {
	const char *path;	    /* borrowed */
	struct result result;	    /* without its samples */
	double *cpu, *instructions; /* of [case][arm] per unit; NAN: no valid sample */
	char *kind;		    /* its label, or "memcg on" */
	char *words;		    /* of the command line that do not concern memcg */
	size_t first; /* index of the first file of the same kind and boot; often its own */
};

/* Initialise with {}. */
struct boots {
	struct boot *items;
	size_t n;
};

/* paths are borrowed. An error is in diag when a file cannot be used. */
int boots_read(char *const *paths, size_t n, struct boots *ret, struct diag *diag) _must_check_;
void boots_done(struct boots *boots);

/*
 * The two kinds of boots, into comparison->sides and on_off: those with memcg off come first,
 * so that its cost is positive. -EXDEV with an error in diag when there are not two.
 */
int boots_find_sides(const struct boots *boots, struct comparison *comparison,
		     struct diag *diag) _must_check_;
/* Kernel, hardware and command line must be the same, or -EXDEV; a warning with force. */
int boots_check(const struct boots *boots, bool force, struct comparison *comparison,
		struct diag *diag) _must_check_;

/* Adds the error; -EXDEV. */
int boots_not_comparable(struct diag *diag, const char *path, const char *hint, const char *fmt,
			 ...) _printf_(4, 5);
