/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-load.h"

#include "base/diag.h"
#include "base/root.h"
#include "units/unit-parse.h"
#include "units/unit-quadlet.h"

#include <dirent.h>

/* --- drop-ins --- */

/* One file that a drop-in directory lists. */
struct dropin {
	char *file;
	size_t dir;
	const char *subdir; /* borrowed from the list of stems */
	size_t order;	    /* first found, first wins */
	bool regular;
};

struct dropins {
	struct dropin *items;
	size_t n;
	size_t alloc;
	struct strv subdirs; /* "foo.service.d", in the order of one search directory */
};

static void dropins_done(struct dropins *dropins)
{
	for (size_t i = 0; i < dropins->n; i++)
		free(dropins->items[i].file);
	free(dropins->items);
	strv_done(&dropins->subdirs);
}

static int add_dropin(struct dropins *dropins, const char *file, size_t dir, const char *subdir,
		      bool regular)
{
	struct dropin *item;

	if (dropins->n == dropins->alloc) {
		size_t alloc = dropins->alloc ? dropins->alloc * 2 : 8;
		struct dropin *items = reallocarray(dropins->items, alloc, sizeof(*items));

		if (!items)
			return -ENOMEM;
		dropins->items = items;
		dropins->alloc = alloc;
	}
	item = &dropins->items[dropins->n];
	*item = (struct dropin){ strdup(file), dir, subdir, dropins->n, regular };
	if (!item->file)
		return -ENOMEM;
	dropins->n++;
	return 0;
}

static int list_subdir(struct unit_loader *loader, size_t dir, const char *subdir,
		       struct dropins *dropins)
{
	_cleanup_(unit_listing_done) struct unit_listing listing = {
		.fd = -EBADF,
		.buf = loader->listing,
		.budget = loader->budget,
	};
	unsigned char type;
	const char *file;
	int r;

	if (loader->dropin_dirs && !strv_contains_sorted(loader->dropin_dirs, subdir))
		return 0;
	r = unit_path_open_subdir(loader->path, dir, subdir, &listing.fd);
	if (r == -ENOENT)
		return 0;
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0)
		return 0; /* unreadable: systemd warns and goes on */
	while (unit_listing_next(&listing, &file, &type)) {
		/* whatever the entry is, it hides others of its name */
		if (!str_has_suffix(file, ".conf") || unit_name_is_backup(file))
			continue;
		r = add_dropin(dropins, file, dir, subdir, type == DT_REG);
		if (r < 0)
			return r;
	}
	return 0;
}

/* By file name in byte order, the directory that was found first before the others. */
static int compare_dropins(const void *a, const void *b)
{
	const struct dropin *x = a, *y = b;
	int r = strcmp(x->file, y->file);

	return r ? r : (x->order > y->order) - (x->order < y->order);
}

/* All drop-ins of the names, sorted; the type level comes last, which equal names see. */
static int find_dropins(struct unit_loader *loader, const struct unit *unit,
			struct dropins *dropins)
{
	const char *type = unit_type_to_string(unit->type);

	for (size_t i = 0; i <= unit->aliases.n; i++) {
		const char *name = i == 0 ? unit->name : unit->aliases.items[i - 1];
		_cleanup_strv_ struct strv stems = {};
		size_t first = dropins->subdirs.n;

		unit_name_dropin_stems(name, &stems);
		/* all but the first are shared with other units */
		for (size_t k = 0; k < (loader->no_shared ? MIN(stems.n, (size_t)1) : stems.n);
		     k++)
			strv_addf(&dropins->subdirs, "%s.d", stems.items[k]);
		if (strv_error(&stems) < 0 || strv_error(&dropins->subdirs) < 0)
			return -ENOMEM;
		for (size_t dir = 0; dir < loader->path->n; dir++)
			for (size_t k = first; k < dropins->subdirs.n; k++) {
				int r = list_subdir(loader, dir, dropins->subdirs.items[k],
						    dropins);

				if (r < 0)
					return r;
			}
	}
	strv_addf(&dropins->subdirs, "%s.d", type);
	if (strv_error(&dropins->subdirs) < 0)
		return -ENOMEM;
	for (size_t dir = 0; !(loader->no_types & (1U << unit->type)) && dir < loader->path->n;
	     dir++) {
		int r = list_subdir(loader, dir, dropins->subdirs.items[dropins->subdirs.n - 1],
				    dropins);

		if (r < 0)
			return r;
	}
	if (dropins->n > 1)
		qsort(dropins->items, dropins->n, sizeof(*dropins->items), compare_dropins);
	return 0;
}

/* A subdirectory kept open while one drop-in after the other is read from it. */
struct open_subdir {
	int fd;
	size_t dir;
	const char *subdir;
	char *path;
};

static void open_subdir_done(struct open_subdir *open)
{
	closep(&open->fd);
	free(open->path);
	open->path = NULL;
}

static int move_to(struct unit_loader *loader, const struct dropin *dropin,
		   struct open_subdir *open)
{
	if (open->fd >= 0 && open->dir == dropin->dir && streq(open->subdir, dropin->subdir))
		return 0;
	open_subdir_done(open);
	open->dir = dropin->dir;
	open->subdir = dropin->subdir;
	if (str_printf(&open->path, "%s/%s", loader->path->dirs[dropin->dir].path,
		       dropin->subdir) < 0)
		return -ENOMEM;
	return unit_path_open_subdir(loader->path, dropin->dir, dropin->subdir, &open->fd);
}

static int apply_dropin(struct unit_loader *loader, struct unit *unit,
			const struct dropin *dropin, struct open_subdir *open)
{
	int r = move_to(loader, dropin, open);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* gone meanwhile */
	strv_addf(&unit->sources, "%s/%s", open->path, dropin->file);
	r = strv_error(&unit->sources);
	if (r < 0)
		return r;
	r = unit_text_read(&loader->text, loader->root, open->fd, open->path, dropin->file,
			   dropin->regular);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return 0; /* a mask, or something that systemd cannot read either */
	return unit_parse(
		&(struct unit_parse){
			.text = loader->text.data,
			.size = loader->text.size,
			.cut = loader->text.cut,
			.dropin = true,
			.source = unit->sources.n - 1,
			.version = loader->version,
			.diag = loader->diag,
		},
		unit);
}

static int load_dropins(struct unit_loader *loader, struct unit *unit)
{
	_cleanup_(dropins_done) struct dropins dropins = {};
	_cleanup_(open_subdir_done) struct open_subdir open = { .fd = -EBADF };
	const char *previous = NULL;
	int r;

	r = find_dropins(loader, unit, &dropins);
	for (size_t i = 0; i < dropins.n && r >= 0; i++) {
		if (previous && streq(dropins.items[i].file, previous))
			continue;
		previous = dropins.items[i].file;
		/* a tree that multiplies drop-ins by units ends here, and loudly */
		if (*loader->budget == 0)
			break;
		(*loader->budget)--;
		r = apply_dropin(loader, unit, &dropins.items[i], &open);
	}
	return r;
}

/* --- names --- */

static size_t first_alias(const struct unit_aliases *aliases, const char *target)
{
	size_t low = 0, high = aliases->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(aliases->items[mid].target, target) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

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

/* Adds the names that lead to target, and those that lead to them. depth bounds a loop. */
static int add_aliases(const struct unit_loader *loader, struct unit *unit, const char *target,
		       unsigned depth)
{
	const struct unit_aliases *aliases = loader->aliases;

	if (depth == 0 || !aliases)
		return 0;
	for (size_t i = first_alias(aliases, target);
	     i < aliases->n && streq(aliases->items[i].target, target); i++) {
		char name[UNIT_NAME_MAX], file[UNIT_NAME_MAX], id[UNIT_NAME_MAX];
		size_t dir;
		int r;

		strcpy(name, aliases->items[i].name);
		/* of a template's other name this unit's instance is another name */
		if (unit->form == UNIT_FORM_INSTANCE &&
		    unit_name_form(name, NULL) == UNIT_FORM_TEMPLATE &&
		    unit_name_instantiate(aliases->items[i].name, unit->name, name) < 0)
			continue;
		r = unit_canonical_name(loader->path, name, &dir, file, id);
		if (r == -ENOMEM)
			return r;
		if (r < 0 || !streq(id, unit->name) || streq(name, unit->name) ||
		    !strv_add_unique(&unit->aliases, name))
			continue;
		r = add_aliases(loader, unit, aliases->items[i].name, depth - 1);
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
		strv_sort(&unit->aliases);
	return r;
}

/* --- the unit --- */

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

static int load_fragment(struct unit_loader *loader, struct unit *unit, size_t dir,
			 const char *file)
{
	const struct unit_dir *unit_dir = &loader->path->dirs[dir];
	int r;

	strv_addf(&unit->sources, "%s/%s", unit_dir->path, file);
	r = strv_error(&unit->sources);
	if (r < 0)
		return r;
	unit->has_fragment = true;
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
	if (r < 0) {
		unit->state = UNIT_FAILED;
		return str_printf(&unit->failure, "the unit does not load: %s", strerror(-r));
	}
	return unit_parse(
		&(struct unit_parse){
			.text = loader->text.data,
			.size = loader->text.size,
			.cut = loader->text.cut,
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
			if (r >= 0 && quadlet->files[i].text)
				r = unit_parse(
					&(struct unit_parse){
						.text = quadlet->files[i].text,
						.size = quadlet->files[i].size,
						.dropin = i > 0,
						.source = i,
						.version = loader->version,
						.diag = loader->diag,
					},
					unit);
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

int unit_load(struct unit_loader *loader, const char *name, struct unit *ret)
{
	_cleanup_(unit_done) struct unit unit = {};
	char file[UNIT_NAME_MAX], id[UNIT_NAME_MAX], slice[UNIT_NAME_MAX];
	size_t dir = 0;
	bool found;
	int r;

	r = unit_canonical_name(loader->path, name, &dir, file, id);
	if (r == -ENOMEM)
		return r;
	found = r >= 0;
	unit.name = strdup(found ? id : name);
	if (!unit.name)
		return -ENOMEM;
	unit.form = unit_name_form(unit.name, &unit.type);
	if (unit.form == UNIT_FORM_INVALID)
		return -EINVAL;
	if (r == -ELOOP) {
		unit.state = UNIT_FAILED;
		unit.failure = strdup("the unit does not load: its aliases form a loop");
		if (!unit.failure)
			return -ENOMEM;
		goto done;
	}
	/* what generators make beats what stands behind their place in the search path */
	if (!found || (dir >= loader->path->generated && loader->quadlets &&
		       unit_quadlets_find(loader->quadlets, unit.name)))
		r = load_generated(loader, &unit);
	else
		r = load_fragment(loader, &unit, dir, file);
	if (r < 0)
		return r;
	r = find_aliases(loader, &unit);
	if (r >= 0 && (unit.state == UNIT_LOADED || unit.state == UNIT_NOT_FOUND))
		r = load_dropins(loader, &unit);
	if (r < 0)
		return r;
	if (!unit.slice && unit_name_default_slice(unit.name, loader->user, slice) == 0) {
		unit.slice = strdup(slice);
		if (!unit.slice)
			return -ENOMEM;
	}
done:
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
