/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Which services start at boot, read from the links that say so, without systemctl: *.wants/,
 * *.requires/ and *.upholds/ of all unit directories, alias links, masks (systemd.unit(5));
 * OpenRC runlevels, runit's service directories, and System V links of scripts that no unit
 * stands in for. What they start through is not followed: a link counts as enabled, as for
 * "systemctl is-enabled".
 */

#include "base/macro.h"

struct enabled;
struct root;

/* Reads the links once. ret is owned by the caller. 0, or what keeps systemd's directories from
 * being opened (-ENOMEM, -EMFILE). */
int enabled_new(const struct root *root, struct enabled **ret) _must_check_;
struct enabled *enabled_free(struct enabled *enabled);
DEFINE_CLEANUP(struct enabled *, enabled_free);
#define _cleanup_enabled_ _cleanup_(enabled_freep)

/*
 * The link that enables a unit whose name is, or is matched by, pattern; foo@.service stands
 * for every instance. *state is a cursor, 0 at first. 1 with the unit's name and the link's
 * path (both borrowed), 0 when there are no more, or -ENOMEM.
 */
int enabled_next(const struct enabled *enabled, const char *pattern, size_t *state,
		 const char **ret_unit, const char **ret_path) _must_check_;

/*
 * What the alias name stands for in the end ("default.target" -> "graphical.target") and the
 * first link on the way; both borrowed, NULL when it is no alias.
 */
void enabled_alias(const struct enabled *enabled, const char *name, const char **ret_target,
		   const char **ret_path);
