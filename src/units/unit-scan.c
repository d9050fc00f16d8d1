/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-scan.h"

#include "base/diag.h"
#include "units/unit-parse.h"
#include "units/unit-quadlet.h"

#include <dirent.h>
#include <stdio.h>

struct scanner {
	struct unit_loader *loader;
	struct unit_scan *scan;
};

/* --- small vectors --- */

static int add_stem(struct unit_stems *stems, const char *name)
{
	char *copy = strdup(name);

	if (!copy || !GROW(stems->items, stems->n, stems->alloc)) {
		free(copy);
		return -ENOMEM;
	}
	stems->items[stems->n++] = (struct unit_stem){ .name = copy };
	return 0;
}

static int add_subdir(struct unit_subdirs *subdirs, const char *name, size_t dir)
{
	char *copy = strdup(name);

	if (!copy || !GROW(subdirs->items, subdirs->n, subdirs->alloc)) {
		free(copy);
		return -ENOMEM;
	}
	subdirs->items[subdirs->n++] = (struct unit_subdir){ copy, dir };
	return 0;
}

/* Takes the unit over. */
static int add_fragment(struct unit_fragments *fragments, struct unit *unit)
{
	char *name = strdup(unit->name);

	if (!name || !GROW(fragments->items, fragments->n, fragments->alloc)) {
		free(name);
		unit_done(unit);
		return -ENOMEM;
	}
	fragments->items[fragments->n++] =
		(struct unit_fragment){ .name = name, .unit = *unit };
	return 0;
}

static int compare_stems(const void *a, const void *b)
{
	return strcmp(((const struct unit_stem *)a)->name, ((const struct unit_stem *)b)->name);
}

static int compare_fragments(const void *a, const void *b)
{
	return strcmp(((const struct unit_fragment *)a)->name,
		      ((const struct unit_fragment *)b)->name);
}

static int compare_subdirs(const void *a, const void *b)
{
	const struct unit_subdir *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->dir > y->dir) - (x->dir < y->dir);
}

/* --- one entry --- */

/* The text of a file; 0 when there is none to look at. */
static int read_text(struct unit_loader *loader, int dir_fd, const char *dir_path,
		     const char *name, bool regular)
{
	int r = unit_text_read(&loader->text, loader->root, dir_fd, dir_path, name, regular);

	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	(void)unit_loader_note_unreadable(loader, dir_path, name,
					  r); /* no text: told at the end */
	return r < 0 ? 0 : 1;
}

static bool has_word(const struct unit_text *text, const char *word)
{
	return memmem(text->data, text->size, word, strlen(word));
}

/* Timers, paths and sockets that name what they start. */
static int scan_trigger(struct scanner *scanner, const char *name, enum unit_type type)
{
	const struct unit_text *text = &scanner->loader->text;
	_cleanup_(unit_done) struct unit unit = { .type = type };
	_cleanup_diag_ struct diag ignored = {};
	char template[UNIT_NAME_MAX];
	int r;

	if (!has_word(text, "Unit=") && !has_word(text, "Unit ") &&
	    !has_word(text, "Service") && !has_word(text, "Accept"))
		return 0;
	strv_add(&unit.sources, name);
	r = strv_error(&unit.sources);
	if (r >= 0)
		r = unit_parse(&(struct unit_parse){ .text = text->data,
						     .size = text->size,
						     .diag = &ignored },
			       &unit);
	if (r < 0)
		return r;
	if (unit.triggers && unit_name_type(unit.triggers) >= 0)
		return unit_aliases_add(&scanner->scan->triggers, name, unit.triggers, false);
	if (unit.accept &&
	    snprintf(template, sizeof(template), "%.*s@.service",
		     (int)(strlen(name) - strlen(".socket")), name) < (int)sizeof(template))
		return unit_aliases_add(&scanner->scan->triggers, name, template, false);
	return 0;
}

/*
 * A file with a setting, its text at hand: what it makes of its unit, unless a file of a higher
 * directory hides it.
 */
static int scan_fragment(struct scanner *scanner, size_t dir, const char *name)
{
	struct unit_loader *loader = scanner->loader;
	char alias[UNIT_NAME_MAX];
	enum unit_entry entry;
	struct unit unit = {};
	int r = 0;

	for (size_t i = 0; i < dir; i++) {
		r = unit_path_entry(loader->path, i, name, DT_UNKNOWN, &entry, alias);
		if (r < 0 || entry != UNIT_ENTRY_NONE)
			return r;
	}
	strv_add(&scanner->scan->names, name);
	r = strv_error(&scanner->scan->names);
	/* a quadlet's service has nothing of a file below the generators' */
	if (r < 0 || (dir >= loader->path->generated && loader->quadlets &&
		      unit_quadlets_find(loader->quadlets, name)))
		return r;
	r = unit_load_fragment(loader, name, dir, &unit);
	return r < 0 ? r : add_fragment(&scanner->scan->fragments, &unit);
}

static int scan_unit(struct scanner *scanner, size_t dir, const char *name, unsigned char type)
{
	struct unit_loader *loader = scanner->loader;
	const struct unit_dir *unit_dir = &loader->path->dirs[dir];
	char alias[UNIT_NAME_MAX];
	enum unit_entry entry;
	enum unit_type unit_type;
	int r;

	if (unit_name_form(name, &unit_type) == UNIT_FORM_INVALID)
		return 0;
	r = unit_path_entry(loader->path, dir, name, type, &entry, alias);
	if (r < 0 || entry == UNIT_ENTRY_NONE)
		return r;
	if (entry == UNIT_ENTRY_ALIAS)
		return unit_aliases_add(&scanner->scan->aliases, name, alias,
					!str_skip_prefix(unit_dir->path, "/usr/") &&
						!str_skip_prefix(unit_dir->path, "/lib/"));
	r = read_text(loader, unit_dir->fd, unit_dir->path, name, type == DT_REG);
	if (r <= 0)
		return r;
	if (unit_type == UNIT_TIMER || unit_type == UNIT_PATH || unit_type == UNIT_SOCKET) {
		r = scan_trigger(scanner, name, unit_type);
		if (r < 0)
			return r;
	}
	return unit_setting_may_occur(loader->text.data, loader->text.size)
		       ? scan_fragment(scanner, dir, name)
		       : 0;
}

static int note_stem(struct unit_scan *scan, const char *stem)
{
	enum unit_form form = unit_name_form(stem, NULL);

	if (form == UNIT_FORM_INVALID) {
		scan->types |= 1U << unit_type_from_string(stem);
		return 0;
	}
	if (unit_name_is_shared_stem(stem, form))
		return add_stem(&scan->stems, stem);
	strv_add(&scan->names, stem);
	return strv_error(&scan->names);
}

static int scan_dropins(struct scanner *scanner, size_t dir, const char *subdir,
			const char *stem)
{
	struct unit_loader *loader = scanner->loader;
	_cleanup_(unit_listing_done) struct unit_listing listing = {
		.fd = -EBADF,
		.buf = loader->listing,
		.budget = loader->budget,
	};
	_cleanup_free_ char *path = NULL;
	enum unit_form form;
	unsigned char type;
	const char *file;
	int r;

	form = unit_name_form(stem, NULL);
	if (form == UNIT_FORM_INVALID)
		scanner->scan->has_types |= 1U << unit_type_from_string(stem);
	else if (unit_name_is_shared_stem(stem, form))
		strv_add(&scanner->scan->shared, subdir);
	r = unit_path_open_subdir(loader->path, dir, subdir, &listing.fd);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0) {
		(void)unit_loader_note_unreadable(loader, loader->path->dirs[dir].path, subdir,
						  r); /* likewise */
		return 0;
	}
	r = str_printf(&path, "%s/%s", loader->path->dirs[dir].path, subdir);
	while (r >= 0 && unit_listing_next(&listing, &file, &type)) {
		if (!unit_name_is_dropin(file))
			continue;
		r = read_text(loader, listing.fd, path, file, type == DT_REG);
		/* one is enough: loading reads the others */
		if (r > 0 && unit_setting_may_occur(loader->text.data, loader->text.size))
			return note_stem(scanner->scan, stem);
	}
	return r < 0 ? r : 0;
}

static int scan_entry(void *data, size_t dir, const char *name, unsigned char type)
{
	struct scanner *scanner = data;
	char stem[UNIT_NAME_MAX];
	bool dropins;

	if (type == DT_REG)
		return scan_unit(scanner, dir, name, type);
	if (type != DT_DIR && type != DT_LNK && type != DT_UNKNOWN)
		return 0;
	if (unit_name_split_subdir(name, stem, &dropins))
		return dropins ? scan_dropins(scanner, dir, name, stem)
			       : add_subdir(&scanner->scan->wants, name, dir);
	return type == DT_DIR ? 0 : scan_unit(scanner, dir, name, type);
}

static void finish(struct unit_scan *scan)
{
	struct unit_stems *stems = &scan->stems;
	size_t n = 0;

	strv_sort_unique(&scan->names);
	strv_sort_unique(&scan->shared);
	if (scan->fragments.n > 1)
		qsort(scan->fragments.items, scan->fragments.n, sizeof(*scan->fragments.items),
		      compare_fragments);
	if (stems->n > 1)
		qsort(stems->items, stems->n, sizeof(*stems->items), compare_stems);
	for (size_t i = 0; i < stems->n; i++) {
		if (n > 0 && streq(stems->items[i].name, stems->items[n - 1].name))
			free(stems->items[i].name);
		else
			stems->items[n++] = stems->items[i];
	}
	stems->n = n;
	unit_aliases_sort_by_target(&scan->aliases);
	unit_aliases_sort(&scan->triggers);
	if (scan->wants.n > 1)
		qsort(scan->wants.items, scan->wants.n, sizeof(*scan->wants.items),
		      compare_subdirs);
}

int unit_scan(struct unit_loader *loader, struct unit_scan *ret)
{
	_cleanup_(unit_scan_done) struct unit_scan scan = {};
	_cleanup_free_ char *listing = malloc(UNIT_LISTING_SIZE);
	struct scanner scanner = { .loader = loader, .scan = &scan };
	int r;

	if (!listing)
		return -ENOMEM;
	r = unit_path_walk(loader->path, listing, loader->budget, scan_entry, &scanner);
	if (r < 0)
		return r;
	r = strv_error(&scan.shared);
	if (r < 0)
		return r;
	finish(&scan);
	*ret = scan;
	scan = (struct unit_scan){};
	loader->aliases = &ret->aliases;
	loader->fragments = &ret->fragments;
	loader->dropin_dirs = &ret->shared;
	loader->shared_only = true;
	loader->types = ret->has_types;
	return 0;
}

void unit_scan_done(struct unit_scan *scan)
{
	strv_done(&scan->names);
	strv_done(&scan->shared);
	for (size_t i = 0; i < scan->fragments.n; i++) {
		free(scan->fragments.items[i].name);
		unit_done(&scan->fragments.items[i].unit);
	}
	free(scan->fragments.items);
	for (size_t i = 0; i < scan->stems.n; i++)
		free(scan->stems.items[i].name);
	free(scan->stems.items);
	unit_aliases_done(&scan->aliases);
	unit_aliases_done(&scan->triggers);
	for (size_t i = 0; i < scan->wants.n; i++)
		free(scan->wants.items[i].name);
	free(scan->wants.items);
	*scan = (struct unit_scan){};
}

/* --- questions --- */

bool unit_scan_has(const struct unit_scan *scan, const char *name)
{
	return strv_contains_sorted(&scan->names, name);
}

bool unit_scan_has_fragment(const struct unit_scan *scan, const char *name)
{
	const struct unit_fragments *fragments = &scan->fragments;

	return fragments->n > 0 &&
	       bsearch(&(struct unit_fragment){ .name = (char *)name }, fragments->items,
		       fragments->n, sizeof(*fragments->items), compare_fragments);
}

const char *unit_scan_trigger(const struct unit_scan *scan, const char *name)
{
	return unit_aliases_find(&scan->triggers, name);
}
