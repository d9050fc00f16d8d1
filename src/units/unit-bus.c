/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-bus.h"

#include "base/str.h"
#include "base/systemd.h"
#include "units/unit-setting.h"

#include <stdio.h>

#define MANAGER "org.freedesktop.systemd1"

/* The interface of the type's own properties; NULL: units of the type have no cgroup. */
static const char *type_interface(enum unit_type type)
{
	switch (type) {
	case UNIT_SERVICE:
		return MANAGER ".Service";
	case UNIT_MOUNT:
		return MANAGER ".Mount";
	case UNIT_SWAP:
		return MANAGER ".Swap";
	case UNIT_SOCKET:
		return MANAGER ".Socket";
	case UNIT_SLICE:
		return MANAGER ".Slice";
	case UNIT_SCOPE:
		return MANAGER ".Scope";
	default:
		return NULL;
	}
}

static void live_done(struct unit_live *unit)
{
	free(unit->name);
	free(unit->object);
	free(unit->cgroup);
}

/* --- the list --- */

static int add_unit(void *userdata, const struct systemd_unit *listed)
{
	struct unit_bus *bus = userdata;
	struct unit_live unit = { .type = unit_name_type(listed->name) };

	if (unit.type < 0 || !type_interface(unit.type))
		return 0;
	if (bus->n == UNIT_BUS_MAX)
		return -EFBIG;
	if (!GROW(bus->units, bus->n, bus->alloc))
		return -ENOMEM;
	unit.name = strdup(listed->name);
	unit.object = strdup(listed->path);
	if (!unit.name || !unit.object) {
		live_done(&unit);
		return -ENOMEM;
	}
	unit.active = !streq(listed->active_state, "inactive") &&
		      !streq(listed->active_state, "failed");
	bus->units[bus->n++] = unit;
	return 0;
}

static int compare_units(const void *a, const void *b)
{
	return strcmp(((const struct unit_live *)a)->name, ((const struct unit_live *)b)->name);
}

/* "252.39-1~deb12u2" */
static int on_manager(void *userdata, const struct systemd_property *property)
{
	struct unit_bus *bus = userdata;

	if (property->type == SYSTEMD_STRING && streq(property->name, "Version"))
		(void)sscanf(property->string, "%3u", &bus->version); /* else it stays 0 */
	return 0;
}

static int on_manager_done(void *userdata _unused_, int result _unused_)
{
	return 0; /* a manager that does not say has version 0 */
}

int unit_bus_list(struct systemd *systemd, struct unit_bus *ret)
{
	static const struct systemd_handler handler = { on_manager, on_manager_done };
	_cleanup_unit_bus_ struct unit_bus bus = {};
	int r = systemd_list_units(systemd, add_unit, &bus);

	if (r >= 0)
		r = systemd_get_all(systemd, "/org/freedesktop/systemd1", MANAGER ".Manager",
				    &handler, &bus);
	if (r >= 0)
		r = systemd_run(systemd);
	if (r < 0)
		return r;
	if (bus.n > 1)
		qsort(bus.units, bus.n, sizeof(*bus.units), compare_units);
	*ret = bus;
	bus = (struct unit_bus){};
	return 0;
}

/* --- the properties --- */

/* Only a path that stays in the tree: a user's manager may say anything. */
static bool is_cgroup_path(const char *s)
{
	size_t n = strlen(s);

	return s[0] == '/' && n > 1 && n < 4096 && !strstr(s, "/../") &&
	       !str_has_suffix(s, "/..");
}

static int on_property(void *userdata, const struct systemd_property *property)
{
	struct unit_live *unit = userdata;
	const struct unit_setting *setting;

	switch (property->type) {
	case SYSTEMD_STRING:
		if (!streq(property->name, "ControlGroup") || !is_cgroup_path(property->string))
			return 0;
		free(unit->cgroup);
		unit->cgroup = strdup(property->string);
		return unit->cgroup ? 0 : -ENOMEM;
	case SYSTEMD_BOOL:
		if (streq(property->name, "NeedDaemonReload"))
			unit->need_reload = property->number;
		break;
	case SYSTEMD_U64:
		break;
	default:
		return 0;
	}
	setting = unit_setting_find(property->name);
	if (setting && setting - unit_settings < UNIT_BUS_SETTINGS) {
		unit->values[setting - unit_settings] = property->number;
		unit->known |= UINT32_C(1) << (setting - unit_settings);
	}
	return 0;
}

static int on_done(void *userdata, int result)
{
	struct unit_live *unit = userdata;

	unit->answered = result >= 0;
	return result == -ENOMEM ? result : 0;
}

int unit_bus_ask(struct systemd *systemd, struct unit_bus *bus)
{
	static const struct systemd_handler handler = { on_property, on_done };

	for (size_t i = 0; i < bus->n; i++) {
		struct unit_live *unit = &bus->units[i];
		int r;

		if (unit->ask == UNIT_ASK_NOTHING)
			continue;
		/* no interface is all of them */
		r = systemd_get_all(systemd, unit->object,
				    unit->ask == UNIT_ASK_ALL ? "" : type_interface(unit->type),
				    &handler, unit);
		if (r < 0)
			return r;
	}
	return systemd_run(systemd);
}

struct unit_live *unit_bus_find(const struct unit_bus *bus, const char *name)
{
	struct unit_live key = { .name = (char *)name };

	return bus->n > 0 ? bsearch(&key, bus->units, bus->n, sizeof(key), compare_units)
			  : NULL;
}

bool unit_live_value(const struct unit_live *unit, const struct unit_setting *setting,
		     uint64_t *ret)
{
	size_t i = (size_t)(setting - unit_settings);

	if (i >= UNIT_BUS_SETTINGS || !(unit->known & UINT32_C(1) << i))
		return false;
	*ret = unit->values[i];
	return true;
}

void unit_bus_done(struct unit_bus *bus)
{
	for (size_t i = 0; i < bus->n; i++)
		live_done(&bus->units[i]);
	free(bus->units);
	*bus = (struct unit_bus){};
}
