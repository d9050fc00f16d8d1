/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All units of one manager that have to do with the memory controller, from their files. */

#include "base/macro.h"
#include "units/unit-load.h"
#include "units/unit-quadlet.h"

struct diag;
struct root;

/* Initialise with {}. */
struct units {
	struct unit *items; /* sorted by name; those with memory settings, set or rejected */
	size_t n;
	struct unit_quadlets quadlets;
	unsigned version; /* systemd's, 0: could not be told */
	bool live;	  /* generators' units are among them */
	bool user;
	bool undelegated; /* of a user manager: user@.service does not hand memory on */
	bool incomplete;  /* more files than are looked at; diag says so */
	bool unreadable;  /* files that this process may not read; likewise */
};

/*
 * Reads the files of a manager; what is odd about them goes to diag as warnings. loaded, unless
 * NULL, are names that the manager has loaded: instances among them are in no file.
 */
int units_load(const struct root *root, const struct unit_owner *owner,
	       const struct strv *loaded, struct units *ret, struct diag *diag) _must_check_;
void units_done(struct units *units);
#define _cleanup_units_ _cleanup_(units_done)

/* By canonical name, or NULL. */
const struct unit *units_find(const struct units *units, const char *name) _pure_;

/* The root's systemd: 252, or 0 when it cannot be told. */
int units_systemd_version(const struct root *root, unsigned *ret) _must_check_;

const char *unit_enabled_to_string(enum unit_enabled enabled) _pure_;
