/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is started by whom: the links in ".wants", ".requires" and ".upholds" directories. */

#include "base/macro.h"

struct unit_path;
struct unit_scan;

/*
 * Calls a function for every unit that such a directory names and no mask hides. It returns 0
 * or a negative errno, which ends the walk.
 */
int unit_wants_walk(const struct unit_scan *scan, const struct unit_path *path, size_t *budget,
		    int (*function)(void *data, const char *name), void *data) _must_check_;
