/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-path.h"

#include "base/root.h"
#include "base/str.h"
#include "units/unit-text.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/vfs.h>

/* how many aliases systemd follows (FOLLOW_MAX) */
#define MAX_ALIASES 8

/* --- the list --- */

/* A line of a list, with systemd's first version that has it and the first without (0: none).
 */
struct place {
	const char *dir;
	unsigned since;
	unsigned until;
};

/* "generators": where their units go; what follows is below them. */
static const struct place system_dirs[] = {
	{ "/etc/systemd/system.control", 0, 0 },
	{ "/run/systemd/system.control", 0, 0 },
	{ "/run/systemd/transient", 0, 0 },
	{ "/run/systemd/generator.early", 0, 0 },
	{ "/etc/systemd/system", 0, 0 },
	{ "/etc/systemd/system.attached", 0, 0 },
	{ "/run/systemd/system", 0, 0 },
	{ "/run/systemd/system.attached", 0, 0 },
	{ "/run/systemd/generator", 0, 0 },
	{ "/usr/local/lib/systemd/system", 0, 0 },
	/* split /usr was given up */
	{ "/lib/systemd/system", 0, 258 },
	{ "/usr/lib/systemd/system", 0, 0 },
	{ "/run/systemd/generator.late", 0, 0 },
};
/* HOME and RUNTIME are replaced, or the line left out */
static const struct place user_dirs[] = {
	{ "HOME/.config/systemd/user.control", 0, 0 },
	{ "RUNTIME/systemd/user.control", 0, 0 },
	{ "RUNTIME/systemd/transient", 0, 0 },
	{ "RUNTIME/systemd/generator.early", 0, 0 },
	{ "HOME/.config/systemd/user", 0, 0 },
	{ "HOME/.config/systemd/user.attached", 260, 0 },
	/* of $XDG_CONFIG_DIRS, whose default is "/etc" since */
	{ "/etc/xdg/systemd/user", 0, 257 },
	{ "/etc/systemd/user", 0, 0 },
	{ "RUNTIME/systemd/user", 0, 0 },
	{ "RUNTIME/systemd/user.attached", 260, 0 },
	{ "/run/systemd/user", 0, 0 },
	{ "RUNTIME/systemd/generator", 0, 0 },
	{ "HOME/.local/share/systemd/user", 0, 0 },
	{ "/usr/local/share/systemd/user", 0, 0 },
	{ "/usr/share/systemd/user", 0, 0 },
	{ "/usr/local/lib/systemd/user", 0, 0 },
	{ "/usr/lib/systemd/user", 0, 0 },
	{ "RUNTIME/systemd/generator.late", 0, 0 },
};

/* Puts the words in; false when the line has no meaning for this owner. */
static bool spell(const char *dir, const struct unit_owner *owner, struct strv *ret)
{
	const char *rest = str_skip_prefix(dir, "HOME");

	if (rest) {
		if (owner->home)
			strv_addf(ret, "%s%s", owner->home, rest);
		return owner->home;
	}
	rest = str_skip_prefix(dir, "RUNTIME");
	if (rest) {
		if (owner->runtime)
			strv_addf(ret, "%s%s", owner->runtime, rest);
		return owner->runtime;
	}
	/* the list that all users share has no XDG directory of one user's session */
	if (owner->user && !owner->home && streq(dir, "/etc/xdg/systemd/user"))
		return false;
	strv_add(ret, dir);
	return true;
}

static int add_dir(struct unit_path *path, const char *spelt)
{
	struct unit_dir *dirs, dir = { .fd = -EBADF };
	struct stat st;
	int r;

	r = root_open_dir(path->root, spelt, &dir.fd);
	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		return r;
	if (r == -EACCES && !path->unreadable)
		path->unreadable = spelt;
	if (r < 0)
		return 0; /* not there, or not ours to read: systemd passes over it as well */
	if (fstat(dir.fd, &st) < 0) {
		r = -errno;
		goto fail;
	}
	dir.dev = st.st_dev;
	dir.ino = st.st_ino;
	if (path->n == UNIT_PATH_MAX)
		goto fail;
	for (size_t i = 0; i < path->n; i++)
		if (path->dirs[i].ino == dir.ino && path->dirs[i].dev == dir.dev) {
			/* merged /usr: the packaged name is the better one */
			if (streq(path->dirs[i].resolved, spelt)) {
				free(path->dirs[i].path);
				path->dirs[i].path = strdup(spelt);
				r = path->dirs[i].path ? 0 : -ENOMEM;
			}
			goto fail;
		}
	r = root_resolve(path->root, spelt, &dir.resolved);
	if (r < 0)
		goto fail;
	dir.path = strdup(spelt);
	dirs = dir.path ? reallocarray(path->dirs, path->n + 1, sizeof(*dirs)) : NULL;
	if (!dirs) {
		r = -ENOMEM;
		goto fail;
	}
	path->dirs = dirs;
	path->dirs[path->n++] = dir;
	return 0;
fail:
	closep(&dir.fd);
	free(dir.resolved);
	free(dir.path);
	return r;
}

/* File systems in user space and of virtual machines may cut a read where they like. */
static bool has_whole_reads(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	switch ((unsigned long)fs.f_type) {
	case 0xef53:	 /* ext2 to ext4 */
	case 0x58465342: /* XFS */
	case 0x9123683e: /* btrfs */
	case 0xf2f52010: /* F2FS */
	case 0x01021994: /* tmpfs */
	case 0x794c7630: /* overlay */
	case 0x73717368: /* squashfs */
	case 0xe0f5e1e2: /* EROFS */
		return true;
	default:
		return false;
	}
}

int unit_path_open_list(const struct root *root, const char *const *dirs, size_t n,
			struct unit_path *ret)
{
	_cleanup_unit_path_ struct unit_path path = { .root = root };
	int r = 0;

	path.spelt = calloc(n + 1, sizeof(*path.spelt));
	if (!path.spelt)
		return -ENOMEM;
	for (size_t i = 0; i < n && r >= 0; i++) {
		path.spelt[path.n_spelt] = strdup(dirs[i]);
		if (!path.spelt[path.n_spelt++])
			return -ENOMEM;
		r = add_dir(&path, path.spelt[path.n_spelt - 1]);
		/* without a generator's directory (offline) the place is where it would be */
		if (str_has_suffix(dirs[i], "/systemd/generator") ||
		    (!path.generated && str_has_suffix(dirs[i], "/run/systemd/user")))
			path.generated = path.n;
	}
	if (r < 0)
		return r;
	path.whole_reads = true;
	for (size_t i = 0; i < path.n; i++)
		path.whole_reads = path.whole_reads && has_whole_reads(path.dirs[i].fd);
	*ret = path;
	path = (struct unit_path){};
	return 0;
}

int unit_path_open(const struct root *root, const struct unit_owner *owner, unsigned version,
		   struct unit_path *ret)
{
	_cleanup_strv_ struct strv spelt = {};
	const struct place *dirs = owner->user ? user_dirs : system_dirs;
	size_t n = owner->user ? ARRAY_SIZE(user_dirs) : ARRAY_SIZE(system_dirs);

	for (size_t i = 0; i < n; i++) {
		if (version &&
		    (version < dirs[i].since || (dirs[i].until && version >= dirs[i].until)))
			continue;
		(void)spell(dirs[i].dir, owner, &spelt); /* a line left out */
	}
	if (strv_error(&spelt) < 0)
		return -ENOMEM;
	return unit_path_open_list(root, (const char *const *)spelt.items, spelt.n, ret);
}

void unit_path_done(struct unit_path *path)
{
	for (size_t i = 0; i < path->n; i++) {
		closep(&path->dirs[i].fd);
		free(path->dirs[i].path);
		free(path->dirs[i].resolved);
	}
	free(path->dirs);
	for (size_t i = 0; i < path->n_spelt; i++)
		free(path->spelt[i]);
	free(path->spelt);
	*path = (struct unit_path){};
}

/* --- links --- */

static bool is_below(const char *path, const char *dir)
{
	const char *rest = str_skip_prefix(path, dir);

	return rest && *rest == '/';
}

/* Whether a path lies in the search path, by its spelling or by where that leads. */
static bool is_searched(const struct unit_path *path, const char *target)
{
	for (size_t i = 0; i < path->n; i++)
		if (is_below(target, path->dirs[i].resolved))
			return true;
	for (size_t i = 0; i < path->n_spelt; i++)
		if (is_below(target, path->spelt[i]))
			return true;
	return false;
}

/* "a/./b/../c" -> "a/c", without looking at the file system. */
static int simplify(const char *path, char **ret)
{
	_cleanup_strbuf_ struct strbuf buf = {};

	for (const char *p = path; *p;) {
		size_t n;

		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n == 2 && p[0] == '.' && p[1] == '.') {
			const char *slash = buf.len > 0 ? strrchr(buf.data, '/') : NULL;

			strbuf_truncate(&buf, slash ? (size_t)(slash - buf.data) : 0);
		} else if (n > 0 && !(n == 1 && *p == '.')) {
			strbuf_addc(&buf, '/');
			strbuf_add(&buf, p, n);
		}
		p += n;
	}
	if (buf.len == 0)
		strbuf_addc(&buf, '/');
	return strbuf_take(&buf, ret, NULL);
}

/* The target of a link with its directories resolved; what does not exist stays as written. */
static int link_target(const struct unit_path *path, const struct unit_dir *dir,
		       const char *link, char **ret)
{
	_cleanup_free_ char *full = NULL, *parent = NULL;
	const char *name;
	char *slash;
	int r;

	r = *link == '/' ? str_printf(&full, "%s", link)
			 : str_printf(&full, "%s/%s", dir->resolved, link);
	if (r < 0)
		return r;
	for (size_t n = strlen(full); n > 1 && full[n - 1] == '/'; n--)
		full[n - 1] = '\0';
	slash = strrchr(full, '/');
	name = slash + 1;
	if (*name == '\0' || streq(name, ".") || streq(name, ".."))
		return -EINVAL; /* a directory */
	*slash = '\0';
	r = root_resolve(path->root, slash == full ? "/" : full, &parent);
	if (r == -ENOENT)
		r = simplify(full, &parent);
	if (r < 0)
		return r;
	return str_printf(ret, "%s/%s", streq(parent, "/") ? "" : parent, name);
}

/* unit_validate_alias_symlink_or_warn(): may name be an alias of target? */
static bool alias_fits(const char *name, const char *target)
{
	enum unit_type type, target_type;
	enum unit_form form = unit_name_form(name, &type);
	enum unit_form target_form = unit_name_form(target, &target_type);
	const char *instance, *target_instance;
	size_t n, target_n;

	if (form == UNIT_FORM_INVALID || target_form == UNIT_FORM_INVALID ||
	    type != target_type || streq(name, target) || !unit_type_may_alias(type))
		return false;
	if (form != UNIT_FORM_PLAIN && !unit_type_may_template(type))
		return false;
	if (form == UNIT_FORM_INSTANCE && target_form == UNIT_FORM_TEMPLATE)
		return true;
	if (form != target_form)
		return false;
	if (form != UNIT_FORM_INSTANCE)
		return true;
	instance = unit_name_instance(name, &n);
	target_instance = unit_name_instance(target, &target_n);
	return n == target_n && memcmp(instance, target_instance, n) == 0;
}

static int link_entry(const struct unit_path *path, size_t dir, const char *name,
		      enum unit_entry *ret_entry, char ret_alias[static UNIT_NAME_MAX])
{
	char link[PATH_MAX];
	_cleanup_free_ char *target = NULL;
	const char *base = link;
	bool searched;
	ssize_t n;
	int r;

	*ret_entry = UNIT_ENTRY_NONE;
	n = readlinkat(path->dirs[dir].fd, name, link, sizeof(link));
	if (n <= 0 || (size_t)n == sizeof(link))
		return 0;
	link[n] = '\0';
	if (streq(link, "/dev/null")) {
		*ret_entry = UNIT_ENTRY_FILE;
		return 0;
	}
	/* most links name a sibling */
	searched = !strchr(link, '/') && !streq(link, ".") && !streq(link, "..");
	if (!searched) {
		r = link_target(path, &path->dirs[dir], link, &target);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			return 0;
		searched = is_searched(path, target);
		base = strrchr(target, '/') + 1;
	}
	if (!searched)
		*ret_entry = UNIT_ENTRY_FILE;
	else if (alias_fits(name, base)) {
		*ret_entry = UNIT_ENTRY_ALIAS;
		strcpy(ret_alias, base); /* a valid name fits */
	}
	return 0;
}

int unit_path_entry(const struct unit_path *path, size_t dir, const char *name,
		    unsigned char type, enum unit_entry *ret_entry,
		    char ret_alias[static UNIT_NAME_MAX])
{
	struct stat st;

	if (type == DT_UNKNOWN) {
		*ret_entry = UNIT_ENTRY_NONE;
		if (fstatat(path->dirs[dir].fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return 0;
		type = (unsigned char)IFTODT(st.st_mode);
	}
	if (type == DT_LNK)
		return link_entry(path, dir, name, ret_entry, ret_alias);
	*ret_entry = type == DT_REG ? UNIT_ENTRY_FILE : UNIT_ENTRY_NONE;
	return 0;
}

/* The first directory that has the name; -ENOENT when none has. */
static int find(const struct unit_path *path, const char *name, size_t *ret_dir,
		enum unit_entry *ret_entry, char alias[static UNIT_NAME_MAX])
{
	for (size_t i = 0; i < path->n; i++) {
		enum unit_entry entry;
		int r = unit_path_entry(path, i, name, DT_UNKNOWN, &entry, alias);

		if (r < 0)
			return r;
		if (entry == UNIT_ENTRY_NONE)
			continue;
		*ret_dir = i;
		*ret_entry = entry;
		return 0;
	}
	return -ENOENT;
}

int unit_path_fragment(const struct unit_path *path, const char *name, size_t *ret_dir,
		       char ret_name[static UNIT_NAME_MAX])
{
	char id[UNIT_NAME_MAX], alias[UNIT_NAME_MAX];

	if (strlen(name) >= sizeof(id))
		return -ENOENT;
	strcpy(id, name);
	for (unsigned i = 0; i < MAX_ALIASES; i++) {
		enum unit_entry entry = UNIT_ENTRY_NONE;
		size_t dir = 0;
		int r = find(path, id, &dir, &entry, alias);

		/* an alias may lead to an instance whose template is what exists */
		if (r == -ENOENT && i > 0 && unit_name_template(id, alias) == 0) {
			strcpy(id, alias);
			r = find(path, id, &dir, &entry, alias);
		}
		if (r < 0)
			return r;
		if (entry == UNIT_ENTRY_FILE) {
			*ret_dir = dir;
			strcpy(ret_name, id);
			return 0;
		}
		strcpy(id, alias);
	}
	return -ELOOP;
}

/* --- directories in the search path --- */

int unit_path_walk(const struct unit_path *path, char *buf, size_t *budget,
		   int (*function)(void *data, size_t dir, const char *name,
				   unsigned char type),
		   void *data)
{
	for (size_t dir = 0; dir < path->n; dir++) {
		_cleanup_(unit_listing_done) struct unit_listing listing = {
			.buf = buf,
			.budget = budget,
		};
		unsigned char type;
		const char *name;
		int r;

		/* a descriptor of its own, for the place in the listing is the descriptor's */
		listing.fd =
			openat(path->dirs[dir].fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (listing.fd < 0)
			return -errno;
		while (unit_listing_next(&listing, &name, &type)) {
			r = function(data, dir, name, type);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int unit_path_open_subdir(const struct unit_path *path, size_t dir, const char *name,
			  int *ret_fd)
{
	char link[PATH_MAX];
	_cleanup_free_ char *full = NULL, *slashed = NULL;
	_cleanup_fd_ int fd = -EBADF;
	ssize_t n;
	int r;

	fd = openat(path->dirs[dir].fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		root_note(path->root, ROOT_ACCESS_DIR, path->dirs[dir].path, name);
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	/* a link gives ENOTDIR or ELOOP */
	if (errno != ENOTDIR && errno != ELOOP)
		return errno == ENOENT ? -ENOENT : -errno;
	n = readlinkat(path->dirs[dir].fd, name, link, sizeof(link));
	if (n <= 0 || (size_t)n == sizeof(link))
		return -ENOENT;
	link[n] = '\0';
	/*
	 * systemd asks whether the link's text is a directory as seen from its own working
	 * directory, "/"; a relative link that only works from where it lies is passed over
	 */
	r = str_printf(&slashed, "/%s", link);
	if (r < 0)
		return r;
	r = root_open_dir(path->root, slashed, &fd);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	closep(&fd);
	r = str_printf(&full, "%s/%s", path->dirs[dir].resolved, name);
	if (r < 0)
		return r;
	r = root_open_dir(path->root, full, ret_fd);
	return r < 0 && r != -ENOMEM ? -ENOENT : r;
}
