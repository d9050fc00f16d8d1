/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-scan.h"

#include "base/diag.h"
#include "base/root.h"
#include "units/unit-parse.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

struct scanner {
	const struct root *root;
	const struct unit_path *path;
	size_t *budget;
	struct unit_scan *scan;
	struct unit_text text;
	char *listing;	      /* of the search directory */
	char *dropin_listing; /* of a directory in it */
};

/* --- small vectors --- */

/* Makes room for one more, doubling. */
static int grow(void **items, size_t n, size_t *alloc, size_t size)
{
	size_t more = *alloc ? *alloc * 2 : 16;
	void *grown;

	if (n < *alloc)
		return 0;
	grown = reallocarray(*items, more, size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*alloc = more;
	return 0;
}
#define GROW(v) grow((void **)&(v).items, (v).n, &(v).alloc, sizeof(*(v).items))

static int add_stem(struct unit_stems *stems, const char *name)
{
	char *copy = strdup(name);

	if (!copy || GROW(*stems) < 0) {
		free(copy);
		return -ENOMEM;
	}
	stems->items[stems->n++] = (struct unit_stem){ .name = copy };
	return 0;
}

static int add_subdir(struct unit_subdirs *subdirs, const char *name, size_t dir)
{
	char *copy = strdup(name);

	if (!copy || GROW(*subdirs) < 0) {
		free(copy);
		return -ENOMEM;
	}
	subdirs->items[subdirs->n++] = (struct unit_subdir){ copy, dir };
	return 0;
}

static int add_link(struct unit_aliases *links, const char *name, const char *target,
		    bool enables)
{
	char *copy = strdup(name), *target_copy = strdup(target);

	if (!copy || !target_copy || GROW(*links) < 0) {
		free(copy);
		free(target_copy);
		return -ENOMEM;
	}
	links->items[links->n++] = (struct unit_alias){ copy, target_copy, enables };
	return 0;
}

static void links_done(struct unit_aliases *links)
{
	for (size_t i = 0; i < links->n; i++) {
		free(links->items[i].name);
		free(links->items[i].target);
	}
	free(links->items);
}

static int compare_stems(const void *a, const void *b)
{
	return strcmp(((const struct unit_stem *)a)->name, ((const struct unit_stem *)b)->name);
}

static int compare_links_by_name(const void *a, const void *b)
{
	return strcmp(((const struct unit_alias *)a)->name,
		      ((const struct unit_alias *)b)->name);
}

static int compare_aliases(const void *a, const void *b)
{
	const struct unit_alias *x = a, *y = b;
	int r = strcmp(x->target, y->target);

	return r ? r : strcmp(x->name, y->name);
}

static int compare_subdirs(const void *a, const void *b)
{
	const struct unit_subdir *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->dir > y->dir) - (x->dir < y->dir);
}

/* --- one entry --- */

/* The text of a file; 0 when there is none to look at. */
static int read_text(struct scanner *scanner, int dir_fd, const char *dir_path,
		     const char *name, bool regular)
{
	int r = unit_text_read(&scanner->text, scanner->root, dir_fd, dir_path, name, regular);

	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	return r < 0 ? 0 : 1;
}

/* Timers, paths and sockets that name what they start. */
static int scan_trigger(struct scanner *scanner, const char *name, enum unit_type type)
{
	_cleanup_(unit_done) struct unit unit = { .type = type };
	_cleanup_diag_ struct diag ignored = {};
	char template[UNIT_NAME_MAX];
	int r;

	if (!memmem(scanner->text.data, scanner->text.size, "Unit=", 5) &&
	    !memmem(scanner->text.data, scanner->text.size, "Unit ", 5) &&
	    !memmem(scanner->text.data, scanner->text.size, "Service", 7) &&
	    !memmem(scanner->text.data, scanner->text.size, "Accept", 6))
		return 0;
	strv_add(&unit.sources, name);
	r = strv_error(&unit.sources);
	if (r >= 0)
		r = unit_parse(&(struct unit_parse){ .text = scanner->text.data,
						     .size = scanner->text.size,
						     .diag = &ignored },
			       &unit);
	if (r < 0)
		return r;
	if (unit.triggers && unit_name_type(unit.triggers) >= 0)
		return add_link(&scanner->scan->triggers, name, unit.triggers, false);
	if (unit.accept &&
	    snprintf(template, sizeof(template), "%.*s@.service",
		     (int)(strlen(name) - strlen(".socket")), name) < (int)sizeof(template))
		return add_link(&scanner->scan->triggers, name, template, false);
	return 0;
}

static int scan_unit(struct scanner *scanner, size_t dir, const char *name, unsigned char type)
{
	const struct unit_dir *unit_dir = &scanner->path->dirs[dir];
	char alias[UNIT_NAME_MAX];
	enum unit_entry entry;
	enum unit_type unit_type;
	int r;

	if (unit_name_form(name, &unit_type) == UNIT_FORM_INVALID)
		return 0;
	r = unit_path_entry(scanner->path, dir, name, type, &entry, alias);
	if (r < 0 || entry == UNIT_ENTRY_NONE)
		return r;
	if (entry == UNIT_ENTRY_ALIAS)
		return add_link(&scanner->scan->aliases, name, alias,
				!str_skip_prefix(unit_dir->path, "/usr/") &&
					!str_skip_prefix(unit_dir->path, "/lib/"));
	r = read_text(scanner, unit_dir->fd, unit_dir->path, name, type == DT_REG);
	if (r <= 0)
		return r;
	if (unit_type == UNIT_TIMER || unit_type == UNIT_PATH || unit_type == UNIT_SOCKET) {
		r = scan_trigger(scanner, name, unit_type);
		if (r < 0)
			return r;
	}
	r = unit_parse_matters(scanner->text.data, scanner->text.size);
	if (r > 0)
		strv_add(&scanner->scan->names, name);
	return r < 0 ? r : strv_error(&scanner->scan->names);
}

/* Whether a stem's drop-ins belong to more than the unit of that very name. */
static bool is_shared_stem(const char *stem, enum unit_form form)
{
	const char *at = strchr(stem, '@'), *end = at ? at : strrchr(stem, '.');

	return form == UNIT_FORM_TEMPLATE || end[-1] == '-';
}

static int note_stem(struct unit_scan *scan, const char *stem)
{
	enum unit_form form = unit_name_form(stem, NULL);

	if (form == UNIT_FORM_INVALID) {
		scan->types |= 1U << unit_type_from_string(stem);
		return 0;
	}
	if (is_shared_stem(stem, form))
		return add_stem(&scan->stems, stem);
	strv_add(&scan->names, stem);
	return strv_error(&scan->names);
}

static int scan_dropins(struct scanner *scanner, size_t dir, const char *subdir,
			const char *stem)
{
	_cleanup_(unit_listing_done) struct unit_listing listing = {
		.fd = -EBADF,
		.buf = scanner->dropin_listing,
		.budget = scanner->budget,
	};
	_cleanup_free_ char *path = NULL;
	enum unit_form form;
	unsigned char type;
	const char *file;
	int r;

	form = unit_name_form(stem, NULL);
	if (form == UNIT_FORM_INVALID)
		scanner->scan->has_types |= 1U << unit_type_from_string(stem);
	else if (is_shared_stem(stem, form))
		scanner->scan->has_shared = true;
	r = unit_path_open_subdir(scanner->path, dir, subdir, &listing.fd);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	if (r < 0)
		return 0;
	r = str_printf(&path, "%s/%s", scanner->path->dirs[dir].path, subdir);
	while (r >= 0 && unit_listing_next(&listing, &file, &type)) {
		if (!str_has_suffix(file, ".conf") || unit_name_is_backup(file))
			continue;
		r = read_text(scanner, listing.fd, path, file, type == DT_REG);
		if (r > 0)
			r = unit_parse_matters(scanner->text.data, scanner->text.size);
		/* one is enough: loading reads the others */
		if (r > 0)
			return note_stem(scanner->scan, stem);
	}
	return r;
}

/* A directory of the search path, or a link that may lead to one. False: no such name. */
static bool split_subdir(const char *name, char stem[static UNIT_NAME_MAX], bool *ret_dropins)
{
	static const char *const suffixes[] = { ".d", ".wants", ".requires", ".upholds" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(suffixes); i++) {
		size_t n = (size_t)(dot - name);

		if (!streq(dot, suffixes[i]) || n >= UNIT_NAME_MAX)
			continue;
		memcpy(stem, name, n);
		stem[n] = '\0';
		*ret_dropins = i == 0;
		return unit_name_form(stem, NULL) != UNIT_FORM_INVALID ||
		       unit_type_from_string(stem) >= 0;
	}
	return false;
}

static int scan_entry(struct scanner *scanner, size_t dir, const char *name, unsigned char type)
{
	char stem[UNIT_NAME_MAX];
	bool dropins;

	if (type == DT_REG)
		return scan_unit(scanner, dir, name, type);
	if (type != DT_DIR && type != DT_LNK && type != DT_UNKNOWN)
		return 0;
	if (split_subdir(name, stem, &dropins))
		return dropins ? scan_dropins(scanner, dir, name, stem)
			       : add_subdir(&scanner->scan->wants, name, dir);
	return type == DT_DIR ? 0 : scan_unit(scanner, dir, name, type);
}

/* Calls a function for every entry of every search directory. */
static int each_entry(const struct unit_path *path, char *buf, size_t *budget,
		      int (*function)(void *data, size_t dir, const char *name,
				      unsigned char type),
		      void *data)
{
	for (size_t dir = 0; dir < path->n; dir++) {
		_cleanup_(unit_listing_done) struct unit_listing listing = {
			.fd = -EBADF,
			.buf = buf,
			.budget = budget,
		};
		unsigned char type;
		const char *name;
		int r;

		r = root_open_dir(path->root, path->dirs[dir].path, &listing.fd);
		if (r < 0)
			return r;
		while (unit_listing_next(&listing, &name, &type)) {
			r = function(data, dir, name, type);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int scan_one(void *data, size_t dir, const char *name, unsigned char type)
{
	return scan_entry(data, dir, name, type);
}

/* Sorted, each once. */
static void sort_names(struct strv *names)
{
	size_t n = 0;

	strv_sort(names);
	for (size_t i = 0; i < names->n; i++) {
		if (n > 0 && streq(names->items[i], names->items[n - 1]))
			free(names->items[i]);
		else
			names->items[n++] = names->items[i];
	}
	names->n = n;
}

static void finish(struct unit_scan *scan)
{
	struct unit_stems *stems = &scan->stems;
	size_t n = 0;

	sort_names(&scan->names);
	if (stems->n > 1)
		qsort(stems->items, stems->n, sizeof(*stems->items), compare_stems);
	for (size_t i = 0; i < stems->n; i++) {
		if (n > 0 && streq(stems->items[i].name, stems->items[n - 1].name))
			free(stems->items[i].name);
		else
			stems->items[n++] = stems->items[i];
	}
	stems->n = n;
	if (scan->aliases.n > 1)
		qsort(scan->aliases.items, scan->aliases.n, sizeof(*scan->aliases.items),
		      compare_aliases);
	if (scan->triggers.n > 1)
		qsort(scan->triggers.items, scan->triggers.n, sizeof(*scan->triggers.items),
		      compare_links_by_name);
	if (scan->wants.n > 1)
		qsort(scan->wants.items, scan->wants.n, sizeof(*scan->wants.items),
		      compare_subdirs);
}

int unit_scan(const struct root *root, const struct unit_path *path, size_t *budget,
	      struct unit_scan *ret)
{
	_cleanup_(unit_scan_done) struct unit_scan scan = {};
	_cleanup_free_ char *listings = malloc((size_t)UNIT_LISTING_SIZE * 2);
	struct scanner scanner = {
		.root = root,
		.path = path,
		.budget = budget,
		.scan = &scan,
		.text = { .whole_reads = path->whole_reads },
		.listing = listings,
		.dropin_listing = listings + UNIT_LISTING_SIZE,
	};
	int r;

	if (!listings)
		return -ENOMEM;
	r = each_entry(path, scanner.listing, budget, scan_one, &scanner);
	unit_text_done(&scanner.text);
	if (r < 0)
		return r;
	finish(&scan);
	*ret = scan;
	scan = (struct unit_scan){};
	return 0;
}

void unit_scan_done(struct unit_scan *scan)
{
	strv_done(&scan->names);
	for (size_t i = 0; i < scan->stems.n; i++)
		free(scan->stems.items[i].name);
	free(scan->stems.items);
	links_done(&scan->aliases);
	links_done(&scan->triggers);
	for (size_t i = 0; i < scan->wants.n; i++)
		free(scan->wants.items[i].name);
	free(scan->wants.items);
	*scan = (struct unit_scan){};
}

/* --- questions --- */

static int compare_with_item(const void *name, const void *item)
{
	return strcmp(name, *(char *const *)item);
}

bool unit_scan_has(const struct unit_scan *scan, const char *name)
{
	return scan->names.n > 0 && bsearch(name, scan->names.items, scan->names.n,
					    sizeof(*scan->names.items), compare_with_item);
}

static struct unit_stem *find_stem(struct unit_scan *scan, const char *name)
{
	return scan->stems.n > 0
		       ? bsearch(&(struct unit_stem){ .name = (char *)name }, scan->stems.items,
				 scan->stems.n, sizeof(*scan->stems.items), compare_stems)
		       : NULL;
}

bool unit_scan_concerns(struct unit_scan *scan, const char *name)
{
	_cleanup_strv_ struct strv stems = {};
	char template[UNIT_NAME_MAX];
	enum unit_type type;
	enum unit_form form = unit_name_form(name, &type);
	bool concerns;

	if (form == UNIT_FORM_INVALID)
		return false;
	concerns = scan->types & (1U << type);
	if (form == UNIT_FORM_INSTANCE && unit_name_template(name, template) == 0)
		concerns |= unit_scan_has(scan, template);
	if (scan->stems.n == 0)
		return concerns;
	unit_name_dropin_stems(name, &stems);
	for (size_t i = 0; i < stems.n; i++) {
		struct unit_stem *stem = find_stem(scan, stems.items[i]);

		if (!stem)
			continue;
		/* its own name in there is no other unit's drop-in */
		stem->used |= i > 0;
		concerns = true;
	}
	return concerns;
}

const char *unit_scan_trigger(const struct unit_scan *scan, const char *name)
{
	const struct unit_alias *found =
		scan->triggers.n > 0
			? bsearch(&(struct unit_alias){ .name = (char *)name },
				  scan->triggers.items, scan->triggers.n,
				  sizeof(*scan->triggers.items), compare_links_by_name)
			: NULL;

	return found ? found->target : NULL;
}

/* --- units that are there only in part --- */

struct expansion {
	struct unit_scan *scan;
	bool user;
	struct strv found;
};

static int expand_name(struct expansion *expansion, const char *name)
{
	char slice[UNIT_NAME_MAX];

	if (unit_scan_concerns(expansion->scan, name))
		strv_add(&expansion->found, name);
	/* an instance brings the slice of its template along */
	if (unit_name_form(name, NULL) == UNIT_FORM_INSTANCE &&
	    unit_name_default_slice(name, expansion->user, slice) == 0 &&
	    unit_scan_concerns(expansion->scan, slice))
		strv_add(&expansion->found, slice);
	return strv_error(&expansion->found);
}

static int expand_one(void *data, size_t dir _unused_, const char *name,
		      unsigned char type _unused_)
{
	char stem[UNIT_NAME_MAX];
	enum unit_form form;
	bool dropins;

	if (unit_name_form(name, NULL) != UNIT_FORM_INVALID)
		return expand_name(data, name);
	/* a slice or an instance may have nothing but drop-ins */
	if (!split_subdir(name, stem, &dropins) || !dropins)
		return 0;
	form = unit_name_form(stem, NULL);
	return form == UNIT_FORM_INVALID || is_shared_stem(stem, form)
		       ? 0
		       : expand_name(data, stem);
}

int unit_scan_expand(struct unit_scan *scan, const struct unit_path *path, bool user,
		     const struct strv *more, size_t *budget)
{
	static const char *const always[] = { "-.slice", "system.slice", "user.slice",
					      "init.scope" };
	struct expansion expansion = { .scan = scan, .user = user };
	_cleanup_free_ char *buf = malloc(UNIT_LISTING_SIZE);
	int r = buf ? 0 : -ENOMEM;

	if (r >= 0 && (scan->types || scan->stems.n > 0))
		r = each_entry(path, buf, budget, expand_one, &expansion);
	for (size_t i = 0; i < ARRAY_SIZE(always) && r >= 0; i++)
		if (!user || i == 0)
			r = expand_name(&expansion, always[i]);
	for (size_t i = 0; i < more->n && r >= 0; i++) {
		strv_add(&expansion.found, more->items[i]);
		r = strv_error(&expansion.found);
	}
	/* a drop-in that nothing has yet stands for itself */
	for (size_t i = 0; i < scan->stems.n && r >= 0; i++) {
		const char *name = scan->stems.items[i].name;
		enum unit_type type = unit_name_type(name);

		if (!scan->stems.items[i].used || type == UNIT_SLICE || type == UNIT_SCOPE)
			strv_add(&expansion.found, name);
		r = strv_error(&expansion.found);
	}
	for (size_t i = 0; i < expansion.found.n && r >= 0; i++) {
		strv_add(&scan->names, expansion.found.items[i]);
		r = strv_error(&scan->names);
	}
	strv_done(&expansion.found);
	if (r < 0)
		return r;
	sort_names(&scan->names);
	return 0;
}

/* --- what is wanted --- */

/* Whether a higher directory of the same name has the entry already. */
static bool is_hidden(const struct unit_path *path, const struct unit_subdirs *wants,
		      size_t first, size_t current, const char *name)
{
	for (size_t i = first; i < current; i++) {
		_cleanup_fd_ int fd = -EBADF;
		struct stat st;

		if (unit_path_open_subdir(path, wants->items[i].dir, wants->items[i].name,
					  &fd) >= 0 &&
		    fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) >= 0)
			return true;
	}
	return false;
}

/* A link to /dev/null or to an empty file takes the dependency away. */
static bool is_mask(const struct root *root, int dir_fd, const char *dir_path, const char *name)
{
	char link[16];
	ssize_t n = readlinkat(dir_fd, name, link, sizeof(link));
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (n == 9 && memcmp(link, "/dev/null", 9) == 0)
		return true;
	if (str_printf(&path, "%s/%s", dir_path, name) < 0 || root_stat(root, path, &st) < 0)
		return false; /* a dangling link is a wish all the same */
	return S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ||
	       (S_ISREG(st.st_mode) && st.st_size == 0);
}

static int walk_wants(const struct unit_scan *scan, const struct unit_path *path, size_t first,
		      size_t current, char *buf, size_t *budget,
		      int (*function)(void *data, const char *name), void *data)
{
	const struct unit_subdir *wants = &scan->wants.items[current];
	_cleanup_(unit_listing_done) struct unit_listing listing = {
		.fd = -EBADF,
		.buf = buf,
		.budget = budget,
	};
	_cleanup_free_ char *dir_path = NULL;
	unsigned char type;
	const char *name;
	int r;

	r = unit_path_open_subdir(path, wants->dir, wants->name, &listing.fd);
	if (r < 0)
		return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
	r = str_printf(&dir_path, "%s/%s", path->dirs[wants->dir].path, wants->name);
	while (r >= 0 && unit_listing_next(&listing, &name, &type)) {
		if ((type != DT_LNK && type != DT_UNKNOWN) || unit_name_is_backup(name) ||
		    unit_name_form(name, NULL) == UNIT_FORM_INVALID)
			continue;
		if (is_hidden(path, &scan->wants, first, current, name) ||
		    is_mask(path->root, listing.fd, dir_path, name))
			continue;
		r = function(data, name);
	}
	return r;
}

int unit_scan_wants(const struct unit_scan *scan, const struct unit_path *path, size_t *budget,
		    int (*function)(void *data, const char *name), void *data)
{
	_cleanup_free_ char *buf = malloc(UNIT_LISTING_SIZE);
	size_t first = 0;
	int r = buf ? 0 : -ENOMEM;

	for (size_t i = 0; i < scan->wants.n && r >= 0; i++) {
		if (!streq(scan->wants.items[i].name, scan->wants.items[first].name))
			first = i;
		r = walk_wants(scan, path, first, i, buf, budget, function, data);
	}
	return r;
}
