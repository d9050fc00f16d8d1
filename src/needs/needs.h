/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Runs the catalogue of needs.d/ *.conf against a root. */

#include "base/macro.h"
#include "policy/need.h"

struct decision_reason;
struct diag;
struct root;
struct running;
struct units;

/*
 * Fills ret with every need that is installed, in use, or could not be told. A detector that
 * fails is a warning in diag and leaves its answer unknown. Only -ENOMEM is an error.
 * running, unless NULL, says where cgroups with limits are to be looked for (CgroupLimit=);
 * units are the system's, if the caller has them: they are loaded otherwise, should a rule ask.
 */
int needs_find(const struct root *root, const struct running *running,
	       const struct units *units, struct needs *ret, struct diag *diag) _must_check_;

/*
 * Answers Role=auto: container-host, desktop or server, with what was seen. ret_role is a
 * string constant or owned by needs; ret_reason is owned by the caller.
 */
int needs_guess_role(const struct root *root, const struct needs *needs, const char **ret_role,
		     struct decision_reason *ret_reason) _must_check_;
