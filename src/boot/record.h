/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What /var/lib/memcg-policy remembers: one file per change with the bytes before and after, so
 * that it can be taken back; "pending.json" while a change is being made, "NNNN.json" after it.
 */

#include "boot/changeset.h"

#define RECORD_DIR     "/var/lib/memcg-policy"
#define RECORD_LOCK    RECORD_DIR "/lock"
#define RECORD_PENDING RECORD_DIR "/pending.json"

struct record {
	unsigned number; /* 0: pending */
	int64_t time;	 /* seconds since the epoch */
	char *version;	 /* of the tool that made it */
	char *verb;
	struct strv made; /* directories it made, outermost first */
	struct changeset changes;
	bool taken_back; /* a later change undid it */
};

/* Initialise with {}; oldest first. */
struct history {
	struct record *records;
	size_t n;
	size_t alloc;
};

/* All finished changes. One that cannot be read is a warning in diag and left out. */
int history_load(const struct root *root, struct history *ret, struct diag *diag) _must_check_;
void history_done(struct history *history);
#define _cleanup_history_ _cleanup_(history_done)

/* The interrupted change: 1 with *ret, 0 when there is none, or a negative errno with an error
 * in diag. */
int record_load_pending(const struct root *root, struct record *ret,
			struct diag *diag) _must_check_;
void record_done(struct record *record);
#define _cleanup_record_ _cleanup_(record_done)

/* Whether a change was interrupted: one look, nothing is read. */
bool record_is_pending(const struct root *root);

/* Writes the pending record, on the disk when this returns. */
int record_begin(const struct root *root, const struct changeset *cs, const char *verb,
		 const struct strv *made) _must_check_;
/* The pending record becomes the next number of the history. */
int record_commit(const struct root *root) _must_check_;
/* The pending record goes: everything was put back. */
int record_forget(const struct root *root) _must_check_;

/* The lock that every writing run holds, waiting for another one for a while: *ret_fd, or
 * -EWOULDBLOCK with an error in diag. */
int record_lock(const struct root *root, int *ret_fd, struct diag *diag) _must_check_;
