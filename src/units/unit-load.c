/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-load.h"

#include "base/diag.h"
#include "base/root.h"
#include "units/unit-dropins.h"
#include "units/unit-parse.h"
#include "units/unit-quadlet.h"

/* --- names --- */

int unit_canonical_name(const struct unit_path *path, const char *name, size_t *ret_dir,
			char ret_file[static UNIT_NAME_MAX], char ret_id[static UNIT_NAME_MAX])
{
	char template[UNIT_NAME_MAX];
	int r;

	r = unit_path_fragment(path, name, ret_dir, ret_file);
	if (r == -ENOENT && unit_name_instance(name, &(size_t){ 0 }) &&
	    unit_name_template(name, template) == 0)
		r = unit_path_fragment(path, template, ret_dir, ret_file);
	if (r < 0)
		return r;
	if (unit_name_form(ret_file, NULL) != UNIT_FORM_TEMPLATE ||
	    unit_name_form(name, NULL) == UNIT_FORM_TEMPLATE) {
		strcpy(ret_id, ret_file);
		return 0;
	}
	r = unit_name_instantiate(ret_file, name, ret_id);
	return r < 0 ? -ENOENT : 0;
}

/*
 * Adds the names that lead to target, and those that lead to them; a name leads to one target,
 * so that it comes by once. depth bounds a loop.
 */
static int add_aliases(const struct unit_loader *loader, struct unit *unit, const char *target,
		       unsigned depth)
{
	const struct unit_aliases *aliases = loader->aliases;

	if (depth == 0 || !aliases)
		return 0;
	for (size_t i = unit_aliases_first(aliases, target);
	     i < aliases->n && streq(unit_alias_target(aliases, i), target); i++) {
		const char *link = unit_alias_name(aliases, i);
		char name[UNIT_NAME_MAX], file[UNIT_NAME_MAX], id[UNIT_NAME_MAX];
		size_t dir;
		int r;

		strcpy(name, link);
		/* of a template's other name this unit's instance is another name */
		if (unit->form == UNIT_FORM_INSTANCE &&
		    unit_name_form(name, NULL) == UNIT_FORM_TEMPLATE &&
		    unit_name_instantiate(link, unit->name, name) < 0)
			continue;
		r = unit_canonical_name(loader->path, name, &dir, file, id);
		if (r == -ENOMEM)
			return r;
		if (r < 0 || !streq(id, unit->name) || streq(name, unit->name))
			continue;
		strv_add(&unit->aliases, name);
		unit->linked = unit->linked || aliases->items[i].enables;
		r = add_aliases(loader, unit, link, depth - 1);
		if (r < 0)
			return r;
	}
	return strv_error(&unit->aliases);
}

static int find_aliases(const struct unit_loader *loader, struct unit *unit)
{
	char template[UNIT_NAME_MAX];
	int r;

	r = add_aliases(loader, unit, unit->name, 8);
	if (r >= 0 && unit->form == UNIT_FORM_INSTANCE &&
	    unit_name_template(unit->name, template) == 0)
		r = add_aliases(loader, unit, template, 8);
	if (r >= 0)
		strv_sort_unique(&unit->aliases);
	return r;
}

/* --- the unit --- */

int unit_loader_parse(struct unit_loader *loader, struct unit *unit, bool dropin)
{
	return unit_parse(
		&(struct unit_parse){
			.text = loader->text.data,
			.size = loader->text.size,
			.cut = loader->text.cut,
			.dropin = dropin,
			.source = unit->sources.n - 1,
			.version = loader->version,
			.diag = loader->diag,
		},
		unit);
}

bool unit_is_perpetual(const char *name, bool user)
{
	return streq(name, "-.slice") || (!user && streq(name, "system.slice")) ||
	       streq(name, "init.scope") || (!user && streq(name, "-.mount"));
}

/* Whether units of that type come from elsewhere than a file: made by programs, mounted. */
static bool needs_fragment(enum unit_type type)
{
	return type != UNIT_SLICE && type != UNIT_SCOPE && type != UNIT_DEVICE &&
	       type != UNIT_MOUNT && type != UNIT_SWAP;
}

static int add_fragment(struct unit *unit, const struct unit_dir *dir, const char *file)
{
	unit->has_fragment = true;
	strv_addf(&unit->sources, "%s/%s", dir->path, file);
	return strv_error(&unit->sources);
}

int unit_load_fragment(struct unit_loader *loader, const char *name, size_t dir,
		       struct unit *ret)
{
	_cleanup_(unit_done) struct unit unit = { .name = strdup(name) };
	int r = unit.name ? add_fragment(&unit, &loader->path->dirs[dir], name) : -ENOMEM;

	unit.form = unit_name_form(name, &unit.type);
	if (r >= 0)
		r = unit_loader_parse(loader, &unit, false);
	if (r < 0)
		return r;
	*ret = unit;
	unit = (struct unit){};
	return 0;
}

static int load_fragment(struct unit_loader *loader, struct unit *unit, size_t dir,
			 const char *file)
{
	const struct unit_dir *unit_dir = &loader->path->dirs[dir];
	int r = add_fragment(unit, unit_dir, file);

	if (r < 0)
		return r;
	r = unit_text_read(&loader->text, loader->root, unit_dir->fd, unit_dir->path, file,
			   true);
	if (r == -ENOMEM)
		return r;
	if (r == -ENODATA) {
		/* a manager cannot lose these by a mask */
		unit->state =
			unit_is_perpetual(unit->name, loader->user) ? UNIT_LOADED : UNIT_MASKED;
		return 0;
	}
	if (r == -ENOENT) {
		unit->state = UNIT_NOT_FOUND;
		return 0;
	}
	if (unit_loader_note_unreadable(loader, unit_dir->path, file, r))
		return 0;
	if (r < 0) {
		unit->state = UNIT_FAILED;
		return str_printf(&unit->failure, "the unit does not load: %s", strerror(-r));
	}
	return unit_loader_parse(loader, unit, false);
}

static int parse_quadlet_file(struct unit_loader *loader, struct unit *unit, const char *path,
			      size_t source)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = root_read(loader->root, path, 2 * ROOT_MAX_UNIT, &text, &size);

	if (r < 0)
		return r == -ENOMEM ? r : 0; /* gone meanwhile */
	*loader->budget -= MIN(*loader->budget, size / UNIT_TEXT_COST);
	return unit_parse(
		&(struct unit_parse){
			.text = text,
			.size = size,
			.dropin = source > 0,
			.source = source,
			.version = loader->version,
			.diag = loader->diag,
		},
		unit);
}

/* What boot makes a unit of without a unit file: a quadlet, an init script. */
static int load_generated(struct unit_loader *loader, struct unit *unit)
{
	const struct unit_quadlet *quadlet =
		loader->quadlets ? unit_quadlets_find(loader->quadlets, unit->name) : NULL;
	_cleanup_free_ char *script = NULL;
	int r;

	if (quadlet) {
		unit->generated = true;
		unit->has_fragment = true;
		unit->has_install = quadlet->installed;
		r = 0;
		for (size_t i = 0; i < quadlet->n_files && r >= 0; i++) {
			strv_add(&unit->sources, quadlet->files[i].path);
			r = strv_error(&unit->sources);
			if (r >= 0 && quadlet->matters)
				r = parse_quadlet_file(loader, unit, quadlet->files[i].path, i);
		}
		return r;
	}
	/* v260 gave init scripts up */
	if (unit->type == UNIT_SERVICE && unit->form == UNIT_FORM_PLAIN && !loader->user &&
	    (loader->version == 0 || loader->version < 260)) {
		r = str_printf(&script, "/etc/init.d/%.*s",
			       (int)(strlen(unit->name) - strlen(".service")), unit->name);
		if (r < 0)
			return r;
		unit->generated = root_exists(loader->root, script);
	}
	if (!unit->generated && needs_fragment(unit->type))
		unit->state = UNIT_NOT_FOUND;
	return 0;
}

static int compare_fragments(const void *a, const void *b)
{
	return strcmp(((const struct unit_fragment *)a)->name,
		      ((const struct unit_fragment *)b)->name);
}

/* Takes the unit out that a scan has begun to load; false when there is none. */
static bool take_fragment(struct unit_fragments *fragments, const char *name, struct unit *ret)
{
	struct unit_fragment *found;

	if (!fragments || fragments->n == 0)
		return false;
	found = bsearch(&(struct unit_fragment){ .name = (char *)name }, fragments->items,
			fragments->n, sizeof(*fragments->items), compare_fragments);
	if (!found || found->taken)
		return false;
	*ret = found->unit;
	found->unit = (struct unit){};
	found->taken = true;
	return true;
}

/* The unit by its own file, or by what stands in for one. */
static int load_own(struct unit_loader *loader, const char *name, struct unit *unit)
{
	char file[UNIT_NAME_MAX], id[UNIT_NAME_MAX];
	size_t dir = 0;
	bool found;
	int r;

	if (take_fragment(loader->fragments, name, unit))
		return 0;
	r = unit_canonical_name(loader->path, name, &dir, file, id);
	if (r == -ENOMEM)
		return r;
	found = r >= 0;
	unit->name = strdup(found ? id : name);
	if (!unit->name)
		return -ENOMEM;
	unit->form = unit_name_form(unit->name, &unit->type);
	if (unit->form == UNIT_FORM_INVALID)
		return -EINVAL;
	if (r == -ELOOP) {
		unit->state = UNIT_FAILED;
		unit->failure = strdup("the unit does not load: its aliases form a loop");
		return unit->failure ? 0 : -ENOMEM;
	}
	/* what generators make beats what stands behind their place in the search path */
	if (!found || (dir >= loader->path->generated && loader->quadlets &&
		       unit_quadlets_find(loader->quadlets, unit->name)))
		return load_generated(loader, unit);
	return load_fragment(loader, unit, dir, file);
}

void unit_loader_done(struct unit_loader *loader)
{
	unit_text_done(&loader->text);
	free(loader->turns);
	loader->turns = NULL;
	free(loader->unreadable);
	loader->unreadable = NULL;
}

bool unit_loader_note_unreadable(struct unit_loader *loader, const char *dir, const char *name,
				 int r)
{
	_cleanup_free_ char *path = NULL;

	if (r != -EACCES && r != -EPERM)
		return false;
	/* out of memory: others are told of without it */
	if (str_printf(&path, "%s%s%s", dir, name ? "/" : "", name ? name : "") < 0 ||
	    (loader->unreadable && !streq(path, loader->unreadable)))
		loader->unreadable_others = true;
	else if (!loader->unreadable)
		loader->unreadable = TAKE_PTR(path);
	return true;
}

int unit_load(struct unit_loader *loader, const char *name, struct unit *ret)
{
	_cleanup_(unit_done) struct unit unit = {};
	char slice[UNIT_NAME_MAX];
	int r = load_own(loader, name, &unit);

	if (r >= 0)
		r = find_aliases(loader, &unit);
	if (r >= 0 && (unit.state == UNIT_LOADED || unit.state == UNIT_NOT_FOUND))
		r = unit_load_dropins(loader, &unit);
	if (r < 0)
		return r;
	if (!unit.slice && unit_name_default_slice(unit.name, loader->user, slice) == 0) {
		unit.slice = strdup(slice);
		if (!unit.slice)
			return -ENOMEM;
	}
	*ret = unit;
	unit = (struct unit){};
	return 0;
}

void unit_done(struct unit *unit)
{
	free(unit->name);
	free(unit->slice);
	free(unit->triggers);
	free(unit->failure);
	strv_done(&unit->aliases);
	strv_done(&unit->sources);
	for (size_t i = 0; i < unit->n_lines; i++) {
		free(unit->lines[i].value);
		free(unit->lines[i].why);
	}
	free(unit->lines);
	*unit = (struct unit){};
}
