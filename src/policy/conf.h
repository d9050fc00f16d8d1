/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Our configuration files in /etc, /run and /usr/lib/memcg-policy, found by the rules of UAPI.6
 * (uapi-group.org, "Configuration Files Specification"). Masks need no code of their own: the
 * highest file of a name is taken, and an empty one or a link to /dev/null reads as nothing.
 *
 * A root without /usr/lib/memcg-policy (an installer's target, a captured machine) is judged by
 * what is shipped there, which is built in; such a path starts with "built-in:".
 */

#include "base/diag.h"

struct root;
struct strv;

/* The highest file of that name; *ret is NULL when there is none. 0 or -ENOMEM. */
int conf_find(const struct root *root, const char *name, char **ret) _must_check_;

/*
 * The paths of dir/ *.conf of all three places, merged by file name, in byte order of the
 * names; without, unless NULL, is a path that is treated as missing. A place that cannot be
 * listed is reported in diag at that level and skipped: 0, or the first such error.
 */
int conf_list(const struct root *root, const char *dir, const char *without,
	      enum diag_level level, struct strv *ret, struct diag *diag) _must_check_;

/*
 * Reads one of them, at most ROOT_MAX_POLICY bytes. An error is reported in diag at that level
 * and returned.
 */
int conf_read(const struct root *root, const char *path, enum diag_level level, char **ret,
	      size_t *ret_size, struct diag *diag) _must_check_;
