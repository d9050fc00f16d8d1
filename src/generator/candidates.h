/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The services that FailClosed= may mean and somebody but the packager has a say in, by names
 * alone: no unit file is read.
 */

#include "base/macro.h"
#include "base/str.h"
#include "units/unit-load.h"
#include "units/unit-path.h"

struct policy;
struct root;

/* Initialise with {}. */
struct candidates {
	struct unit_path path; /* of the system manager, without what generators make */
	struct unit_aliases aliases;
	struct strv names;	 /* may name a unit more than once, by its aliases */
	struct strv dropin_dirs; /* "foo.service.d", those there are; sorted */
	size_t budget; /* directory entries and drop-ins that may still be looked at */
};

int candidates_find(const struct root *root, unsigned version, const struct policy *policy,
		    struct candidates *ret) _must_check_;
/* Whether a unit file or directory is what packages bring. */
bool candidates_is_vendors(const char *path) _pure_;
void candidates_done(struct candidates *candidates);
#define _cleanup_candidates_ _cleanup_(candidates_done)
