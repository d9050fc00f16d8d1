/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/units.h"

#include "base/diag.h"
#include "base/root.h"
#include "units/unit-expand.h"
#include "units/unit-parse.h"
#include "units/unit-scan.h"
#include "units/unit-single.h"
#include "units/unit-wants.h"

#include <stdio.h>

struct gathering {
	const struct unit_path *path;
	const struct unit_owner *owner;
	struct unit_scan *scan;
	struct strv enabled; /* names that something starts at boot */
	struct strv more;    /* names that only a link knows */
	struct units *units;
	size_t alloc;
};

const char *unit_enabled_to_string(enum unit_enabled enabled)
{
	static const char *const names[_UNIT_ENABLED_MAX] = {
		[UNIT_ENABLED_UNKNOWN] = "unknown", [UNIT_ENABLED] = "enabled",
		[UNIT_DISABLED] = "disabled",	    [UNIT_STATIC] = "static",
		[UNIT_ENABLED_MASKED] = "masked",   [UNIT_ENABLED_TEMPLATE] = "template",
	};

	return names[enabled];
}

/* --- what is started at boot --- */

/* Notes that the unit of that name is started, if it is one that matters. */
static int note_enabled(struct gathering *g, const char *name)
{
	char file[UNIT_NAME_MAX], id[UNIT_NAME_MAX], slice[UNIT_NAME_MAX];
	size_t dir;
	int r;

	r = unit_canonical_name(g->path, name, &dir, file, id);
	if (r == -ENOMEM)
		return r;
	if (r >= 0)
		name = id;
	if (unit_expand_concerns(g->scan, name))
		strv_add(&g->more, name);
	else if (!unit_scan_has(g->scan, name))
		name = NULL;
	if (name)
		strv_add(&g->enabled, name);
	/* an instance brings the slice of its template along */
	if (name && unit_name_form(name, NULL) == UNIT_FORM_INSTANCE &&
	    unit_name_default_slice(name, g->owner->user, slice) == 0) {
		strv_add(&g->enabled, slice);
		if (unit_expand_concerns(g->scan, slice))
			strv_add(&g->more, slice);
	}
	return strv_error(&g->enabled) < 0 || strv_error(&g->more) < 0 ? -ENOMEM : 0;
}

/* What a timer, path or socket starts: named by it, or the service of its name. */
static int note_triggered(struct gathering *g, const char *name)
{
	const char *target = unit_scan_trigger(g->scan, name);
	char service[UNIT_NAME_MAX + sizeof("service")];

	if (!target) {
		(void)snprintf(service, sizeof(service), "%.*s.service",
			       (int)(strrchr(name, '.') - name), name); /* fits */
		target = service;
	}
	return note_enabled(g, target);
}

static int note_wanted(void *data, const char *name)
{
	enum unit_type type = unit_name_type(name);
	int r = note_enabled(data, name);

	if (r >= 0 && (type == UNIT_TIMER || type == UNIT_PATH || type == UNIT_SOCKET))
		r = note_triggered(data, name);
	return r;
}

/* --- loading --- */

static int compare_units(const void *a, const void *b)
{
	return strcmp(((const struct unit *)a)->name, ((const struct unit *)b)->name);
}

static int load_one(struct gathering *g, struct unit_loader *loader, const char *name)
{
	struct units *units = g->units;
	int r;

	if (!GROW(units->items, units->n, g->alloc))
		return -ENOMEM;
	units->items[units->n] = (struct unit){};
	r = unit_load(loader, name, &units->items[units->n]);
	if (r >= 0)
		units->n++;
	return r;
}

/* Sorted; a unit that was loaded by two names is there once. */
static void sort_units(struct units *units)
{
	size_t n = 0;

	if (units->n > 1)
		qsort(units->items, units->n, sizeof(*units->items), compare_units);
	for (size_t i = 0; i < units->n; i++) {
		if (n > 0 && streq(units->items[i].name, units->items[n - 1].name))
			unit_done(&units->items[i]);
		else
			units->items[n++] = units->items[i];
	}
	units->n = n;
}

static struct unit *find(const struct units *units, const char *name)
{
	const struct unit key = { .name = (char *)name };

	return units->n > 0 ? bsearch(&key, units->items, units->n, sizeof(*units->items),
				      compare_units)
			    : NULL;
}

const struct unit *units_find(const struct units *units, const char *name)
{
	return find(units, name);
}

/*
 * Slices that only Slice= or a dash in another slice's name brings about; they are loaded where
 * a drop-in of their prefix or type has something for them.
 */
static int load_slices(struct gathering *g, struct unit_loader *loader)
{
	_cleanup_strv_ struct strv names = {};
	size_t enough = 1000;
	int r = 0;

	for (size_t i = 0; i < g->units->n && r >= 0; i++) {
		char slice[UNIT_NAME_MAX];

		if (!g->units->items[i].slice)
			continue;
		(void)snprintf(slice, sizeof(slice), "%s", g->units->items[i].slice);
		do {
			if (!find(g->units, slice) && unit_expand_concerns(g->scan, slice))
				strv_add(&names, slice);
		} while (unit_name_parent_slice(slice, slice) == 0);
		r = strv_error(&names);
		/* most are the same few */
		if (names.n > enough) {
			strv_sort_unique(&names);
			enough = 2 * names.n + 1000;
		}
	}
	strv_sort_unique(&names);
	for (size_t i = 0; i < names.n && r >= 0; i++)
		r = load_one(g, loader, names.items[i]);
	sort_units(g->units);
	return r;
}

/* Thousands of names may be of one unit, which is to be loaded once. */
static int find_names(struct gathering *g)
{
	struct strv *names = &g->scan->names;

	for (size_t i = 0; i < names->n; i++) {
		char file[UNIT_NAME_MAX], id[UNIT_NAME_MAX];
		size_t dir;
		char *copy;
		int r;

		if (unit_scan_has_fragment(g->scan, names->items[i]))
			continue;
		r = unit_canonical_name(g->path, names->items[i], &dir, file, id);
		if (r == -ENOMEM)
			return r;
		if (r < 0 || streq(id, names->items[i]))
			continue;
		copy = strdup(id);
		if (!copy)
			return -ENOMEM;
		free(names->items[i]);
		names->items[i] = copy;
	}
	strv_sort_unique(names);
	return 0;
}

static int load_all(struct gathering *g, struct unit_loader *loader)
{
	int r = find_names(g);

	for (size_t i = 0; i < g->scan->names.n && r >= 0; i++)
		r = load_one(g, loader, g->scan->names.items[i]);
	sort_units(g->units);
	if (r >= 0 && (g->scan->types || g->scan->stems.n > 0))
		r = load_slices(g, loader);
	return r;
}

/* --- enabled or not --- */

/* What there is always, or whenever somebody logs in. */
static bool is_always(const struct gathering *g, const char *name)
{
	return unit_is_perpetual(name, g->owner->user) ||
	       (!g->owner->user && streq(name, "user.slice"));
}

/* The ending of the unit's name in "foo-.slice": a drop-in's directory for a whole prefix. */
static bool is_prefix(const char *name)
{
	const char *at = strchr(name, '@'), *end = at ? at : strrchr(name, '.');

	return end > name + 1 && end[-1] == '-';
}

static enum unit_enabled judge_enabled(const struct gathering *g, const struct unit *unit)
{
	if (unit->state == UNIT_NOT_FOUND)
		return UNIT_ENABLED_UNKNOWN;
	if (strv_contains_sorted(&g->enabled, unit->name) || unit->enabled == UNIT_ENABLED)
		return UNIT_ENABLED;
	/* Alias=, which other units name in their Wants= and buses in their services' files */
	if (unit->linked && unit->has_install)
		return UNIT_ENABLED;
	for (size_t i = 0; i < unit->aliases.n; i++)
		if (strv_contains_sorted(&g->enabled, unit->aliases.items[i]))
			return UNIT_ENABLED;
	if (unit->form == UNIT_FORM_TEMPLATE || (is_prefix(unit->name) && !unit->has_fragment))
		return UNIT_ENABLED_TEMPLATE;
	if (is_always(g, unit->name))
		return UNIT_ENABLED;
	if (unit->generated && unit->has_fragment)
		return unit->has_install ? UNIT_ENABLED
					 : UNIT_STATIC; /* a quadlet: its generator links it */
	if (unit->generated ||
	    (!unit->has_fragment && (unit->type == UNIT_MOUNT || unit->type == UNIT_SWAP)))
		return UNIT_ENABLED_UNKNOWN; /* an init script's links, /etc/fstab */
	return unit->has_install ? UNIT_DISABLED : UNIT_STATIC;
}

/* A slice is there as soon as something in it is. */
static void enable_slices(struct units *units)
{
	for (size_t i = 0; i < units->n; i++) {
		char slice[UNIT_NAME_MAX];

		if (units->items[i].enabled != UNIT_ENABLED || !units->items[i].slice)
			continue;
		(void)snprintf(slice, sizeof(slice), "%s", units->items[i].slice);
		do {
			struct unit *found = find(units, slice);

			if (found)
				found->enabled = UNIT_ENABLED;
		} while (unit_name_parent_slice(slice, slice) == 0);
	}
}

/* whole: all links were looked at; where not, what nothing was seen to start is unknown. */
static void judge_all_enabled(struct gathering *g, bool whole)
{
	strv_sort(&g->enabled);
	for (size_t i = 0; i < g->units->n; i++) {
		enum unit_enabled *enabled = &g->units->items[i].enabled;

		*enabled = judge_enabled(g, &g->units->items[i]);
		if (!whole && (*enabled == UNIT_STATIC || *enabled == UNIT_DISABLED))
			*enabled = UNIT_ENABLED_UNKNOWN;
	}
	enable_slices(g->units);
}

/* A template is only told of by itself where none of its instances is. */
static void mark_instantiated(struct units *units)
{
	for (size_t i = 0; i < units->n; i++) {
		const struct unit *unit = &units->items[i];
		char template[UNIT_NAME_MAX];
		struct unit *found;

		if (unit->form != UNIT_FORM_INSTANCE || !unit->has_fragment ||
		    unit_name_template(unit->name, template) < 0)
			continue;
		found = find(units, template);
		if (found && found->has_fragment &&
		    streq(found->sources.items[0], unit->sources.items[0]))
			found->instantiated = true;
	}
}

/* Units that were only loaded for their Slice= are no findings. */
static void drop_needless(struct units *units)
{
	size_t n = 0;

	mark_instantiated(units);

	for (size_t i = 0; i < units->n; i++) {
		if (units->items[i].n_lines == 0 || units->items[i].instantiated)
			unit_done(&units->items[i]);
		else
			units->items[n++] = units->items[i];
	}
	units->n = n;
}

/* --- the whole --- */

/* Whether PID 1 hands the memory controller on to user managers; they are on when it cannot be
 * told. */
static int look_at_delegation(const struct root *root, struct units *units)
{
	_cleanup_(unit_done) struct unit unit = {};
	bool delegates = false;
	int r = unit_load_single(root, &(struct unit_owner){}, units->version, NULL,
				 "user@0.service", &unit);

	if (r < 0)
		return r;
	for (size_t i = 0; i < unit.n_lines; i++)
		delegates |= unit.lines[i].state == UNIT_LINE_SET &&
			     streq(unit.lines[i].setting->name, "Delegate");
	units->undelegated = unit.has_fragment && unit.state == UNIT_LOADED && !delegates;
	return 0;
}

static int add_quadlet_services(struct gathering *g)
{
	const struct unit_quadlets *quadlets = &g->units->quadlets;

	for (size_t i = 0; i < quadlets->n; i++)
		if (quadlets->items[i].matters ||
		    unit_expand_concerns(g->scan, quadlets->items[i].service))
			strv_add(&g->more, quadlets->items[i].service);
	return strv_error(&g->more);
}

/* Whatever those files say is missing. */
static bool tell_unreadable(const struct unit_path *path, const struct unit_loader *loader,
			    struct diag *diag)
{
	struct diag_where where = {
		.path = path->unreadable ? path->unreadable : loader->unreadable,
		.hint = "run this as root",
	};
	bool others = path->unreadable ? loader->unreadable != NULL : loader->unreadable_others;

	if (!where.path && !others)
		return false;
	diag_warning(diag, &where, "cannot be read%s: what it says is not told here",
		     others ? ", nor can others" : "");
	return true;
}

/* Names that no file of the search path knows, only the manager. */
static int add_loaded(struct gathering *g, const struct strv *loaded)
{
	for (size_t i = 0; i < loaded->n; i++)
		if (unit_expand_concerns(g->scan, loaded->items[i]))
			strv_add(&g->more, loaded->items[i]);
	return strv_error(&g->more);
}

int units_load(const struct root *root, const struct unit_owner *owner,
	       const struct strv *loaded, struct units *ret, struct diag *diag)
{
	_cleanup_units_ struct units units = { .user = owner->user,
					       .live = root_mode(root) == ROOT_LIVE };
	_cleanup_unit_path_ struct unit_path path = {};
	_cleanup_(unit_scan_done) struct unit_scan scan = {};
	_cleanup_free_ struct unit_loader *loader = calloc(1, sizeof(*loader));
	size_t budget = ROOT_MAX_DIR_ENTRIES, first_message = diag->n;
	struct gathering g = { .path = &path, .owner = owner, .scan = &scan, .units = &units };
	int r;

	if (!loader)
		return -ENOMEM;
	r = units_systemd_version(root, &units.version);
	if (r >= 0)
		r = unit_path_open(root, owner, units.version, &path);
	if (r >= 0)
		r = unit_quadlets_load(root, owner, &budget, &units.quadlets);
	loader->root = root;
	loader->path = &path;
	loader->text.whole_reads = path.whole_reads;
	loader->quadlets = &units.quadlets;
	loader->version = units.version;
	loader->user = owner->user;
	loader->budget = loader->text.budget = &budget;
	loader->diag = diag;
	if (r >= 0)
		r = unit_scan(loader, &scan);
	if (r >= 0)
		r = add_quadlet_services(&g);
	if (r >= 0 && loaded)
		r = add_loaded(&g, loaded);
	if (r >= 0)
		r = unit_expand(&scan, &path, owner->user, &budget);
	/* a link names the unit, whose settings may be in drop-ins of another name */
	if (r >= 0)
		r = find_names(&g);
	/* without a memory setting anywhere nobody asks what is enabled */
	if (r >= 0 && (scan.names.n > 0 || scan.stems.n > 0 || scan.types || g.more.n > 0))
		r = unit_wants_walk(&scan, &path, &budget, note_wanted, &g);
	if (r >= 0)
		r = unit_expand_rest(&scan, &g.more);
	if (r >= 0)
		r = load_all(&g, loader);
	if (r >= 0)
		units.unreadable = tell_unreadable(&path, loader, diag);
	unit_loader_done(loader);
	if (r >= 0 && owner->user && units.n > 0)
		r = look_at_delegation(root, &units);
	if (r >= 0)
		judge_all_enabled(&g, budget > 0);
	strv_done(&g.enabled);
	strv_done(&g.more);
	if (r < 0)
		return r;
	/* they came in the order of the directories' entries, which is no order */
	diag_sort(diag, first_message);
	if (diag->n >= UNIT_PARSE_MAX_MESSAGES)
		diag_warning(diag, &(struct diag_where){},
			     "there are more messages like these, which are left out");
	if (units.quadlets.cut)
		diag_warning(diag, &(struct diag_where){},
			     "more or deeper directories of quadlets than are looked into: the "
			     "rest was not read");
	units.incomplete = budget == 0 || units.quadlets.cut;
	if (budget == 0)
		diag_warning(
			diag, &(struct diag_where){},
			"more unit files, links and drop-ins than are looked at (%d, or 4 GiB "
			"of text): the rest was not read",
			ROOT_MAX_DIR_ENTRIES);
	drop_needless(&units);
	*ret = units;
	units = (struct units){};
	return 0;
}

void units_done(struct units *units)
{
	for (size_t i = 0; i < units->n; i++)
		unit_done(&units->items[i]);
	free(units->items);
	unit_quadlets_done(&units->quadlets);
	*units = (struct units){};
}
