/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What "warn" tells the journal: one record for each unit that lost a setting, and what it told
 * already in this boot. Nothing here sends or reads a file.
 */

#include "base/macro.h"
#include "base/str.h"

struct root;
struct unit_view;

/* One record. Its fields are those of the journal, "NAME=value". */
struct warn_record {
	char *key;     /* by which a repetition is known: a unit's name, or "*summary" */
	char *message; /* the text alone, escaped */
	unsigned priority;
	struct strv fields;
	uint64_t digest; /* of all fields */
	bool told;	 /* the same was told in this boot */
};

/* Initialise with {}. */
struct warn_records {
	struct warn_record *items;
	size_t n;
	size_t alloc;
};

/*
 * Adds the records of a manager's view: its units, each once, and the summary if there is any.
 * root is asked whether a unit was kept from starting by FailClosed=.
 */
int warn_add_units(struct warn_records *records, const struct root *root,
		   const struct unit_view *view) _must_check_;
/* The kernel runs otherwise than decided, although the boot configuration agrees. The words are
 * those of JSON: "on", "off", "unavailable". */
int warn_add_difference(struct warn_records *records, const char *decision,
			const char *running) _must_check_;

/*
 * The memory of a boot: a line "DIGEST KEY" for each record. Marks the records that are in it;
 * what cannot be read there was not told.
 */
int warn_recall(struct warn_records *records, const char *memory) _must_check_;
/* What to remember: the records that are there now, told or not. */
int warn_remember(const struct warn_records *records, char **ret) _must_check_;

void warn_records_done(struct warn_records *records);
#define _cleanup_warn_records_ _cleanup_(warn_records_done)
