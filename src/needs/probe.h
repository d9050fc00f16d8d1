/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Runs the rules of one detector: installed, in use, with what evidence. */

#include "base/macro.h"

struct detector;
struct look;
struct need;

/* Fills the state and the evidence of need, whose fixed parts are there. 0 or -ENOMEM. */
int probe_run(struct look *look, const struct detector *detector,
	      struct need *need) _must_check_;
