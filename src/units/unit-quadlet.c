/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-quadlet.h"

#include "base/ini.h"
#include "base/root.h"
#include "base/str.h"
#include "units/unit-name.h"
#include "units/unit-parse.h"
#include "units/unit-quadlet-limit.h"
#include "units/unit-text.h"

#include <dirent.h>
#include <stdio.h>

#define SYSTEM_DIR "/etc/containers/systemd"
#define USERS_DIR  SYSTEM_DIR "/users"

/* directories in directories that are looked into */
enum { MAX_DEPTH = 8, MAX_DIRS = 1000 };

static const struct {
	const char *suffix;
	const char *section;
	const char *service; /* appended to the name */
} kinds[] = {
	{ ".container", "Container", "" },
	{ ".pod", "Pod", "-pod" },
	{ ".kube", "Kube", "" },
	{ ".build", "Build", "-build" },
	{ ".image", "Image", "-image" },
	{ ".network", "Network", "-network" },
	{ ".volume", "Volume", "-volume" },
	{ ".artifact", "Artifact", "-artifact" },
};

/* Something in one of the directories. */
struct entry {
	char *name;
	size_t dir; /* index into dirs */
	bool regular;
};

/* Initialise with {}. Sorted by name, then by priority. */
struct entries {
	struct entry *items;
	size_t n;
	size_t alloc;
};

struct reader {
	const struct root *root;
	size_t *budget;
	struct strv dirs; /* with the directories below them, highest priority first */
	struct {
		dev_t dev;
		ino_t ino;
	} seen[MAX_DIRS]; /* what they are: links may lead back to one */
	struct entries dropin_dirs;
	struct entries files;
	struct unit_text text;
	struct unit_quadlets quadlets;
	size_t alloc;
};

static int add_entry(struct entries *entries, const char *name, size_t dir, bool regular)
{
	struct entry entry = { strdup(name), dir, regular };

	if (!entry.name || !GROW(entries->items, entries->n, entries->alloc)) {
		free(entry.name);
		return -ENOMEM;
	}
	entries->items[entries->n++] = entry;
	return 0;
}

static void entries_done(struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		free(entries->items[i].name);
	free(entries->items);
}

static int compare_by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->dir > y->dir) - (x->dir < y->dir);
}

static int compare_by_dir(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->dir != y->dir ? (x->dir > y->dir) - (x->dir < y->dir)
				: strcmp(x->name, y->name);
}

static void sort_entries(struct entries *entries, int (*compare)(const void *, const void *))
{
	if (entries->n > 1)
		qsort(entries->items, entries->n, sizeof(*entries->items), compare);
}

static const char *get_name(const void *entries, size_t i)
{
	return ((const struct entries *)entries)->items[i].name;
}

/* --- directories --- */

static int find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_has_suffix(name, kinds[i].suffix) &&
		    strlen(name) > strlen(kinds[i].suffix))
			return (int)i;
	return -1;
}

bool unit_quadlet_is_name(const char *name)
{
	return find_kind(name) >= 0;
}

/* What one entry of a directory is: a quadlet, drop-ins of quadlets, a directory below. */
static int sort_in(struct reader *reader, const char *name, unsigned char type,
		   struct strv *below)
{
	size_t dir = reader->dirs.n - 1;

	if (type != DT_DIR && find_kind(name) >= 0)
		return add_entry(&reader->files, name, dir, type == DT_REG);
	if (type != DT_DIR && type != DT_LNK && type != DT_UNKNOWN)
		return 0;
	if (strlen(name) > 2 && str_has_suffix(name, ".d"))
		return add_entry(&reader->dropin_dirs, name, dir, false);
	if (*name != '.')
		strv_add(below, name);
	return strv_error(below);
}

/* The users' part is not for the system, and what is one user's own comes last for that one. */
static bool is_left_out(const char *path, const char *name, bool user)
{
	unsigned uid;

	return user ? streq(path, USERS_DIR) && str_parse_uint(name, &uid) == 0
		    : streq(path, SYSTEM_DIR) && streq(name, "users");
}

static int add_dir(struct reader *reader, const char *path, bool user, unsigned depth)
{
	_cleanup_(unit_listing_done) struct unit_listing listing = {
		.fd = -EBADF,
		.budget = reader->budget,
	};
	_cleanup_free_ char *buf = NULL;
	_cleanup_strv_ struct strv names = {};
	unsigned char type;
	const char *name;
	struct stat st;
	int r;

	r = root_open_dir(reader->root, path, &listing.fd);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (fstat(listing.fd, &st) < 0)
		return -errno;
	for (size_t i = 0; i < reader->dirs.n; i++)
		if (reader->seen[i].ino == st.st_ino && reader->seen[i].dev == st.st_dev)
			return 0;
	if (depth == 0 || reader->dirs.n == MAX_DIRS) {
		reader->quadlets.cut = true;
		return 0;
	}
	reader->seen[reader->dirs.n].dev = st.st_dev;
	reader->seen[reader->dirs.n].ino = st.st_ino;
	listing.buf = buf = malloc(UNIT_LISTING_SIZE);
	if (!buf)
		return -ENOMEM;
	strv_add(&reader->dirs, path);
	r = strv_error(&reader->dirs);
	while (r >= 0 && unit_listing_next(&listing, &name, &type)) {
		if (is_left_out(path, name, user))
			continue;
		r = sort_in(reader, name, type, &names);
	}
	strv_sort(&names);
	for (size_t i = 0; i < names.n && r >= 0; i++) {
		_cleanup_free_ char *below = NULL;

		r = str_printf(&below, "%s/%s", path, names.items[i]);
		if (r >= 0)
			r = add_dir(reader, below, user, depth - 1);
	}
	return r;
}

/* What only one user's manager sees; of nobody in particular, all of them. */
static int list_own_dirs(const struct root *root, const struct unit_owner *owner,
			 struct strv *ret)
{
	_cleanup_strv_ struct strv names = {};
	int r;

	if (owner->home) {
		strv_addf(ret, USERS_DIR "/%u", (unsigned)owner->uid);
		return strv_error(ret);
	}
	r = root_list(root, USERS_DIR, &names);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < names.n; i++)
		if (is_left_out(USERS_DIR, names.items[i], true))
			strv_addf(ret, USERS_DIR "/%s", names.items[i]);
	return strv_error(ret);
}

static int list_user_dirs(const struct root *root, const struct unit_owner *owner,
			  struct strv *ret)
{
	if (owner->runtime)
		strv_addf(ret, "%s/containers/systemd", owner->runtime);
	if (owner->home)
		strv_addf(ret, "%s/.config/containers/systemd", owner->home);
	strv_add(ret, USERS_DIR);
	return list_own_dirs(root, owner, ret);
}

static int add_dirs(struct reader *reader, const struct unit_owner *owner)
{
	_cleanup_strv_ struct strv all = {};
	int r = 0;

	if (owner->user)
		r = list_user_dirs(reader->root, owner, &all);
	else {
		strv_add(&all, "/run/containers/systemd");
		strv_add(&all, SYSTEM_DIR);
		strv_add(&all, "/usr/share/containers/systemd");
	}
	if (strv_error(&all) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < all.n && r >= 0; i++)
		r = add_dir(reader, all.items[i], owner->user, MAX_DEPTH);
	return r;
}

/* --- one quadlet --- */

/* Reads a file to the end of the quadlet's list; nothing when it is empty or not readable. */
static int add_file(struct reader *reader, struct unit_quadlet *quadlet, int dir_fd,
		    const char *dir, const char *name, bool regular)
{
	struct unit_quadlet_file file = {}, *files;
	int r;

	r = unit_text_read(&reader->text, reader->root, dir_fd, dir, name, regular);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || reader->text.cut)
		return 0;
	files = reallocarray(quadlet->files, quadlet->n_files + 1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	quadlet->files = files;
	if (str_printf(&file.path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	file.size = reader->text.size;
	file.text = str_dup_n(reader->text.data, file.size);
	if (!file.text) {
		free(file.path);
		return -ENOMEM;
	}
	files[quadlet->n_files++] = file;
	return 0;
}

/* "web.container" -> "web.container.d", "container.d"; "a-b.pod" also "a-.pod.d". */
static void dropin_dirs(const char *name, struct strv *ret)
{
	const char *dot = strrchr(name, '.'), *at = strchr(name, '@');
	size_t n = at ? (size_t)(at - name) : (size_t)(dot - name);

	strv_addf(ret, "%s.d", name);
	if (at && at + 1 < dot)
		strv_addf(ret, "%.*s@%s.d", (int)n, name, dot);
	while (n > 1) {
		const char *dash = memrchr(name, '-', n - 1);

		if (!dash || dash == name)
			break;
		n = (size_t)(dash - name) + 1;
		strv_addf(ret, "%.*s%s.d", (int)n, name, dot);
	}
	strv_addf(ret, "%s.d", dot + 1);
}

/* The files of one drop-in directory; order says which of equal names counts. */
static int list_dropins(struct reader *reader, const char *path, size_t order,
			struct entries *ret)
{
	_cleanup_(unit_listing_done) struct unit_listing listing = {
		.fd = -EBADF,
		.budget = reader->budget,
	};
	_cleanup_free_ char *buf = NULL;
	unsigned char type;
	const char *name;
	int r;

	r = root_open_dir(reader->root, path, &listing.fd);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	listing.buf = buf = malloc(UNIT_LISTING_SIZE);
	if (!buf)
		return -ENOMEM;
	while (r >= 0 && unit_listing_next(&listing, &name, &type))
		if (str_has_suffix(name, ".conf"))
			r = add_entry(ret, name, order, type == DT_REG);
	return r;
}

/* Reads the files found, of each name the first; their dir is an index into paths. */
static int add_found(struct reader *reader, struct unit_quadlet *quadlet,
		     const struct strv *paths, struct entries *found)
{
	int r = 0;

	sort_entries(found, compare_by_name);
	for (size_t i = 0; i < found->n && r >= 0; i++) {
		const struct entry *entry = &found->items[i];
		_cleanup_fd_ int fd = -EBADF;

		if (i > 0 && streq(entry->name, found->items[i - 1].name))
			continue;
		if (root_open_dir(reader->root, paths->items[entry->dir], &fd) >= 0)
			r = add_file(reader, quadlet, fd, paths->items[entry->dir], entry->name,
				     entry->regular);
	}
	return r;
}

/* By file name, the first directory that has one winning, as systemd does for units. */
static int add_dropins(struct reader *reader, struct unit_quadlet *quadlet)
{
	const struct entries *dirs = &reader->dropin_dirs;
	_cleanup_strv_ struct strv stems = {}, paths = {};
	_cleanup_(entries_done) struct entries places = {}, found = {};
	int r;

	dropin_dirs(quadlet->name, &stems);
	r = strv_error(&stems);
	/* of those that are there: a directory comes before a more exact name */
	for (size_t k = 0; k < stems.n && r >= 0; k++)
		for (size_t i = str_lower_bound(stems.items[k], dirs->n, get_name, dirs);
		     r >= 0 && i < dirs->n && streq(dirs->items[i].name, stems.items[k]); i++)
			r = add_entry(&places, stems.items[k], dirs->items[i].dir * stems.n + k,
				      false);
	sort_entries(&places, compare_by_dir);
	for (size_t i = 0; i < places.n && r >= 0; i++) {
		strv_addf(&paths, "%s/%s", reader->dirs.items[places.items[i].dir / stems.n],
			  places.items[i].name);
		r = strv_error(&paths);
		if (r >= 0)
			r = list_dropins(reader, paths.items[i], i, &found);
	}
	return r < 0 ? r : add_found(reader, quadlet, &paths, &found);
}

static int set_service(struct unit_quadlet *quadlet, int kind, const char *service_name)
{
	size_t n = strlen(quadlet->name) - strlen(kinds[kind].suffix);
	const char *at = memchr(quadlet->name, '@', n);
	size_t prefix = at ? (size_t)(at - quadlet->name) : n;

	free(quadlet->service);
	quadlet->service = NULL;
	if (service_name)
		return str_printf(&quadlet->service, "%s.service", service_name);
	return str_printf(&quadlet->service, "%.*s%s%.*s.service", (int)prefix, quadlet->name,
			  kinds[kind].service, (int)(n - prefix), quadlet->name + prefix);
}

/* What the files say that is not a limit: the service's name, and whether it starts at boot. */
static int read_names(struct unit_quadlet *quadlet, int kind)
{
	int r = set_service(quadlet, kind, NULL);

	for (size_t i = 0; i < quadlet->n_files && r >= 0; i++) {
		_cleanup_ini_ struct ini *ini = NULL;
		struct ini_item item;

		r = ini_new(quadlet->files[i].text, quadlet->files[i].size, &ini);
		while (r >= 0 && (r = ini_next(ini, &item)) >= 0 && item.kind != INI_END) {
			if (item.kind != INI_ASSIGNMENT)
				continue;
			if (streq(item.section, kinds[kind].section) &&
			    streq(item.key, "ServiceName") && *item.value)
				r = set_service(quadlet, kind, item.value);
			else if (streq(item.section, "Install") && *item.value &&
				 (streq(item.key, "WantedBy") ||
				  streq(item.key, "RequiredBy") || streq(item.key, "UpheldBy")))
				quadlet->installed = true;
		}
	}
	return r;
}

static void quadlet_done(struct unit_quadlet *quadlet)
{
	for (size_t i = 0; i < quadlet->n_files; i++) {
		free(quadlet->files[i].path);
		free(quadlet->files[i].text);
	}
	for (size_t i = 0; i < quadlet->n_limits; i++) {
		free(quadlet->limits[i].setting);
		free(quadlet->limits[i].value);
		free(quadlet->limits[i].path);
	}
	free(quadlet->files);
	free(quadlet->limits);
	free(quadlet->name);
	free(quadlet->service);
	*quadlet = (struct unit_quadlet){};
}

static int load_quadlet(struct reader *reader, int dir_fd, const char *dir, const char *name,
			bool regular, int kind)
{
	_cleanup_(quadlet_done) struct unit_quadlet quadlet = { .name = strdup(name) };
	int r = quadlet.name ? 0 : -ENOMEM;

	if (r >= 0)
		r = add_file(reader, &quadlet, dir_fd, dir, name, regular);
	if (r >= 0 && quadlet.n_files > 0)
		r = add_dropins(reader, &quadlet);
	if (r >= 0)
		r = read_names(&quadlet, kind);
	for (size_t i = 0; i < quadlet.n_files; i++)
		quadlet.matters |=
			unit_setting_may_occur(quadlet.files[i].text, quadlet.files[i].size);
	if (r >= 0)
		r = unit_quadlet_limits(reader->root, &quadlet, kinds[kind].section, dir);
	if (r < 0)
		return r;
	/* those that matter are read again when their service is loaded: a drop-in of all would
	 * be kept as often as there are quadlets */
	for (size_t i = 0; i < quadlet.n_files; i++)
		free(TAKE_PTR(quadlet.files[i].text));
	if (!GROW(reader->quadlets.items, reader->quadlets.n, reader->alloc))
		return -ENOMEM;
	reader->quadlets.items[reader->quadlets.n++] = quadlet;
	quadlet = (struct unit_quadlet){};
	return 0;
}

/* Of each name the first directory's, one directory after the other. */
static int load_files(struct reader *reader)
{
	struct entries *files = &reader->files;
	_cleanup_fd_ int fd = -EBADF;
	size_t n = 0;
	int r = 0;

	sort_entries(files, compare_by_name);
	for (size_t i = 0; i < files->n; i++) {
		if (n > 0 && streq(files->items[i].name, files->items[n - 1].name))
			free(files->items[i].name);
		else
			files->items[n++] = files->items[i];
	}
	files->n = n;
	sort_entries(files, compare_by_dir);
	for (size_t i = 0; i < files->n && r >= 0; i++) {
		const struct entry *file = &files->items[i];
		const char *dir = reader->dirs.items[file->dir];

		if (i == 0 || file->dir != files->items[i - 1].dir) {
			closep(&fd);
			fd = -EBADF;
			r = root_open_dir(reader->root, dir, &fd);
		}
		if (fd >= 0)
			r = load_quadlet(reader, fd, dir, file->name, file->regular,
					 find_kind(file->name));
		else if (r != -ENOMEM)
			r = 0; /* gone meanwhile */
	}
	return r;
}

static int compare_quadlets(const void *a, const void *b)
{
	const struct unit_quadlet *x = a, *y = b;
	int r = strcmp(x->service, y->service);

	return r ? r : strcmp(x->name, y->name);
}

int unit_quadlets_load(const struct root *root, const struct unit_owner *owner, size_t *budget,
		       struct unit_quadlets *ret)
{
	struct reader reader = { .root = root, .budget = budget, .text.budget = budget };
	int r;

	r = add_dirs(&reader, owner);
	sort_entries(&reader.dropin_dirs, compare_by_name);
	if (r >= 0)
		r = load_files(&reader);
	strv_done(&reader.dirs);
	entries_done(&reader.dropin_dirs);
	entries_done(&reader.files);
	unit_text_done(&reader.text);
	if (r < 0) {
		unit_quadlets_done(&reader.quadlets);
		return r;
	}
	if (reader.quadlets.n > 1)
		qsort(reader.quadlets.items, reader.quadlets.n, sizeof(*reader.quadlets.items),
		      compare_quadlets);
	*ret = reader.quadlets;
	return 0;
}

void unit_quadlets_done(struct unit_quadlets *quadlets)
{
	for (size_t i = 0; i < quadlets->n; i++)
		quadlet_done(&quadlets->items[i]);
	free(quadlets->items);
	*quadlets = (struct unit_quadlets){};
}

static const char *get_service(const void *quadlets, size_t i)
{
	return ((const struct unit_quadlets *)quadlets)->items[i].service;
}

const struct unit_quadlet *unit_quadlets_find(const struct unit_quadlets *quadlets,
					      const char *service)
{
	size_t i = str_lower_bound(service, quadlets->n, get_service, quadlets);

	return i < quadlets->n && streq(quadlets->items[i].service, service)
		       ? &quadlets->items[i]
		       : NULL;
}
