/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * CgroupLimit=: cgroups that have a memory limit or protection now. What a package ships for
 * its own unit below /usr is that package's caution, not the site's need.
 */

#include "needs/look.h"

#include "base/root.h"
#include "facts/running.h"

/* Whether the administrator has a file of the unit, or one beside it. */
static bool is_touched(const struct root *root, const char *unit, const char *file)
{
	static const char *const dirs[] = {
		"/etc/systemd/system.control", "/run/systemd/system.control",
		"/run/systemd/transient",      "/etc/systemd/system",
		"/run/systemd/system",	       "/etc/systemd/user",
	};
	const char *names[] = { unit, file, "service" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			_cleanup_free_ char *path = NULL, *dir = NULL;

			if (str_printf(&path, "%s/%s", dirs[i], names[k]) < 0 ||
			    str_printf(&dir, "%s/%s.d", dirs[i], names[k]) < 0 ||
			    root_exists(root, path) || root_exists(root, dir))
				return true;
		}
	return false;
}

/* Whether a service is a package's, and nothing of the administrator's is beside it. */
static bool is_shipped(const struct root *root, const char *group)
{
	static const char *const dirs[] = { "/usr/lib/systemd/system", "/lib/systemd/system",
					    "/usr/lib/systemd/user" };
	const char *slash = strrchr(group, '/'), *name = slash ? slash + 1 : group,
		   *at = strchr(name, '@'), *suffix = strrchr(name, '.');
	_cleanup_free_ char *file = NULL;

	if (!suffix || !streq(suffix, ".service"))
		return false;
	/* foo@bar.service is made of foo@.service */
	if (str_printf(&file, "%.*s%s", (int)(at ? at + 1 - name : suffix - name), name,
		       suffix) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		_cleanup_free_ char *path = NULL;

		if (str_printf(&path, "%s/%s", dirs[i], file) >= 0 && root_exists(root, path))
			return !is_touched(root, name, file);
	}
	return false;
}

static int found(struct look *look, const struct limit *limit)
{
	_cleanup_free_ char *text = NULL, *path = NULL;
	int r;

	r = str_printf(&text, "%s = %s of %s", limit->file, limit->value, limit->owner);
	if (r >= 0)
		r = str_printf(&path, "%s/%s/%s", look->running->memory_tree, limit->group,
			       limit->file);
	return r < 0 ? r : look_found(look, path, 0, text, strlen(text));
}

int look_cgroup_limit(struct look *look, const char *pattern)
{
	const struct limits *limits = &look->limits;
	int r = 0;

	if (!look->running)
		return 0;
	if (!look->limits_read) {
		r = limits_find(look->root, look->running, &look->limits);
		look->limits_read = r >= 0;
	}
	for (size_t i = 0; r >= 0 && i < limits->n; i++)
		if (str_match_glob(pattern, limits->items[i].group) &&
		    !is_shipped(look->root, limits->items[i].group))
			r = found(look, &limits->items[i]);
	if (r >= 0 && (limits->cut || limits->unopened))
		look_failed(look, look->running->memory_tree, limits->cut ? -EFBIG : -EIO,
			    limits->cut ? "there are more cgroups than are looked at"
					: "the cgroups cannot be listed");
	return r;
}
