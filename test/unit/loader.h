/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One change by the backend that a throw-away root is found to have. */

#include "tree.h"

#include "base/diag.h"
#include "boot/boot.h"

struct loader_result {
	int r; /* enum changeset_result, or a negative errno */
	char *backend;
	char *commands; /* "argv joined by blanks\n"..., as planned */
	struct diag diag;
};

/* Probes, reads, plans and applies. want may be BOOT_WANT_NOTHING. */
struct loader_result loader_run(const struct tree *tree, enum boot_want want);
void loader_result_done(struct loader_result *result);

/* "id request if_booted default ours|...", in order. */
char *loader_entries(const struct tree *tree);
