/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * UnitSetting=: settings in force of unit files and quadlets, as the unit loader knows them.
 * What a package ships for its own unit below /usr is that package's caution, not the site's
 * need, and a unit that nothing starts needs nothing.
 */

#include "needs/look.h"

#include "units/units.h"

static bool is_shipped(const char *path)
{
	return str_skip_prefix(path, "/usr/lib/") || str_skip_prefix(path, "/lib/");
}

static bool is_asked(const struct rule *rule, const char *setting)
{
	for (size_t i = 1; i < rule->words.n; i++)
		if (streq(rule->words.items[i], setting))
			return true;
	return false;
}

static int found(struct look *look, const char *path, unsigned line, const char *unit,
		 const char *setting, const char *value)
{
	_cleanup_free_ char *text = NULL;
	int r = str_printf(&text, "%s=%s of %s", setting, value, unit);

	return r < 0 ? r : look_found(look, path, line, text, strlen(text));
}

static int look_at_unit(struct look *look, const struct rule *rule, const struct unit *unit)
{
	int r = 0;

	if (unit->state != UNIT_LOADED || unit->enabled == UNIT_DISABLED)
		return 0;
	for (size_t i = 0; i < unit->n_lines && r >= 0; i++) {
		const struct unit_line *line = &unit->lines[i];
		const char *path = unit->sources.items[line->source];

		if (line->state == UNIT_LINE_SET && !is_shipped(path) &&
		    is_asked(rule, line->setting->name))
			r = found(look, path, line->line, unit->name, line->setting->name,
				  line->value);
	}
	return r;
}

static int look_at_quadlet(struct look *look, const struct rule *rule,
			   const struct unit_quadlet *quadlet)
{
	int r = 0;

	for (size_t i = 0; i < quadlet->n_limits && r >= 0; i++) {
		const struct unit_quadlet_limit *limit = &quadlet->limits[i];

		/* "PodmanArgs --memory" is asked for as PodmanArgs */
		if (!limit->invalid && (is_asked(rule, limit->setting) ||
					(str_skip_prefix(limit->setting, "PodmanArgs ") &&
					 is_asked(rule, "PodmanArgs"))))
			r = found(look, limit->path, limit->line, quadlet->name, limit->setting,
				  limit->value);
	}
	return r;
}

/* The files are read once for all rules. */
static int read_units(struct look *look)
{
	_cleanup_diag_ struct diag ignored = {};
	struct units *units;
	int r;

	if (look->units)
		return 0;
	units = calloc(1, sizeof(*units));
	if (!units)
		return -ENOMEM;
	r = units_load(look->root, &(struct unit_owner){}, NULL, units, &ignored);
	if (r < 0)
		free(units);
	else
		look->units = look->own_units = units;
	return r;
}

int look_unit_setting(struct look *look, const struct rule *rule)
{
	const char *glob = rule->words.items[0];
	int r = read_units(look);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || look->units->incomplete || look->units->unreadable)
		look_failed(look, "/etc/systemd/system", r < 0 ? r : -EFBIG,
			    "not all unit files could be read");
	if (r < 0)
		return 0;
	for (size_t i = 0; i < look->units->n && r >= 0; i++)
		if (str_match_glob(glob, look->units->items[i].name))
			r = look_at_unit(look, rule, &look->units->items[i]);
	for (size_t i = 0; i < look->units->quadlets.n && r >= 0; i++)
		if (str_match_glob(glob, look->units->quadlets.items[i].name))
			r = look_at_quadlet(look, rule, &look->units->quadlets.items[i]);
	return r;
}

void look_units_done(struct look *look)
{
	if (look->own_units)
		units_done(look->own_units);
	free(look->own_units);
}
