/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Kernel releases ("6.1.0-44-amd64", uname -r). */

#include "base/macro.h"

struct release_version {
	unsigned major;
	unsigned minor;
	unsigned patch; /* 0 when there is none */
};

/* Whether it can be one: what is put into paths must be a single name. */
bool release_is_valid(const char *release) _pure_;

/* -EINVAL when it does not start with two numbers. */
int release_parse(const char *release, struct release_version *ret) _must_check_;

/* Whether release is known to be before, or known to be from, this version. */
bool release_is_before(const char *release, unsigned major, unsigned minor) _pure_;
bool release_is_from(const char *release, unsigned major, unsigned minor) _pure_;

/* Orders as sort -V does: negative when a is older. */
int release_compare(const char *a, const char *b) _pure_;
