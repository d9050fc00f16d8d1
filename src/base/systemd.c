/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/systemd.h"

#if HAVE_LIBSYSTEMD

#include "base/dlopen.h"
#include "base/str.h"

/* sd_journal_sendv() is the function of that name */
#define SD_JOURNAL_SUPPRESS_LOCATION

#include <sys/uio.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-journal.h>
#include <time.h>

#define SYMBOLS(_)                        \
	_(sd_bus_new)                     \
	_(sd_bus_set_address)             \
	_(sd_bus_set_bus_client)          \
	_(sd_bus_start)                   \
	_(sd_bus_close_unref)             \
	_(sd_bus_process)                 \
	_(sd_bus_wait)                    \
	_(sd_bus_message_new_method_call) \
	_(sd_bus_message_append_basic)    \
	_(sd_bus_call_async)              \
	_(sd_bus_message_unref)           \
	_(sd_bus_message_get_errno)       \
	_(sd_bus_message_is_method_error) \
	_(sd_bus_message_enter_container) \
	_(sd_bus_message_exit_container)  \
	_(sd_bus_message_peek_type)       \
	_(sd_bus_message_read)            \
	_(sd_bus_message_read_basic)      \
	_(sd_journal_sendv)
DLOPEN_LIBRARY(libsystemd, "suggested", "libsystemd.so.0", "systemd",
	       "live units by D-Bus and records in the journal", SYMBOLS);

#define MANAGER "org.freedesktop.systemd1"

enum {
	/* requests under way: enough to keep both sides busy, small for a bus's queues */
	WINDOW = 128,
};

struct request {
	const char *path;
	const char *interface;
	const char *name;
	systemd_property_fn fn;
	void *userdata;
	struct systemd *systemd;
};

struct systemd {
	struct libsystemd lib;
	sd_bus *bus;
	uint64_t deadline_us;
	int result;		   /* once it failed, it is over: nobody is called any more */
	struct request **requests; /* all there ever were */
	size_t n;
	size_t alloc;
	size_t sent;	    /* so many of them, from the front */
	size_t outstanding; /* calls without an answer */
};

static uint64_t now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void fail(struct systemd *systemd, int error)
{
	if (systemd->result >= 0)
		systemd->result = error;
}

int systemd_open_address(const char *address, bool bus, unsigned timeout_ms,
			 struct systemd **ret)
{
	_cleanup_systemd_ struct systemd *systemd = calloc(1, sizeof(*systemd));
	int r;

	if (!systemd)
		return -ENOMEM;
	systemd->deadline_us = now_us() + (uint64_t)timeout_ms * 1000;
	r = libsystemd_open(&systemd->lib);
	if (r < 0)
		return r;
	r = systemd->lib.sd_bus_new(&systemd->bus);
	if (r >= 0)
		r = systemd->lib.sd_bus_set_address(systemd->bus, address);
	if (r >= 0)
		r = systemd->lib.sd_bus_set_bus_client(systemd->bus, bus);
	if (r >= 0)
		r = systemd->lib.sd_bus_start(systemd->bus);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(systemd);
	return 0;
}

int systemd_open(unsigned timeout_ms, struct systemd **ret)
{
	if (geteuid() == 0 &&
	    systemd_open_address("unix:path=/run/systemd/private", false, timeout_ms, ret) >= 0)
		return 0;
	return systemd_open_address("unix:path=/run/dbus/system_bus_socket", true, timeout_ms,
				    ret);
}

int systemd_open_user(uid_t uid, unsigned timeout_ms, struct systemd **ret)
{
	_cleanup_free_ char *address = NULL;
	int r = str_printf(&address, "unix:path=/run/user/%u/systemd/private", (unsigned)uid);

	return r < 0 ? r : systemd_open_address(address, false, timeout_ms, ret);
}

struct systemd *systemd_free(struct systemd *systemd)
{
	if (systemd) {
		/* nothing is flushed, that could hang, and nobody is called back */
		if (systemd->bus)
			systemd->lib.sd_bus_close_unref(systemd->bus);
		for (size_t i = 0; i < systemd->n; i++)
			free(systemd->requests[i]);
		free(systemd->requests);
		free(systemd);
	}
	return NULL;
}

/* Lets the connection work until nothing is under way, or at most so much. */
static int process(struct systemd *systemd, size_t outstanding)
{
	while (systemd->outstanding > outstanding && systemd->result >= 0) {
		uint64_t now = now_us();
		int r = -ETIMEDOUT;

		if (now < systemd->deadline_us)
			r = systemd->lib.sd_bus_process(systemd->bus, NULL);
		if (r == 0)
			r = systemd->lib.sd_bus_wait(systemd->bus, systemd->deadline_us - now);
		if (r < 0 && r != -EINTR)
			fail(systemd, r);
	}
	return systemd->result;
}

/* An error reply or a lost connection as negative errno. */
static int reply_error(const struct systemd *systemd, sd_bus_message *reply)
{
	int r;

	if (!systemd->lib.sd_bus_message_is_method_error(reply, NULL))
		return 0;
	r = systemd->lib.sd_bus_message_get_errno(reply);
	return r > 0 ? -r : -EIO;
}

/* --- ListUnits --- */

struct listing {
	struct systemd *systemd;
	systemd_unit_fn unit;
	void *userdata;
};

static int read_units(const struct listing *listing, sd_bus_message *reply)
{
	const struct libsystemd *lib = &listing->systemd->lib;
	int r = lib->sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");

	while (r >= 0) {
		struct systemd_unit unit;

		r = lib->sd_bus_message_read(reply, "(ssssssouso)", &unit.name, NULL,
					     &unit.load_state, &unit.active_state, NULL, NULL,
					     &unit.path, NULL, NULL, NULL);
		if (r <= 0)
			break;
		r = listing->unit(listing->userdata, &unit);
	}
	return r;
}

static int on_units(sd_bus_message *reply, void *userdata, sd_bus_error *error _unused_)
{
	const struct listing *listing = userdata;
	int r = reply_error(listing->systemd, reply);

	if (r >= 0)
		r = read_units(listing, reply);
	listing->systemd->outstanding--;
	if (r < 0)
		fail(listing->systemd, r);
	return 0;
}

int systemd_list_units(struct systemd *systemd, systemd_unit_fn unit, void *userdata)
{
	const struct libsystemd *lib = &systemd->lib;
	struct listing listing = { systemd, unit, userdata };
	sd_bus_message *call = NULL;
	int r;

	r = lib->sd_bus_message_new_method_call(systemd->bus, &call, MANAGER,
						"/org/freedesktop/systemd1", MANAGER ".Manager",
						"ListUnits");
	if (r >= 0)
		r = lib->sd_bus_call_async(systemd->bus, NULL, call, on_units, &listing,
					   UINT64_MAX);
	lib->sd_bus_message_unref(call);
	if (r < 0)
		return r;
	systemd->outstanding++;
	return process(systemd, 0);
}

/* --- Get --- */

/* Inside the variant. */
static int read_value(const struct libsystemd *lib, sd_bus_message *reply, const char *type,
		      struct systemd_property *property)
{
	uint32_t u32 = 0;
	int flag = 0, r;

	if (streq(type, "b")) {
		property->type = SYSTEMD_BOOL;
		r = lib->sd_bus_message_read_basic(reply, 'b', &flag);
		property->number = (uint64_t)flag;
	} else if (streq(type, "u")) {
		property->type = SYSTEMD_U32;
		r = lib->sd_bus_message_read_basic(reply, 'u', &u32);
		property->number = u32;
	} else if (streq(type, "t")) {
		property->type = SYSTEMD_U64;
		r = lib->sd_bus_message_read_basic(reply, 't', &property->number);
	} else if (streq(type, "s")) {
		property->type = SYSTEMD_STRING;
		r = lib->sd_bus_message_read_basic(reply, 's', &property->string);
	} else
		return -EBADMSG;
	return MIN(r, 0);
}

static int read_property(const struct libsystemd *lib, sd_bus_message *reply,
			 struct systemd_property *property)
{
	const char *type;
	char kind;
	int r = lib->sd_bus_message_peek_type(reply, &kind, &type);

	if (r >= 0 && kind != 'v')
		r = -EBADMSG;
	if (r >= 0)
		r = lib->sd_bus_message_enter_container(reply, 'v', type);
	return r < 0 ? r : read_value(lib, reply, type, property);
}

static int on_property(sd_bus_message *reply, void *userdata, sd_bus_error *error _unused_)
{
	const struct request *request = userdata;
	struct systemd *systemd = request->systemd;
	struct systemd_property property = { .name = request->name };
	int r;

	property.error = reply_error(systemd, reply);
	systemd->outstanding--;
	/*
	 * What libsystemd makes up for calls under way when a connection ends: NoReply, which
	 * may be the manager's too, and from 262 on Disconnected.
	 */
	if (property.error == -ETIMEDOUT || property.error == -ECONNRESET)
		fail(systemd, property.error);
	if (property.error >= 0)
		property.error = read_property(&systemd->lib, reply, &property);
	r = request->fn(request->userdata, &property);
	if (r < 0)
		fail(systemd, r);
	return 0;
}

int systemd_get(struct systemd *systemd, const char *path, const char *interface,
		const char *name, systemd_property_fn fn, void *userdata)
{
	_cleanup_free_ struct request *request = malloc(sizeof(*request));

	if (!request || !GROW(systemd->requests, systemd->n, systemd->alloc))
		return -ENOMEM;
	*request = (struct request){ path, interface, name, fn, userdata, systemd };
	systemd->requests[systemd->n++] = TAKE_PTR(request);
	return 0;
}

static int send(struct systemd *systemd, struct request *request)
{
	const struct libsystemd *lib = &systemd->lib;
	sd_bus_message *call = NULL;
	int r = lib->sd_bus_message_new_method_call(systemd->bus, &call, MANAGER, request->path,
						    "org.freedesktop.DBus.Properties", "Get");

	if (r >= 0)
		r = lib->sd_bus_message_append_basic(call, 's', request->interface);
	if (r >= 0)
		r = lib->sd_bus_message_append_basic(call, 's', request->name);
	if (r >= 0)
		r = lib->sd_bus_call_async(systemd->bus, NULL, call, on_property, request,
					   UINT64_MAX);
	lib->sd_bus_message_unref(call);
	return r;
}

int systemd_run(struct systemd *systemd)
{
	int r = systemd->result;

	while (r >= 0 && (systemd->sent < systemd->n || systemd->outstanding > 0)) {
		while (r >= 0 && systemd->sent < systemd->n && systemd->outstanding < WINDOW) {
			r = send(systemd, systemd->requests[systemd->sent]);
			if (r < 0)
				break;
			systemd->sent++;
			systemd->outstanding++;
		}
		if (r < 0)
			fail(systemd, r);
		else
			r = process(systemd, systemd->sent < systemd->n ? WINDOW - 1 : 0);
	}
	return r;
}

/* --- the journal --- */

int systemd_journal_send(const char *const *fields, size_t n)
{
	_cleanup_free_ struct iovec *vectors = calloc(n, sizeof(*vectors));
	struct libsystemd lib;
	int r;

	if (!vectors)
		return -ENOMEM;
	r = libsystemd_open(&lib);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		vectors[i] = (struct iovec){ (char *)fields[i], strlen(fields[i]) };
	return lib.sd_journal_sendv(vectors, (int)n);
}

#else

int systemd_open(unsigned timeout_ms _unused_, struct systemd **ret _unused_)
{
	return -EOPNOTSUPP;
}

int systemd_open_user(uid_t uid _unused_, unsigned timeout_ms _unused_,
		      struct systemd **ret _unused_)
{
	return -EOPNOTSUPP;
}

int systemd_open_address(const char *address _unused_, bool bus _unused_,
			 unsigned timeout_ms _unused_, struct systemd **ret _unused_)
{
	return -EOPNOTSUPP;
}

struct systemd *systemd_free(struct systemd *systemd _unused_)
{
	return NULL;
}

int systemd_list_units(struct systemd *systemd _unused_, systemd_unit_fn unit _unused_,
		       void *userdata _unused_)
{
	return -EOPNOTSUPP;
}

int systemd_get(struct systemd *systemd _unused_, const char *path _unused_,
		const char *interface _unused_, const char *name _unused_,
		systemd_property_fn fn _unused_, void *userdata _unused_)
{
	return -EOPNOTSUPP;
}

int systemd_run(struct systemd *systemd _unused_)
{
	return -EOPNOTSUPP;
}

int systemd_journal_send(const char *const *fields _unused_, size_t n _unused_)
{
	return -EOPNOTSUPP;
}

#endif
