/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "needs/enabled.h"

#include "base/root.h"
#include "base/str.h"
#include "units/unit-load.h"
#include "units/unit-path.h"
#include "units/unit-text.h"

#include <dirent.h>

/* as many as systemd follows (unit_file_resolve_symlink) */
enum { MAX_ALIASES = 8 };

/* A link that starts a unit. */
struct want {
	char *unit; /* the name it goes by */
	char *path;
	char *group; /* "multi-user.target.wants": of one unit in one group the first counts */
	enum {
		WANT_SYSTEMD, /* there must be a unit file too */
		WANT_SYSV,    /* there must be none */
		WANT_OTHER,
	} kind;
};

/* name -> target, both base names. */
struct alias {
	char *name;
	char *target;
	char *path;
	bool admin; /* made by enabling the unit, not shipped with it */
};

struct enabled {
	const struct root *root;
	struct unit_path path; /* systemd's */
	struct want *wants;
	size_t n_wants;
	size_t alloc_wants;
	struct alias *aliases;
	size_t n_aliases;
	size_t alloc_aliases;
};

struct enabled *enabled_free(struct enabled *e)
{
	if (!e)
		return NULL;
	for (size_t i = 0; i < e->n_wants; i++) {
		free(e->wants[i].unit);
		free(e->wants[i].path);
		free(e->wants[i].group);
	}
	for (size_t i = 0; i < e->n_aliases; i++) {
		free(e->aliases[i].name);
		free(e->aliases[i].target);
		free(e->aliases[i].path);
	}
	free(e->wants);
	free(e->aliases);
	unit_path_done(&e->path);
	free(e);
	return NULL;
}

static int add_want(struct enabled *e, const char *group, const char *unit, const char *dir,
		    const char *name, int kind)
{
	struct want *want;
	int r;

	if (!GROW(e->wants, e->n_wants, e->alloc_wants))
		return -ENOMEM;
	want = &e->wants[e->n_wants++];
	*want = (struct want){};
	want->kind = kind;
	want->unit = strdup(unit);
	want->group = strdup(group);
	r = str_printf(&want->path, "%s/%s", dir, name);
	return want->unit && want->group ? r : -ENOMEM;
}

/* Whether a file at path takes the unit of its name away: empty, or a link to /dev/null. */
static bool is_mask(const struct root *root, const char *path)
{
	_cleanup_free_ char *target = NULL;
	struct stat st;

	if (root_readlink(root, path, &target) >= 0 && streq(target, "/dev/null"))
		return true;
	return root_stat(root, path, &st) >= 0 &&
	       ((S_ISREG(st.st_mode) && st.st_size == 0) || S_ISCHR(st.st_mode));
}

static int read_wants(struct enabled *e, const char *dir, const char *name)
{
	_cleanup_strv_ struct strv names = {};
	_cleanup_free_ char *path = NULL;
	int r;

	r = str_printf(&path, "%s/%s", dir, name);
	if (r < 0)
		return r;
	r = root_list(e->root, path, &names);
	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; i < names.n; i++) {
		r = add_want(e, name, names.items[i], path, names.items[i], WANT_SYSTEMD);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_alias(struct enabled *e, size_t dir, const char *name, unsigned char type)
{
	const char *dir_path = e->path.dirs[dir].path;
	char target[UNIT_NAME_MAX];
	enum unit_entry entry;
	struct alias *alias;
	int r;

	r = unit_path_entry(&e->path, dir, name, type, &entry, target);
	if (r < 0 || entry != UNIT_ENTRY_ALIAS)
		return r;
	if (!GROW(e->aliases, e->n_aliases, e->alloc_aliases))
		return -ENOMEM;
	alias = &e->aliases[e->n_aliases++];
	*alias = (struct alias){
		.name = strdup(name),
		.target = strdup(target),
		.admin = str_skip_prefix(dir_path, "/etc/") != NULL,
	};
	r = str_printf(&alias->path, "%s/%s", dir_path, name);
	return alias->name && alias->target ? r : -ENOMEM;
}

static int read_entry(void *data, size_t dir, const char *name, unsigned char type)
{
	struct enabled *e = data;

	if (str_has_suffix(name, ".wants") || str_has_suffix(name, ".requires") ||
	    str_has_suffix(name, ".upholds"))
		return read_wants(e, e->path.dirs[dir].path, name);
	return type == DT_LNK || type == DT_UNKNOWN ? add_alias(e, dir, name, type) : 0;
}

static int read_systemd(struct enabled *e)
{
	_cleanup_free_ char *buf = malloc(UNIT_LISTING_SIZE);
	size_t budget = ROOT_MAX_DIR_ENTRIES;
	int r;

	if (!buf)
		return -ENOMEM;
	/* of any version: split /usr is of no harm */
	r = unit_path_open(e->root, &(struct unit_owner){}, 0, &e->path);
	return r < 0 ? r : unit_path_walk(&e->path, buf, &budget, read_entry, e);
}

/* OpenRC (openrc(8)): links in the runlevels that a boot goes through. */
static int read_openrc(struct enabled *e)
{
	static const char *const skipped[] = { "shutdown", "off", "single", "recovery" };
	_cleanup_strv_ struct strv levels = {};
	int r = root_list(e->root, "/etc/runlevels", &levels);

	for (size_t i = 0; r != -ENOMEM && i < levels.n; i++) {
		_cleanup_strv_ struct strv names = {};
		_cleanup_free_ char *dir = NULL;
		bool skip = false;

		for (size_t k = 0; k < ARRAY_SIZE(skipped); k++)
			skip = skip || streq(skipped[k], levels.items[i]);
		if (skip)
			continue;
		r = str_printf(&dir, "/etc/runlevels/%s", levels.items[i]);
		if (r < 0)
			return r;
		r = root_list(e->root, dir, &names);
		for (size_t k = 0; r != -ENOMEM && k < names.n; k++) {
			_cleanup_free_ char *unit = NULL, *path = NULL;

			if (str_printf(&unit, "%s.service", names.items[k]) < 0 ||
			    str_printf(&path, "%s/%s", dir, names.items[k]) < 0)
				return -ENOMEM;
			/* the script is gone: nothing is started */
			if (!root_exists(e->root, path))
				continue;
			r = add_want(e, dir, unit, dir, names.items[k], WANT_OTHER);
		}
	}
	return r == -ENOMEM ? r : 0;
}

/* runit (runsvdir(8)): a directory per service, unless it holds a file named down. */
static int read_runit(struct enabled *e)
{
	static const char *const dirs[] = { "/etc/runit/runsvdir/default", "/etc/service",
					    "/var/service" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		_cleanup_strv_ struct strv names = {};

		if (root_list(e->root, dirs[i], &names) == -ENOMEM)
			return -ENOMEM;
		for (size_t k = 0; k < names.n; k++) {
			_cleanup_free_ char *unit = NULL, *down = NULL, *run = NULL;

			if (str_printf(&unit, "%s.service", names.items[k]) < 0 ||
			    str_printf(&down, "%s/%s/down", dirs[i], names.items[k]) < 0 ||
			    str_printf(&run, "%s/%s/run", dirs[i], names.items[k]) < 0)
				return -ENOMEM;
			if (!root_exists(e->root, run) || root_exists(e->root, down))
				continue;
			if (add_want(e, "runit", unit, dirs[i], names.items[k], WANT_OTHER) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* System V links, which systemd too starts where it has no unit of that name. */
static int read_sysv(struct enabled *e)
{
	static const char *const dirs[] = { "/etc/rc2.d", "/etc/rc3.d", "/etc/rc5.d" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		_cleanup_strv_ struct strv names = {};

		if (root_list(e->root, dirs[i], &names) == -ENOMEM)
			return -ENOMEM;
		for (size_t k = 0; k < names.n; k++) {
			_cleanup_free_ char *unit = NULL, *path = NULL;
			const char *name = names.items[k];

			if (*name != 'S' || strlen(name) < 4)
				continue;
			if (str_printf(&unit, "%s.service", name + 3) < 0 ||
			    str_printf(&path, "%s/%s", dirs[i], name) < 0)
				return -ENOMEM;
			if (!root_exists(e->root, path))
				continue;
			if (add_want(e, "sysv", unit, dirs[i], name, WANT_SYSV) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

int enabled_new(const struct root *root, struct enabled **ret)
{
	_cleanup_enabled_ struct enabled *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->root = root;
	r = read_systemd(e);
	if (r >= 0)
		r = read_openrc(e);
	if (r >= 0)
		r = read_runit(e);
	if (r >= 0)
		r = read_sysv(e);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(e);
	return 0;
}

enum unit_file {
	FILE_MISSING,
	FILE_MASKED,
	FILE_PRESENT,
};

/* What is behind a unit's name. */
static int find_unit_file(const struct enabled *e, const char *unit, enum unit_file *ret)
{
	char file[UNIT_NAME_MAX], id[UNIT_NAME_MAX];
	_cleanup_free_ char *path = NULL;
	struct stat st;
	size_t dir;
	int r;

	*ret = FILE_MISSING;
	r = unit_canonical_name(&e->path, unit, &dir, file, id);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = str_printf(&path, "%s/%s", e->path.dirs[dir].path, file);
	if (r < 0)
		return r;
	if (is_mask(e->root, path))
		*ret = FILE_MASKED;
	else if (root_stat(e->root, path, &st) >= 0 && S_ISREG(st.st_mode))
		*ret = FILE_PRESENT; /* also a linked unit, whose text lies elsewhere */
	return 0;
}

/* foo@.service as a pattern stands for foo@bar.service too. */
static bool matches(const char *pattern, const char *unit)
{
	const char *at = strstr(pattern, "@.");

	if (streq(pattern, unit) || str_match_glob(pattern, unit))
		return true;
	return at && strncmp(pattern, unit, (size_t)(at - pattern) + 1) == 0 &&
	       str_has_suffix(unit, at + 1);
}

/* Whether unit is another name of one that pattern names. */
static bool matches_by_alias(const struct enabled *e, const char *pattern, const char *unit,
			     unsigned depth)
{
	if (matches(pattern, unit))
		return true;
	for (size_t i = 0; depth < MAX_ALIASES && i < e->n_aliases; i++)
		if (streq(e->aliases[i].name, unit) &&
		    matches_by_alias(e, pattern, e->aliases[i].target, depth + 1))
			return true;
	return false;
}

static bool is_shadowed(const struct enabled *e, size_t want)
{
	for (size_t i = 0; i < want; i++)
		if (streq(e->wants[i].unit, e->wants[want].unit) &&
		    streq(e->wants[i].group, e->wants[want].group))
			return true;
	return false;
}

int enabled_next(const struct enabled *e, const char *pattern, size_t *state,
		 const char **ret_unit, const char **ret_path)
{
	enum unit_file file;
	int r;

	while (*state < e->n_wants) {
		size_t i = (*state)++;
		const struct want *want = &e->wants[i];

		if (!matches_by_alias(e, pattern, want->unit, 0) || is_shadowed(e, i))
			continue;
		if (want->kind == WANT_SYSTEMD && is_mask(e->root, want->path))
			continue;
		r = find_unit_file(e, want->unit, &file);
		if (r < 0)
			return r;
		if (want->kind == WANT_SYSTEMD && file != FILE_PRESENT)
			continue;
		if (want->kind == WANT_SYSV && file != FILE_MISSING)
			continue;
		*ret_unit = want->unit;
		*ret_path = want->path;
		return 1;
	}
	while (*state < e->n_wants + e->n_aliases) {
		const struct alias *alias = &e->aliases[(*state)++ - e->n_wants];

		if (!alias->admin || !matches(pattern, alias->target))
			continue;
		r = find_unit_file(e, alias->target, &file);
		if (r < 0)
			return r;
		if (file != FILE_PRESENT)
			continue;
		*ret_unit = alias->target;
		*ret_path = alias->path;
		return 1;
	}
	return 0;
}

void enabled_alias(const struct enabled *e, const char *name, const char **ret_target,
		   const char **ret_path)
{
	*ret_target = *ret_path = NULL;
	for (unsigned depth = 0; depth < MAX_ALIASES; depth++) {
		const struct alias *alias = NULL;

		/* they come in the order of the directories, the highest first */
		for (size_t i = 0; !alias && i < e->n_aliases; i++)
			if (streq(e->aliases[i].name, *ret_target ? *ret_target : name))
				alias = &e->aliases[i];
		if (!alias)
			return;
		*ret_target = alias->target;
		if (!*ret_path)
			*ret_path = alias->path;
	}
}
