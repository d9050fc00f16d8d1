/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One unit file or drop-in, applied to a unit: conf-parser.c and load-fragment.c. */

#include "base/macro.h"

#include <stddef.h>

struct diag;
struct unit;

/* messages kept about the files of all units; more are no help */
enum { UNIT_PARSE_MAX_MESSAGES = 1000 };

struct unit_parse {
	const char *text;
	size_t size;
	bool cut; /* the text ends before the file does */
	bool dropin;
	size_t source;	  /* index of the file in the unit's sources */
	unsigned version; /* systemd's, 0: unknown */
	struct diag *diag;
};

/*
 * Applies the text. What a fragment fails by becomes the unit's state and failure; a drop-in
 * keeps what stands before. 0 or -ENOMEM.
 */
int unit_parse(const struct unit_parse *parse, struct unit *unit) _must_check_;

/* Not all of the unit's files were read: what its settings are cannot be told. 0 or -ENOMEM. */
int unit_parse_give_up(struct unit *unit, const char *reason) _must_check_;
