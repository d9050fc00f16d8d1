/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A running systemd: its manager by D-Bus and its journal, by libsystemd, whose only user this
 * is. -EOPNOTSUPP from the functions that open something: the library is not there.
 */

#include "base/macro.h"

#include <sys/types.h>

/* --- the manager --- */

struct systemd;

/*
 * Connects to the system manager: root by its private socket as systemctl does, so that a bus
 * that hangs or is not up does not matter; others, and root where that socket is not there, by
 * the system bus. Addresses are fixed, the environment cannot redirect them.
 *
 * timeout_ms is the time all calls on this connection may take together, from now on. Calls
 * return -ETIMEDOUT when it is up, -ECONNRESET and the like when the other side is gone.
 */
int systemd_open(unsigned timeout_ms, struct systemd **ret) _must_check_;
/* The manager of a user: the caller's own, or for root anyone's. */
int systemd_open_user(uid_t uid, unsigned timeout_ms, struct systemd **ret) _must_check_;
/* The one behind a D-Bus address; bus: by a message bus, not directly. */
int systemd_open_address(const char *address, bool bus, unsigned timeout_ms,
			 struct systemd **ret) _must_check_;
struct systemd *systemd_free(struct systemd *systemd);
DEFINE_CLEANUP(struct systemd *, systemd_free);
#define _cleanup_systemd_ _cleanup_(systemd_freep)

/* A loaded unit; the strings are borrowed for the time of the call. */
struct systemd_unit {
	const char *name;
	const char *load_state;
	const char *active_state;
	const char *path; /* D-Bus object */
};

/* Called for each loaded unit until it returns an error, which is then the result. */
typedef int (*systemd_unit_fn)(void *userdata, const struct systemd_unit *unit);
int systemd_list_units(struct systemd *systemd, systemd_unit_fn unit,
		       void *userdata) _must_check_;

enum systemd_type {
	SYSTEMD_BOOL,
	SYSTEMD_U32,
	SYSTEMD_U64,
	SYSTEMD_STRING,
	SYSTEMD_STRV, /* string: once per item, and once with NULL before the first */
};

struct systemd_property {
	const char *name;
	enum systemd_type type;
	uint64_t number;
	const char *string;
};

/*
 * Queues a request for all properties of one interface of an object. property is called for
 * each one of a type above, then done once, with 0 or the error of this request (the object may
 * be gone by now). Either may return an error, which ends systemd_run(). path and interface are
 * copied, handler and userdata borrowed.
 */
struct systemd_handler {
	int (*property)(void *userdata, const struct systemd_property *property);
	int (*done)(void *userdata, int result);
};
int systemd_get_all(struct systemd *systemd, const char *path, const char *interface,
		    const struct systemd_handler *handler, void *userdata) _must_check_;
/*
 * Sends what is queued, a few at a time, until every request is answered. Handlers may queue
 * more. After an error the requests left have not been done.
 */
int systemd_run(struct systemd *systemd) _must_check_;

/* --- the journal --- */

/*
 * Sends one record; each field is "NAME=value", and a value may hold any bytes (the protocol
 * carries their length). The journal does not answer: 0 also when nobody listens.
 */
int systemd_journal_send(const char *const *fields, size_t n) _must_check_;
