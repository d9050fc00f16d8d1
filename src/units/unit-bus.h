/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a running manager has loaded, by D-Bus: which units, whether they run, their cgroups and
 * the values it works with. That it has a value does not mean that the kernel holds it:
 * unit-cgroup.h. Where a value was written is in no message: unit-load.h.
 */

#include "base/macro.h"
#include "units/unit-name.h"

struct systemd;
struct unit_setting;

enum { UNIT_BUS_SETTINGS = 32, UNIT_BUS_MAX = 200000 };

struct unit_live {
	char *name;
	char *object; /* D-Bus path */
	enum unit_type type;
	bool active; /* neither inactive nor failed */

	/* what unit_bus_ask() asks next; each one costs */
	bool ask_cgroup;
	bool ask_reload;
	uint32_t ask_settings; /* bits as in known */

	bool answered; /* at least one of these */
	char *cgroup;  /* inside the tree, or NULL: it has none now */
	bool need_reload;
	/* by place in unit_settings[], of those with a number or a boolean as value */
	uint64_t values[UNIT_BUS_SETTINGS];
	uint32_t known;
};

/* Initialise with {}. */
struct unit_bus {
	struct unit_live *units; /* of the types with a cgroup; sorted by name */
	size_t n;
	size_t alloc;
	unsigned version; /* of systemd; 0: unknown */
};

/* Lists what is loaded. Names that are none are passed over, -EFBIG above UNIT_BUS_MAX. */
int unit_bus_list(struct systemd *systemd, struct unit_bus *ret) _must_check_;
/*
 * Asks what is marked in the units, all at once, and takes the marks off. An error (-ETIMEDOUT,
 * a lost connection) leaves what was answered until then in place. A unit that is gone is no
 * error and not answered.
 */
int unit_bus_ask(struct systemd *systemd, struct unit_bus *bus) _must_check_;
/* NULL: not loaded. */
struct unit_live *unit_bus_find(const struct unit_bus *bus, const char *name) _pure_;
/* The bit of a setting, 0 of one that is not asked for. */
uint32_t unit_live_bit(const struct unit_setting *setting) _pure_;
/* The manager's number for a setting: UINT64_MAX is infinity. False: it did not say. */
bool unit_live_value(const struct unit_live *unit, const struct unit_setting *setting,
		     uint64_t *ret);
void unit_bus_done(struct unit_bus *bus);
#define _cleanup_unit_bus_ _cleanup_(unit_bus_done)
