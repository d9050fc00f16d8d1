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
};

struct systemd_property {
	const char *name;
	int error; /* 0, or a negative errno: the object may be gone by now, or be of another
		      version; the type may be none of the above */
	enum systemd_type type;
	uint64_t number;
	const char *string;
};

/* An error it returns ends systemd_run(). */
typedef int (*systemd_property_fn)(void *userdata, const struct systemd_property *property);

/*
 * Queues a request for one property; fn is called once. Single properties, because the manager
 * works out all of an interface for GetAll, reading a dozen files in the unit's cgroup: 2.5 ms
 * for a service, measured, which 2,000 units do not have. The strings are borrowed until
 * systemd_run() has ended.
 */
int systemd_get(struct systemd *systemd, const char *path, const char *interface,
		const char *name, systemd_property_fn fn, void *userdata) _must_check_;
/*
 * Sends what is queued, a few at a time, until every request is answered. fn may queue more.
 * After an error the requests left have not been done.
 */
int systemd_run(struct systemd *systemd) _must_check_;

/* --- the journal --- */

/*
 * Sends one record; each field is "NAME=value", and a value may hold any bytes (the protocol
 * carries their length). The journal does not answer: 0 also when nobody listens.
 */
int systemd_journal_send(const char *const *fields, size_t n) _must_check_;
