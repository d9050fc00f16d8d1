/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One unit by the files that bear its name, without a look at all the others. */

#include "base/macro.h"
#include "units/unit-load.h"

struct unit_quadlets;
struct unit_view;

/*
 * Loads the unit that has the name; links that lead to it are not known, so that the drop-ins
 * of its other names are not either. quadlets may be NULL. -EINVAL: no unit has such a name.
 */
int unit_load_single(const struct root *root, const struct unit_owner *owner, unsigned version,
		     const struct unit_quadlets *quadlets, const char *name,
		     struct unit *ret) _must_check_;

enum unit_presence {
	UNIT_NAME_WRONG, /* no unit can have such a name */
	UNIT_ABSENT,	 /* neither a file nor a manager knows it */
	UNIT_UNMADE,	 /* likewise, but systemd makes such units without a file */
	UNIT_THERE_MASKED,
	UNIT_THERE,
};

/*
 * What a name stands for where a view has no settings of it; names of quadlets are known, too.
 * ret_mask: the file that masks it, which the caller frees.
 */
int unit_presence_find(const struct root *root, const struct unit_owner *owner,
		       const struct unit_view *view, const char *name, enum unit_presence *ret,
		       char **ret_mask) _must_check_;
