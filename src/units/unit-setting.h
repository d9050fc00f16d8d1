/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The one table of unit settings that need the memory controller (exact names: a prefix
 * "Memory" would catch MemoryDenyWriteExecute= and its like, which have nothing to do with it).
 * Versions are systemd's first release with the setting, and the first that reads over it.
 */

#include "base/macro.h"
#include "units/unit-name.h"
#include "units/unit-value.h"

enum unit_setting_kind {
	UNIT_LIMIT,
	UNIT_PROTECTION,
	UNIT_OOMD, /* what happens when memory runs out */
	UNIT_ACCOUNTING,
	UNIT_DELEGATION,
	_UNIT_SETTING_KIND_MAX,
};

enum unit_value_form {
	UNIT_VALUE_SIZE,
	UNIT_VALUE_BOOL,
	UNIT_VALUE_OOM_MODE,	/* auto, kill */
	UNIT_VALUE_OOM_SHARE,	/* a percentage */
	UNIT_VALUE_OOM_SPAN,	/* a time of at least a second */
	UNIT_VALUE_PREFERENCE,	/* none, avoid, omit */
	UNIT_VALUE_OOM_POLICY,	/* continue, stop, kill */
	UNIT_VALUE_OOM_RULES,	/* names, a list that grows */
	UNIT_VALUE_DELEGATE,	/* a boolean or a list that grows */
	UNIT_VALUE_CONTROLLERS, /* a list that grows */
	UNIT_VALUE_CONDITION,
};

struct unit_setting {
	const char *name;
	enum unit_setting_kind kind;
	enum unit_value_form form;
	unsigned since;
	unsigned ignored_since; /* 0: never */
	unsigned types;		/* 1 << enum unit_type: where it has an effect */
	bool zero_allowed;	/* of a size */
	const char *file;	/* of the unit's cgroup (v2) that holds it, or NULL */
};

extern const struct unit_setting unit_settings[];
extern const size_t unit_n_settings;

const char *unit_setting_kind_to_string(enum unit_setting_kind kind) _pure_;
/* By exact name, or NULL. */
const struct unit_setting *unit_setting_find(const char *name) _pure_;

/* The first systemd with the setting for units of that type. */
unsigned unit_setting_since(const struct unit_setting *setting, enum unit_type type) _pure_;

/* One assignment's meaning. */
struct unit_parsed {
	bool active; /* false: the default, or nothing that concerns memory */
	struct unit_size size;
};

/*
 * What an assignment makes of a setting, before being what it was until then (its active
 * matters to lists). -EINVAL or -ERANGE when systemd rejects the value and before stays;
 * -EOPNOTSUPP when units of that type cannot have it; -ENOMEM.
 */
int unit_setting_parse(const struct unit_setting *setting, enum unit_type type,
		       const char *value, unsigned version, const struct unit_parsed *before,
		       struct unit_parsed *ret) _must_check_;

/* Whether the bytes can hold any such setting, or Slice=: what can not need not be parsed. */
bool unit_setting_may_occur(const char *text, size_t size) _pure_;
