/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The files shipped in /usr/lib/memcg-policy, for roots that do not have them. */

#include <stddef.h>

struct builtin_file {
	const char *name; /* "policy.conf", "needs.d/docker.conf" */
	const char *text;
	size_t size;
};

extern const struct builtin_file builtin_files[]; /* sorted by base name */
extern const size_t n_builtin_files;
