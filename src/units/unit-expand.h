/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Units that have no setting of their own, but drop-ins of a prefix, a template or a type. */

#include "base/macro.h"

struct strv;
struct unit_path;
struct unit_scan;

/*
 * Whether a unit that was not found by its own files can have a finding all the same, by the
 * drop-ins of its prefix, its template or its type, or by its template's file. Marks the stems
 * it sees as used.
 */
bool unit_expand_concerns(struct unit_scan *scan, const char *name);

/*
 * Adds the units that only such drop-ins concern to the scan's names, by one more look at the
 * names in the search path where there are any.
 */
int unit_expand(struct unit_scan *scan, const struct unit_path *path, bool user,
		size_t *budget) _must_check_;
/* Adds the names in more, and the stems of drop-ins that no unit was seen to use. */
int unit_expand_rest(struct unit_scan *scan, const struct strv *more) _must_check_;
