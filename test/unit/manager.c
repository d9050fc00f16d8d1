/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "manager.h"

#include "base/str.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct server {
	enum manager_mood mood;
	const struct manager_unit *units;
	size_t n;
	unsigned answers;
};

/* The server's own errors end its process, which fails the test by silence. */
static void must(int r)
{
	if (r < 0) {
		fprintf(stderr, "manager: %s\n", strerror(-r));
		_exit(1);
	}
}

static void append_value(sd_bus_message *m, const char *type, const char *value)
{
	if (streq(type, "s"))
		must(sd_bus_message_append(m, "v", "s", value));
	else if (streq(type, "b"))
		must(sd_bus_message_append(m, "v", "b", atoi(value)));
	else if (streq(type, "u"))
		must(sd_bus_message_append(m, "v", "u", (uint32_t)strtoul(value, NULL, 10)));
	else if (streq(type, "t"))
		must(sd_bus_message_append(m, "v", "t", (uint64_t)strtoull(value, NULL, 10)));
	else
		must(sd_bus_message_append(m, "v", "a(st)", 1, "odd", (uint64_t)1));
}

/* False: there is no such property. */
static bool append_property(sd_bus_message *m, const struct manager_unit *unit,
			    const char *interface, const char *name)
{
	_cleanup_free_ char *text = strdup(unit->properties ?: "");
	char *rest = NULL;

	must(text ? 0 : -ENOMEM);
	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *dot = strchr(line, '.'), *type = strchr(line, ' ');
		char *value = type ? strchr(type + 1, ' ') : NULL;

		must(dot && value ? 0 : -EINVAL);
		*dot = *type = *value = 0;
		if (!str_has_suffix(interface, line) || !streq(dot + 1, name))
			continue;
		append_value(m, type + 1, value + 1);
		return true;
	}
	return false;
}

static void append_units(sd_bus_message *m, const struct server *server)
{
	must(sd_bus_message_open_container(m, 'a', "(ssssssouso)"));
	for (size_t i = 0; i < server->n; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/org/freedesktop/systemd1/unit/%zu", i);
		must(sd_bus_message_append(m, "(ssssssouso)", server->units[i].name, "text",
					   "loaded", server->units[i].active_state, "sub", "",
					   path, 0, "", "/"));
	}
	must(sd_bus_message_close_container(m));
}

static int on_call(sd_bus_message *call, void *userdata, sd_bus_error *error _unused_)
{
	struct server *server = userdata;
	sd_bus_message *m = NULL;
	const char *interface = NULL, *name = NULL, *refusal = NULL;
	size_t i;

	if (!sd_bus_message_is_method_call(call, NULL, NULL) ||
	    server->mood == MANAGER_NEVER_LISTS)
		return 1;
	if (server->mood == MANAGER_HANGS && server->answers > 3)
		return 1;
	if (server->mood == MANAGER_GOES && server->answers > 3)
		_exit(0);
	server->answers++;
	must(sd_bus_message_new_method_return(call, &m));
	if (sd_bus_message_is_method_call(call, "org.freedesktop.systemd1.Manager",
					  "ListUnits")) {
		append_units(m, server);
	} else {
		i = strtoul(strrchr(sd_bus_message_get_path(call), '/') + 1, NULL, 10);
		must(sd_bus_message_read(call, "ss", &interface, &name));
		if (server->mood == MANAGER_FORGETS_UNITS && i % 2 == 1)
			refusal = SD_BUS_ERROR_UNKNOWN_OBJECT;
		else if (server->mood == MANAGER_TALKS_NONSENSE && i % 2 == 1)
			must(sd_bus_message_append(m, "as", 1, "nonsense"));
		else if (!append_property(m, &server->units[i], interface, name))
			refusal = SD_BUS_ERROR_UNKNOWN_PROPERTY;
		if (refusal) {
			sd_bus_message_unref(m);
			must(sd_bus_reply_method_errorf(call, refusal, "Unknown"));
			return 1;
		}
	}
	must(sd_bus_send(NULL, m, NULL));
	sd_bus_message_unref(m);
	return 1;
}

static _Noreturn void serve(int listener, struct server *server)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	sd_id128_t id = { .qwords = { 1, 2 } };
	sd_bus *bus = NULL;
	int r;

	must(fd < 0 ? -errno : 0);
	while (server->mood == MANAGER_NEVER_READS)
		(void)pause();
	must(sd_bus_new(&bus));
	must(sd_bus_set_fd(bus, fd, fd));
	must(sd_bus_set_server(bus, 1, id));
	must(sd_bus_start(bus));
	must(sd_bus_add_filter(bus, NULL, on_call, server));
	do {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, UINT64_MAX);
	} while (r >= 0 || r == -EINTR);
	_exit(0);
}

void manager_start(struct manager *manager, enum manager_mood mood,
		   const struct manager_unit *units, size_t n)
{
	struct server server = { mood, units, n, 0 };
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/test-manager-XXXXXX";
	int listener;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(manager->path, sizeof(manager->path), "%s/socket", dir);
	(void)snprintf(manager->address, sizeof(manager->address), "unix:path=%s",
		       manager->path);
	strcpy(name.sun_path, manager->path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(listener, 1), 0);
	manager->pid = fork();
	assert_true(manager->pid >= 0);
	if (manager->pid == 0)
		serve(listener, &server);
	(void)close(listener); /* the child has it */
}

void manager_stop(struct manager *manager)
{
	(void)kill(manager->pid, SIGKILL);
	(void)waitpid(manager->pid, NULL, 0);
	(void)unlink(manager->path);
	*strrchr(manager->path, '/') = 0;
	(void)rmdir(manager->path);
}
