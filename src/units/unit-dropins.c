/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-dropins.h"

#include "units/unit-parse.h"

#include <dirent.h>

/* directories kept open between listing and reading; the others are opened again */
enum { MAX_OPEN_SUBDIRS = 16 };

/* A directory that was found. */
struct subdir {
	const char *name; /* "foo.service.d", borrowed from the list of names */
	size_t dir;
	int fd;
	char *path;
};

/* One file that a drop-in directory lists. */
struct dropin {
	char *file;
	size_t subdir; /* also the order: of equal names the first counts */
	bool regular;
};

struct dropins {
	struct dropin *items;
	size_t n;
	size_t alloc;
	struct subdir *subdirs;
	size_t n_subdirs;
	struct strv names; /* "foo.service.d", in the order of one search directory */
	bool unreadable;   /* some of it */
};

static void dropins_done(struct dropins *dropins)
{
	for (size_t i = 0; i < dropins->n; i++)
		free(dropins->items[i].file);
	free(dropins->items);
	for (size_t i = 0; i < dropins->n_subdirs; i++) {
		closep(&dropins->subdirs[i].fd);
		free(dropins->subdirs[i].path);
	}
	free(dropins->subdirs);
	strv_done(&dropins->names);
}

static int add_dropin(struct dropins *dropins, const char *file, bool regular)
{
	struct dropin *item;

	if (!GROW(dropins->items, dropins->n, dropins->alloc))
		return -ENOMEM;
	item = &dropins->items[dropins->n];
	*item = (struct dropin){ strdup(file), dropins->n_subdirs - 1, regular };
	if (!item->file)
		return -ENOMEM;
	dropins->n++;
	return 0;
}

/* Takes fd over. */
static int add_subdir(struct dropins *dropins, const char *name, size_t dir, int fd)
{
	struct subdir *subdirs =
		reallocarray(dropins->subdirs, dropins->n_subdirs + 1, sizeof(*subdirs));

	if (!subdirs) {
		closep(&fd);
		return -ENOMEM;
	}
	dropins->subdirs = subdirs;
	subdirs[dropins->n_subdirs++] = (struct subdir){ name, dir, fd, NULL };
	return 0;
}

static int list_subdir(struct unit_loader *loader, size_t dir, const char *name,
		       struct dropins *dropins)
{
	struct unit_listing listing = {
		.fd = -EBADF,
		.buf = loader->listing,
		.budget = loader->budget,
	};
	unsigned char type;
	const char *file;
	int r;

	r = unit_path_open_subdir(loader->path, dir, name, &listing.fd);
	if (r == -ENOENT)
		return 0;
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0) {
		/* systemd warns and goes on, if it is the file system that does not let it */
		dropins->unreadable |= unit_loader_note_unreadable(
			loader, loader->path->dirs[dir].path, name, r);
		return 0;
	}
	r = add_subdir(dropins, name, dir, listing.fd);
	while (r >= 0 && unit_listing_next(&listing, &file, &type))
		/* whatever the entry is, it hides others of its name */
		if (unit_name_is_dropin(file))
			r = add_dropin(dropins, file, type == DT_REG);
	if (r >= 0 && dropins->n_subdirs > MAX_OPEN_SUBDIRS)
		closep(&dropins->subdirs[dropins->n_subdirs - 1].fd);
	return r;
}

/* By file name in byte order, the directory that was found first before the others. */
static int compare_dropins(const void *a, const void *b)
{
	const struct dropin *x = a, *y = b;
	int r = strcmp(x->file, y->file);

	return r ? r : (x->subdir > y->subdir) - (x->subdir < y->subdir);
}

/*
 * Whether there is such a directory that was not listed for this unit yet: thousands of names
 * of one unit may have one prefix. Negative: out of memory.
 */
static int is_next(struct unit_loader *loader, const char *name)
{
	unsigned *turn;
	size_t place;

	if (!strv_find_sorted(loader->dropin_dirs, name, &place))
		return 0;
	if (!loader->turns)
		loader->turns = calloc(loader->dropin_dirs->n, sizeof(*loader->turns));
	if (!loader->turns)
		return -ENOMEM;
	turn = &loader->turns[place];
	if (*turn == loader->turn)
		return 0;
	*turn = loader->turn;
	return 1;
}

/* Names of the directories for one of the unit's names. */
static int add_names(struct unit_loader *loader, const char *name, struct strv *ret)
{
	_cleanup_strv_ struct strv stems = {};
	bool alone = loader->dropin_dirs && loader->shared_only;

	if (alone)
		strv_addf(ret, "%s.d", name);
	if (alone && loader->dropin_dirs->n == 0)
		return strv_error(ret);
	unit_name_dropin_stems(name, &stems);
	/* all but the first are shared with other units */
	for (size_t i = alone; i < stems.n; i++) {
		int r = 1;

		strv_addf(ret, "%s.d", stems.items[i]);
		if (strv_error(ret) < 0)
			return -ENOMEM;
		if (loader->dropin_dirs)
			r = is_next(loader, ret->items[ret->n - 1]);
		if (r < 0)
			return r;
		if (r == 0)
			strv_pop(ret);
	}
	return strv_error(&stems) < 0 ? -ENOMEM : strv_error(ret);
}

static bool has_type_level(const struct unit_loader *loader, enum unit_type type,
			   const char *name)
{
	if (!loader->dropin_dirs)
		return true;
	return loader->shared_only ? loader->types & (1U << type)
				   : strv_contains_sorted(loader->dropin_dirs, name);
}

/* All drop-ins of the names, sorted; the type level comes last, which equal names see. */
static int find_dropins(struct unit_loader *loader, const struct unit *unit,
			struct dropins *dropins)
{
	const char *type;

	loader->turn++;
	for (size_t i = 0; i <= unit->aliases.n; i++) {
		const char *name = i == 0 ? unit->name : unit->aliases.items[i - 1];
		size_t first = dropins->names.n;
		int r = add_names(loader, name, &dropins->names);

		for (size_t dir = 0; r >= 0 && dir < loader->path->n; dir++)
			for (size_t k = first; r >= 0 && k < dropins->names.n; k++)
				r = list_subdir(loader, dir, dropins->names.items[k], dropins);
		if (r < 0)
			return r;
	}
	strv_addf(&dropins->names, "%s.d", unit_type_to_string(unit->type));
	if (strv_error(&dropins->names) < 0)
		return -ENOMEM;
	type = dropins->names.items[dropins->names.n - 1];
	for (size_t dir = 0; has_type_level(loader, unit->type, type) && dir < loader->path->n;
	     dir++) {
		int r = list_subdir(loader, dir, type, dropins);

		if (r < 0)
			return r;
	}
	if (dropins->n > 1)
		qsort(dropins->items, dropins->n, sizeof(*dropins->items), compare_dropins);
	return 0;
}

/* Makes the directory's path and opens it if it was not kept open. */
static int open_subdir(struct unit_loader *loader, struct subdir *subdir)
{
	if (!subdir->path && str_printf(&subdir->path, "%s/%s",
					loader->path->dirs[subdir->dir].path, subdir->name) < 0)
		return -ENOMEM;
	if (subdir->fd >= 0)
		return 0;
	return unit_path_open_subdir(loader->path, subdir->dir, subdir->name, &subdir->fd);
}

static int apply_dropin(struct unit_loader *loader, struct unit *unit, struct dropins *dropins,
			const struct dropin *dropin)
{
	struct subdir *subdir = &dropins->subdirs[dropin->subdir];
	int r = open_subdir(loader, subdir);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* gone meanwhile */
	strv_addf(&unit->sources, "%s/%s", subdir->path, dropin->file);
	r = strv_error(&unit->sources);
	if (r < 0)
		return r;
	r = unit_text_read(&loader->text, loader->root, subdir->fd, subdir->path, dropin->file,
			   dropin->regular);
	if (dropin->subdir >= MAX_OPEN_SUBDIRS)
		closep(&subdir->fd);
	if (r == -ENOMEM)
		return r;
	dropins->unreadable |=
		unit_loader_note_unreadable(loader, subdir->path, dropin->file, r);
	/* a mask, or something that systemd cannot read either */
	return r < 0 ? 0 : unit_loader_parse(loader, unit, true);
}

int unit_load_dropins(struct unit_loader *loader, struct unit *unit)
{
	_cleanup_(dropins_done) struct dropins dropins = {};
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
		r = apply_dropin(loader, unit, &dropins, &dropins.items[i]);
	}
	if (r >= 0 && *loader->budget == 0)
		r = unit_parse_give_up(
			unit,
			"there are more files than are read, this may not be the last word");
	if (r >= 0 && (dropins.unreadable || loader->path->unreadable))
		r = unit_parse_give_up(
			unit, "not all drop-ins of the unit can be read, run this as root");
	return r;
}
