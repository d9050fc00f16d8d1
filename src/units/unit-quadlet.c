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
};

struct reader {
	const struct root *root;
	size_t *budget;
	struct strv dirs; /* with the directories below them, highest priority first */
	struct strv seen; /* names: the first directory that has one wins */
	struct unit_text text;
	struct unit_quadlets quadlets;
};

/* --- directories --- */

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
	int r;

	if (depth == 0 || reader->dirs.n >= MAX_DIRS)
		return 0;
	r = root_open_dir(reader->root, path, &listing.fd);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	listing.buf = buf = malloc(UNIT_LISTING_SIZE);
	if (!buf)
		return -ENOMEM;
	strv_add(&reader->dirs, path);
	while (unit_listing_next(&listing, &name, &type)) {
		size_t n = strlen(name);

		if ((type != DT_DIR && type != DT_LNK && type != DT_UNKNOWN) || *name == '.' ||
		    (n > 2 && streq(name + n - 2, ".d")))
			continue;
		/* the system's generator leaves the users' part alone */
		if (!user && streq(name, "users") &&
		    str_has_suffix(path, "/containers/systemd"))
			continue;
		strv_add(&names, name);
	}
	if (strv_error(&names) < 0 || strv_error(&reader->dirs) < 0)
		return -ENOMEM;
	strv_sort(&names);
	for (size_t i = 0; i < names.n && r >= 0; i++) {
		_cleanup_free_ char *below = NULL;

		r = str_printf(&below, "%s/%s", path, names.items[i]);
		if (r >= 0)
			r = add_dir(reader, below, user, depth - 1);
	}
	return r;
}

static int add_dirs(struct reader *reader, const struct unit_owner *owner)
{
	static const char *const system_dirs[] = {
		"/run/containers/systemd",
		"/etc/containers/systemd",
		"/usr/share/containers/systemd",
	};
	static const char *const user_dirs[] = {
		"/etc/containers/systemd/users",
		"/usr/share/containers/systemd/users",
	};
	const char *const *dirs = owner->user ? user_dirs : system_dirs;
	size_t n = owner->user ? ARRAY_SIZE(user_dirs) : ARRAY_SIZE(system_dirs);
	_cleanup_strv_ struct strv all = {};
	int r = 0;

	if (owner->runtime)
		strv_addf(&all, "%s/containers/systemd", owner->runtime);
	if (owner->home)
		strv_addf(&all, "%s/.config/containers/systemd", owner->home);
	for (size_t i = 0; i < n; i++)
		strv_add(&all, dirs[i]);
	if (strv_error(&all) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < all.n && r >= 0; i++)
		r = add_dir(reader, all.items[i], owner->user, MAX_DEPTH);
	return r;
}

/* --- one quadlet --- */

static int find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_has_suffix(name, kinds[i].suffix) &&
		    strlen(name) > strlen(kinds[i].suffix))
			return (int)i;
	return -1;
}

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

struct found {
	char *name;
	size_t dir; /* index into paths */
	bool regular;
};

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->dir > y->dir) - (x->dir < y->dir);
}

static int list_dropins(struct reader *reader, const char *path, size_t dir,
			struct found **items, size_t *n)
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
	while (unit_listing_next(&listing, &name, &type)) {
		struct found *more;

		if (!str_has_suffix(name, ".conf"))
			continue;
		more = reallocarray(*items, *n + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		*items = more;
		more[*n] = (struct found){ strdup(name), dir, type == DT_REG };
		if (!more[(*n)++].name)
			return -ENOMEM;
	}
	return 0;
}

/* By file name, the first directory that has one winning, as systemd does for units. */
static int add_dropins(struct reader *reader, struct unit_quadlet *quadlet)
{
	_cleanup_strv_ struct strv stems = {}, paths = {};
	_cleanup_free_ struct found *found = NULL;
	size_t n = 0;
	int r = 0;

	dropin_dirs(quadlet->name, &stems);
	for (size_t i = 0; i < reader->dirs.n; i++)
		for (size_t k = 0; k < stems.n; k++)
			strv_addf(&paths, "%s/%s", reader->dirs.items[i], stems.items[k]);
	if (strv_error(&stems) < 0 || strv_error(&paths) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < paths.n && r >= 0; i++)
		r = list_dropins(reader, paths.items[i], i, &found, &n);
	if (n > 1)
		qsort(found, n, sizeof(*found), compare_found);
	for (size_t i = 0; i < n && r >= 0; i++) {
		_cleanup_fd_ int fd = -EBADF;

		if (i > 0 && streq(found[i].name, found[i - 1].name))
			continue;
		if (root_open_dir(reader->root, paths.items[found[i].dir], &fd) >= 0)
			r = add_file(reader, quadlet, fd, paths.items[found[i].dir],
				     found[i].name, found[i].regular);
	}
	for (size_t i = 0; i < n; i++)
		free(found[i].name);
	return r;
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
	struct unit_quadlet *items;
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
	/* of the others it only matters that they are there */
	for (size_t i = 0; i < quadlet.n_files && !quadlet.matters; i++) {
		free(TAKE_PTR(quadlet.files[i].text));
		quadlet.files[i].size = 0;
	}
	items = reallocarray(reader->quadlets.items, reader->quadlets.n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	reader->quadlets.items = items;
	items[reader->quadlets.n++] = quadlet;
	quadlet = (struct unit_quadlet){};
	return 0;
}

static int load_dir(struct reader *reader, const char *dir)
{
	_cleanup_(unit_listing_done) struct unit_listing listing = {
		.fd = -EBADF,
		.budget = reader->budget,
	};
	_cleanup_free_ char *buf = NULL;
	unsigned char type;
	const char *name;
	int r;

	r = root_open_dir(reader->root, dir, &listing.fd);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	listing.buf = buf = malloc(UNIT_LISTING_SIZE);
	if (!buf)
		return -ENOMEM;
	while (r >= 0 && unit_listing_next(&listing, &name, &type)) {
		int kind = find_kind(name);

		if (kind < 0 || type == DT_DIR || strv_contains(&reader->seen, name))
			continue;
		strv_add(&reader->seen, name);
		r = strv_error(&reader->seen);
		if (r >= 0)
			r = load_quadlet(reader, listing.fd, dir, name, type == DT_REG, kind);
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
	for (size_t i = 0; i < reader.dirs.n && r >= 0; i++)
		r = load_dir(&reader, reader.dirs.items[i]);
	strv_done(&reader.dirs);
	strv_done(&reader.seen);
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

const struct unit_quadlet *unit_quadlets_find(const struct unit_quadlets *quadlets,
					      const char *service)
{
	size_t low = 0, high = quadlets->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(quadlets->items[mid].service, service) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < quadlets->n && streq(quadlets->items[low].service, service)
		       ? &quadlets->items[low]
		       : NULL;
}
