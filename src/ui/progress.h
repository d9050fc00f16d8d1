/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One line on standard error that is drawn over and over; nothing where that is no terminal. */

#include "base/macro.h"

struct args;

struct progress {
	bool on, drawn;
	uint64_t last_ms;
};

void progress_init(struct progress *progress, const struct args *args);
/* done is 0 to 1; left_s NAN: not known. Draws at most ten times a second. */
void progress_show(struct progress *progress, const char *what, double done, double left_s);
/* Takes the line away. */
void progress_clear(struct progress *progress);
