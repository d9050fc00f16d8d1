/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Taking changes back: by bytes where a file still is what we wrote, else by our words. */

#include "boot/boot.h"
#include "boot/record.h"

enum undo_what {
	UNDO_LAST, /* the last change that was not taken back */
	UNDO_ALL,  /* all of them, and what is ours without a record */
};

/*
 * Adds the reverse to cs, and what has to follow. 1, or 0 when there is nothing to take back
 * (for UNDO_LAST). A negative errno with an error in diag.
 */
int undo_plan(const struct boot *boot, const struct boot_state *state,
	      const struct history *history, enum undo_what what, struct changeset *cs,
	      struct diag *diag) _must_check_;
