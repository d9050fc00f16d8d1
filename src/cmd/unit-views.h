/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The managers that "units" was asked about, each with its view. */

#include "base/macro.h"
#include "units/unit-live.h"

#include <sys/types.h>

struct cmd;
struct diag;
struct host;

/* Nobody in particular: the system manager, or what every user manager sees. */
#define UNIT_VIEWS_NO_USER ((uid_t)-1)

/* Initialise with {}. */
struct unit_views {
	struct unit_views_item {
		uid_t user;
		struct unit_owner owner; /* its strings are the item's */
		struct unit_view view;
	} * items;
	size_t n;
};

/*
 * By --user and --all-users. On a live system the managers are asked; one that cannot be is
 * judged by its files, with a notice in diag.
 */
int unit_views_load(const struct cmd *cmd, const struct host *host, struct unit_views *ret,
		    struct diag *diag) _must_check_;
void unit_views_done(struct unit_views *views);
#define _cleanup_unit_views_ _cleanup_(unit_views_done)
