/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Services that shall rather not run than run without their memory limit: those which
 * FailClosed= of the policy names, that have a limit, on a kernel that has no memory controller
 * to hold it. When anything is uncertain, a service is not among them.
 */

#include "base/macro.h"

struct root;

/* A service that must not start. */
struct closed_unit {
	char *name;
	char *pattern; /* of FailClosed=, and where it stands */
	char *policy_path;
	unsigned policy_line;
	char *setting; /* the limit, and where it stands */
	char *value;
	char *path;
	unsigned line;
};

/* Initialise with {}. */
struct closed {
	struct closed_unit *items;
	size_t n;
	size_t alloc;
};

/* 0 also when there are none; an error means that nobody knows, and that there are none. */
int closed_find(const struct root *root, struct closed *ret) _must_check_;
/*
 * Writes a drop-in for each below a generator's output directory. After an error the ones
 * written are complete.
 */
int closed_write(const struct closed *closed, const char *dir) _must_check_;
void closed_done(struct closed *closed);
#define _cleanup_closed_ _cleanup_(closed_done)
