/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "generator/candidates.h"

#include "base/root.h"
#include "policy/policy.h"
#include "units/unit-text.h"

#include <dirent.h>

struct search {
	const struct policy *policy;
	struct candidates *found;
	/* names of unit files, and stems of drop-in directories, where somebody here writes;
	 * sorted once all directories were listed */
	struct strv site;
	struct strv more;
	char listing[UNIT_LISTING_SIZE];
	char sub_listing[UNIT_LISTING_SIZE];
};

static bool is_service(const char *name)
{
	enum unit_type type;

	return unit_name_form(name, &type) != UNIT_FORM_INVALID && type == UNIT_SERVICE;
}

static int consider(struct search *search, const char *name)
{
	if (!is_service(name))
		return 0;
	for (size_t i = 0; i < search->policy->n_fail_closed; i++)
		if (str_match_glob(search->policy->fail_closed[i].value, name)) {
			strv_add(&search->found->names, name);
			break;
		}
	return strv_error(&search->found->names);
}

/* Other generators write theirs at the same time: what is there now means nothing. */
static void leave_out_generated(struct unit_path *path)
{
	size_t n = 0;

	for (size_t i = 0; i < path->n; i++) {
		struct unit_dir *dir = &path->dirs[i];

		if (str_skip_prefix(dir->path, "/run/systemd/generator")) {
			free(dir->path);
			free(dir->resolved);
			(void)close(dir->fd); /* only read */
		} else
			path->dirs[n++] = *dir;
	}
	path->n = n;
	path->generated = 0;
}

/* Instances are in no file of their own: links in these directories are what names them. */
static bool has_instances(const char *name)
{
	return str_has_suffix(name, ".wants") || str_has_suffix(name, ".requires") ||
	       str_has_suffix(name, ".upholds");
}

static int list_instances(struct search *search, size_t dir, const char *subdir)
{
	_cleanup_(unit_listing_done) struct unit_listing listing = {
		.fd = -EBADF,
		.buf = search->sub_listing,
		.budget = &search->found->budget,
	};
	unsigned char type;
	const char *name;
	int r = unit_path_open_subdir(&search->found->path, dir, subdir, &listing.fd);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	while (r >= 0 && unit_listing_next(&listing, &name, &type))
		if (strchr(name, '@'))
			r = consider(search, name);
	return r;
}

/* "foo.service.d": notes the directory, and its stem if it is the site's. */
static int note_dropins(struct search *search, bool vendors, const char *name)
{
	strv_add(&search->found->dropin_dirs, name);
	if (!vendors)
		strv_add_n(&search->site, name, strlen(name) - strlen(".d"));
	return strv_error(&search->found->dropin_dirs) < 0 ? -ENOMEM
							   : strv_error(&search->site);
}

static int look_at_entry(struct search *search, size_t dir, const char *name,
			 unsigned char type)
{
	bool vendors = candidates_is_vendors(search->found->path.dirs[dir].path);
	char target[UNIT_NAME_MAX];
	enum unit_entry entry;
	int r;

	if (type != DT_REG && has_instances(name))
		return list_instances(search, dir, name);
	if (type != DT_REG && str_has_suffix(name, ".d"))
		return note_dropins(search, vendors, name);
	if (!is_service(name))
		return 0;
	if (!vendors)
		strv_add(&search->site, name);
	if (type != DT_REG) {
		r = unit_path_entry(&search->found->path, dir, name, type, &entry, target);
		if (r >= 0 && entry == UNIT_ENTRY_ALIAS)
			r = unit_aliases_add(&search->found->aliases, name, target, false);
		if (r < 0)
			return r;
	}
	return consider(search, name);
}

static int look_in(struct search *search, size_t dir)
{
	_cleanup_(unit_listing_done) struct unit_listing listing = {
		.fd = -EBADF,
		.buf = search->listing,
		.budget = &search->found->budget,
	};
	const struct unit_path *path = &search->found->path;
	unsigned char type;
	const char *name;
	int r = root_open_dir(path->root, path->dirs[dir].path, &listing.fd);

	while (r >= 0 && unit_listing_next(&listing, &name, &type))
		r = look_at_entry(search, dir, name, type);
	return r;
}

/* --- whose limit it can be --- */

/* Whether the site has a say in a unit of that name: 1, 0 or -ENOMEM. */
static int is_sites(const struct strv *site, const char *name)
{
	_cleanup_strv_ struct strv stems = {};
	char template[UNIT_NAME_MAX];
	int r;

	if (strv_contains_sorted(site, "service") || strv_contains_sorted(site, name) ||
	    (unit_name_template(name, template) == 0 && strv_contains_sorted(site, template)))
		return 1;
	unit_name_dropin_stems(name, &stems);
	r = strv_error(&stems);
	for (size_t i = 0; i < stems.n && r == 0; i++)
		r = strv_contains_sorted(site, stems.items[i]);
	return r;
}

/*
 * What an alias is given, its unit is given too; an alias of an alias takes another turn, and
 * systemd follows no more than eight.
 */
static int add_aliases_to_site(struct search *search)
{
	const struct unit_aliases *aliases = &search->found->aliases;
	size_t before = SIZE_MAX;

	for (unsigned turn = 0; turn < 8 && search->site.n != before; turn++) {
		before = search->site.n;
		strv_sort(&search->site);
		for (size_t i = 0; i < aliases->n; i++) {
			const char *target = unit_alias_target(aliases, i);
			int r = is_sites(&search->site, unit_alias_name(aliases, i));

			if (r < 0)
				return r;
			if (r > 0 && !strv_contains_sorted(&search->site, target))
				strv_add(&search->more, target);
		}
		for (size_t i = 0; i < search->more.n; i++)
			strv_add(&search->site, search->more.items[i]);
		strv_done(&search->more);
		if (strv_error(&search->site) < 0)
			return -ENOMEM;
	}
	strv_sort(&search->site);
	return 0;
}

/* Most services are the packager's alone: those need not be read. */
static int keep_sites(struct search *search)
{
	struct strv *names = &search->found->names;
	_cleanup_strv_ struct strv kept = {};
	int r = add_aliases_to_site(search);

	strv_sort(names);
	for (size_t i = 0; i < names->n && r >= 0; i++) {
		if (i > 0 && streq(names->items[i], names->items[i - 1]))
			continue;
		r = is_sites(&search->site, names->items[i]);
		if (r > 0)
			strv_add(&kept, names->items[i]);
	}
	if (r < 0 || strv_error(&kept) < 0)
		return -ENOMEM;
	strv_done(names);
	*names = kept;
	kept = (struct strv){};
	return 0;
}

bool candidates_is_vendors(const char *path)
{
	return str_skip_prefix(path, "/usr/lib/") || str_skip_prefix(path, "/lib/");
}

static void search_free(struct search *search)
{
	strv_done(&search->site);
	strv_done(&search->more);
	free(search);
}
DEFINE_CLEANUP(struct search *, search_free);

int candidates_find(const struct root *root, unsigned version, const struct policy *policy,
		    struct candidates *ret)
{
	_cleanup_candidates_ struct candidates candidates = { .budget = ROOT_MAX_DIR_ENTRIES };
	_cleanup_(search_freep) struct search *search = calloc(1, sizeof(*search));
	int r;

	if (!search)
		return -ENOMEM;
	search->policy = policy;
	search->found = &candidates;
	r = unit_path_open(root, &(struct unit_owner){}, version, &candidates.path);
	if (r < 0)
		return r;
	leave_out_generated(&candidates.path);
	for (size_t dir = 0; dir < candidates.path.n && r >= 0; dir++)
		r = look_in(search, dir);
	/* an instance that is not linked anywhere is known by its own name only */
	for (size_t i = 0; i < policy->n_fail_closed && r >= 0; i++)
		r = consider(search, policy->fail_closed[i].value);
	unit_aliases_sort_by_target(&candidates.aliases);
	if (r >= 0)
		r = keep_sites(search);
	if (r < 0)
		return r;
	strv_sort_unique(&candidates.dropin_dirs);
	*ret = candidates;
	candidates = (struct candidates){};
	return 0;
}

void candidates_done(struct candidates *candidates)
{
	unit_path_done(&candidates->path);
	strv_done(&candidates->names);
	strv_done(&candidates->dropin_dirs);
	unit_aliases_done(&candidates->aliases);
	*candidates = (struct candidates){};
}
