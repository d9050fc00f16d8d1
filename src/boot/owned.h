/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The files that are this tool's alone, written whole: taking them back is deleting them.
 * Packaging (purge) and the manual ("FILES") are tested against this table.
 */

#include "base/macro.h"

extern const char *const owned_files[]; /* NULL-terminated, paths in the root */

bool owned_is(const char *path) _pure_;
