/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "needs/enabled.h"

#include "base/root.h"
#include "base/str.h"

#include <dirent.h>

/* systemd.unit(5), "UNIT FILE LOAD PATH", highest first; /lib is where split /usr has them */
static const char *const unit_dirs[] = {
	"/etc/systemd/system.control", "/run/systemd/system.control",
	"/run/systemd/transient",      "/run/systemd/generator.early",
	"/etc/systemd/system",	       "/etc/systemd/system.attached",
	"/run/systemd/system",	       "/run/systemd/system.attached",
	"/run/systemd/generator",      "/usr/local/lib/systemd/system",
	"/lib/systemd/system",	       "/usr/lib/systemd/system",
	"/run/systemd/generator.late",
};

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
	const char *dirs[ARRAY_SIZE(unit_dirs)];
	size_t n_dirs;
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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
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

static int add_alias(struct enabled *e, const char *dir, int dir_fd, const char *name)
{
	_cleanup_free_ char *path = NULL, *target = NULL;
	struct alias *alias;
	int r;

	r = root_readlink_at(e->root, dir_fd, dir, name, &target);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (streq(base_name(target), name) || streq(target, "/dev/null"))
		return 0;
	r = str_printf(&path, "%s/%s", dir, name);
	if (r < 0)
		return r;
	if (!GROW(e->aliases, e->n_aliases, e->alloc_aliases))
		return -ENOMEM;
	alias = &e->aliases[e->n_aliases];
	*alias = (struct alias){
		.name = strdup(name),
		.target = strdup(base_name(target)),
		.path = TAKE_PTR(path),
		.admin = str_skip_prefix(dir, "/etc/") != NULL,
	};
	e->n_aliases++;
	return alias->name && alias->target ? 0 : -ENOMEM;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir); /* only read */
}

static int read_unit_dir(struct enabled *e, const char *dir, DIR *stream)
{
	size_t left = ROOT_MAX_DIR_ENTRIES;
	struct dirent *de;
	int r;

	while (left-- > 0 && (de = readdir(stream))) {
		const char *name = de->d_name;

		if (str_has_suffix(name, ".wants") || str_has_suffix(name, ".requires") ||
		    str_has_suffix(name, ".upholds"))
			r = read_wants(e, dir, name);
		else if (de->d_type == DT_LNK || de->d_type == DT_UNKNOWN)
			r = add_alias(e, dir, dirfd(stream), name);
		else
			continue;
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_systemd(struct enabled *e)
{
	struct stat seen[ARRAY_SIZE(unit_dirs)];
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(unit_dirs); i++) {
		_cleanup_(closedirp) DIR *stream = NULL;
		struct stat *st = &seen[e->n_dirs];
		bool again = false;
		int fd;

		if (root_open_dir(e->root, unit_dirs[i], &fd) < 0)
			continue;
		stream = fdopendir(fd);
		if (!stream) {
			closep(&fd);
			return -ENOMEM;
		}
		if (fstat(fd, st) < 0)
			continue;
		/* merged /usr: /lib is /usr/lib */
		for (size_t k = 0; k < e->n_dirs; k++)
			if (seen[k].st_dev == st->st_dev && seen[k].st_ino == st->st_ino)
				again = true;
		if (again)
			continue;
		e->dirs[e->n_dirs++] = unit_dirs[i];
		r = read_unit_dir(e, unit_dirs[i], stream);
		if (r < 0)
			return r;
	}
	return 0;
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
	UNIT_MISSING,
	UNIT_MASKED,
	UNIT_PRESENT,
};

/* What is behind a unit's name: the first directory that has one decides. */
static int find_unit_file(const struct enabled *e, const char *unit, unsigned depth,
			  enum unit_file *ret)
{
	const char *at = strchr(unit, '@'), *dot = strrchr(unit, '.');

	*ret = UNIT_MISSING;
	for (size_t i = 0; i < e->n_dirs; i++) {
		_cleanup_free_ char *path = NULL, *target = NULL;
		struct stat st;
		int r;

		r = str_printf(&path, "%s/%s", e->dirs[i], unit);
		if (r < 0)
			return r;
		if (root_lstat(e->root, path, &st) < 0)
			continue;
		if (is_mask(e->root, path)) {
			*ret = UNIT_MASKED;
			return 0;
		}
		if (S_ISLNK(st.st_mode) && depth < MAX_ALIASES &&
		    root_readlink(e->root, path, &target) >= 0 &&
		    !streq(base_name(target), unit)) {
			r = find_unit_file(e, base_name(target), depth + 1, ret);
			if (r < 0 || *ret != UNIT_MISSING)
				return r;
		}
		/* also a linked unit, whose text lies elsewhere */
		if (root_stat(e->root, path, &st) >= 0 && S_ISREG(st.st_mode)) {
			*ret = UNIT_PRESENT;
			return 0;
		}
	}
	if (at && dot && dot > at + 1) {
		_cleanup_free_ char *template = NULL;
		int r = str_printf(&template, "%.*s@%s", (int)(at - unit), unit, dot);

		return r < 0 ? r : find_unit_file(e, template, depth, ret);
	}
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
		r = find_unit_file(e, want->unit, 0, &file);
		if (r < 0)
			return r;
		if (want->kind == WANT_SYSTEMD && file != UNIT_PRESENT)
			continue;
		if (want->kind == WANT_SYSV && file != UNIT_MISSING)
			continue;
		*ret_unit = want->unit;
		*ret_path = want->path;
		return 1;
	}
	while (*state < e->n_wants + e->n_aliases) {
		const struct alias *alias = &e->aliases[(*state)++ - e->n_wants];

		if (!alias->admin || !matches(pattern, alias->target))
			continue;
		r = find_unit_file(e, alias->target, 0, &file);
		if (r < 0)
			return r;
		if (file != UNIT_PRESENT)
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
