/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/limits.h"

#include "base/root.h"

enum {
	MAX_GROUPS = 20000,
	MAX_DEPTH = 32,
	MAX_VALUE = 64,
};

/* v1's "no limit" is LONG_MAX rounded down to a page, on 64 and on 32 bit */
#define V1_UNLIMITED (UINT64_C(1) << 43)

static const struct {
	const char *name;
	bool v1;
	bool protects; /* 0 is the default, not "max" */
} files[] = {
	{ "memory.max", false, false },
	{ "memory.high", false, false },
	{ "memory.swap.max", false, false },
	{ "memory.min", false, true },
	{ "memory.low", false, true },
	{ "memory.limit_in_bytes", true, false },
	{ "memory.soft_limit_in_bytes", true, false },
};

void limits_done(struct limits *limits)
{
	strv_done(&limits->set);
	strv_done(&limits->vendor);
}

static bool is_default(size_t file, const char *value)
{
	uint64_t number;

	if (streq(value, "max") || str_parse_u64(value, &number) < 0)
		return true;
	if (files[file].protects)
		return number == 0;
	return files[file].v1 && number >= V1_UNLIMITED;
}

/* Whether a unit's file is a package's and nothing of the administrator's is beside it. */
static bool is_vendor_unit(const struct root *root, const char *group)
{
	static const char *const own[] = { "/etc/systemd", "/run/systemd" };
	static const char *const vendor[] = { "/usr/lib/systemd", "/lib/systemd" };
	static const char *const managers[] = { "system", "user" };
	const char *slash = strrchr(group, '/'), *name = slash ? slash + 1 : group,
		   *at = strchr(name, '@'), *suffix = strrchr(name, '.');
	_cleanup_free_ char *unit = NULL;
	bool found = false;

	if (!suffix || !streq(suffix, ".service"))
		return false;
	/* foo@bar.service is made of foo@.service */
	if (str_printf(&unit, "%.*s%s", (int)(at ? at + 1 - name : suffix - name), name,
		       suffix) < 0)
		return false;
	for (size_t m = 0; m < ARRAY_SIZE(managers); m++) {
		_cleanup_free_ char *path = NULL;

		for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
			_cleanup_free_ char *file = NULL, *dir = NULL;

			if (str_printf(&file, "%s/%s/%s", own[i], managers[m], unit) < 0 ||
			    str_printf(&dir, "%s/%s/%s.d", own[i], managers[m], name) < 0 ||
			    root_exists(root, file) || root_exists(root, dir))
				return false;
		}
		for (size_t i = 0; i < ARRAY_SIZE(vendor) && !found; i++) {
			free(path);
			path = NULL;
			if (str_printf(&path, "%s/%s/%s", vendor[i], managers[m], unit) < 0)
				return false;
			found = root_exists(root, path);
		}
	}
	return found;
}

static int read_group(const struct root *root, const char *tree, const char *group,
		      struct limits *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *path = NULL, *value = NULL;
		int r = str_printf(&path, "%s/%s/%s", tree, group, files[i].name);

		if (r < 0)
			return r;
		r = root_read(root, path, MAX_VALUE, &value, NULL);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		value[strcspn(value, "\n")] = '\0';
		if (!is_default(i, value))
			strv_addf(is_vendor_unit(root, group) ? &ret->vendor : &ret->set,
				  "%s: %s %s", group, files[i].name, value);
	}
	return ret->set.failed || ret->vendor.failed ? -ENOMEM : 0;
}

/* The cgroups below one; "" is the root, which has no limits. */
static int walk(const struct root *root, const char *tree, const char *group, unsigned depth,
		size_t *budget, struct limits *ret)
{
	_cleanup_free_ char *dir = NULL;
	_cleanup_strv_ struct strv names = {};
	int r = str_printf(&dir, "%s/%s", tree, group);

	if (r < 0)
		return r;
	r = root_list(root, dir, &names);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* gone meanwhile */
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *child = NULL, *path = NULL;
		struct stat st;

		/* files have a dot and a controller's name in front of it; directories may too
		 */
		r = str_printf(&path, "%s/%s", dir, names.items[i]);
		if (r < 0)
			return r;
		if (root_lstat(root, path, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		if (*budget == 0 || depth == MAX_DEPTH) {
			ret->cut = true;
			return 0;
		}
		(*budget)--;
		r = str_printf(&child, "%s%s%s", group, *group ? "/" : "", names.items[i]);
		if (r >= 0)
			r = read_group(root, tree, child, ret);
		if (r >= 0)
			r = walk(root, tree, child, depth + 1, budget, ret);
		if (r < 0)
			return r;
	}
	return 0;
}

int limits_find(const struct root *root, const char *memory_tree, struct limits *ret)
{
	size_t budget = MAX_GROUPS;

	return walk(root, memory_tree, "", 0, &budget, ret);
}
