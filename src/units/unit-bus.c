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

/* "252.39-1~deb12u2"; a manager that does not say has version 0 */
static int on_version(void *userdata, const struct systemd_property *property)
{
	struct unit_bus *bus = userdata;

	if (property->error >= 0 && property->type == SYSTEMD_STRING)
		(void)sscanf(property->string, "%3u", &bus->version); /* else it stays 0 */
	return 0;
}

int unit_bus_list(struct systemd *systemd, struct unit_bus *ret)
{
	_cleanup_unit_bus_ struct unit_bus bus = {};
	int r = systemd_list_units(systemd, add_unit, &bus);

	if (r >= 0)
		r = systemd_get(systemd, "/org/freedesktop/systemd1", MANAGER ".Manager",
				"Version", on_version, &bus);
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

static int on_cgroup(void *userdata, const struct systemd_property *property)
{
	struct unit_live *unit = userdata;

	if (property->error < 0)
		return 0;
	unit->answered = true;
	if (property->type != SYSTEMD_STRING || !is_cgroup_path(property->string))
		return 0;
	free(unit->cgroup);
	unit->cgroup = strdup(property->string);
	return unit->cgroup ? 0 : -ENOMEM;
}

static int on_reload(void *userdata, const struct systemd_property *property)
{
	struct unit_live *unit = userdata;

	if (property->error < 0)
		return 0;
	unit->answered = true;
	unit->need_reload = property->type == SYSTEMD_BOOL && property->number;
	return 0;
}

/* One that this version does not have is not known. */
static int on_setting(void *userdata, const struct systemd_property *property)
{
	struct unit_live *unit = userdata;
	const struct unit_setting *setting = unit_setting_find(property->name);

	if (property->error < 0)
		return 0;
	unit->answered = true;
	if (property->type != SYSTEMD_U64 && property->type != SYSTEMD_BOOL)
		return 0;
	unit->values[setting - unit_settings] = property->number;
	unit->known |= unit_live_bit(setting);
	return 0;
}

static int ask_unit(struct systemd *systemd, struct unit_live *unit)
{
	const char *interface = type_interface(unit->type);
	int r = 0;

	if (unit->ask_cgroup)
		r = systemd_get(systemd, unit->object, interface, "ControlGroup", on_cgroup,
				unit);
	if (r >= 0 && unit->ask_reload)
		r = systemd_get(systemd, unit->object, MANAGER ".Unit", "NeedDaemonReload",
				on_reload, unit);
	for (size_t i = 0; r >= 0 && i < unit_n_settings; i++)
		if (unit->ask_settings & unit_live_bit(&unit_settings[i]))
			r = systemd_get(systemd, unit->object, interface, unit_settings[i].name,
					on_setting, unit);
	unit->ask_cgroup = unit->ask_reload = false;
	unit->ask_settings = 0;
	return r;
}

int unit_bus_ask(struct systemd *systemd, struct unit_bus *bus)
{
	for (size_t i = 0; i < bus->n; i++) {
		int r = ask_unit(systemd, &bus->units[i]);

		if (r < 0)
			return r;
	}
	return systemd_run(systemd);
}

uint32_t unit_live_bit(const struct unit_setting *setting)
{
	size_t i = (size_t)(setting - unit_settings);
	bool number = setting->form == UNIT_VALUE_SIZE || setting->form == UNIT_VALUE_BOOL;

	return number && i < UNIT_BUS_SETTINGS ? UINT32_C(1) << i : 0;
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
	if (!(unit->known & unit_live_bit(setting)))
		return false;
	*ret = unit->values[setting - unit_settings];
	return true;
}

void unit_bus_done(struct unit_bus *bus)
{
	for (size_t i = 0; i < bus->n; i++)
		live_done(&bus->units[i]);
	free(bus->units);
	*bus = (struct unit_bus){};
}
