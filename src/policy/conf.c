/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/conf.h"

#include "base/root.h"
#include "base/str.h"
#include "policy/builtin.h"

#define VENDOR	"/usr/lib/memcg-policy"
#define BUILTIN "built-in:"

/* highest first */
static const char *const places[] = {
	"/etc/memcg-policy",
	"/run/memcg-policy",
	VENDOR,
};

int conf_find(const struct root *root, const char *name, char **ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_free_ char *path = NULL;
		struct stat st;
		int r;

		r = str_printf(&path, "%s/%s", places[i], name);
		if (r < 0)
			return r;
		/* a broken link and a file that cannot be read are found too: reading reports
		 * them, and a lower file must not stand in for them */
		r = root_lstat(root, path, &st);
		if (r == -ENOENT || r == -ENOTDIR)
			continue;
		*ret = TAKE_PTR(path);
		return 0;
	}
	*ret = NULL;
	for (size_t i = 0; i < n_builtin_files; i++)
		if (streq(builtin_files[i].name, name) && !root_exists(root, VENDOR))
			return str_printf(ret, BUILTIN "%s", name);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(strrchr(*(char *const *)a, '/'), strrchr(*(char *const *)b, '/'));
}

static void list_builtin(const char *dir, struct strv *seen, struct strv *ret)
{
	for (size_t i = 0; i < n_builtin_files; i++) {
		const char *name = str_skip_prefix(builtin_files[i].name, dir);

		if (name && *name == '/' && strv_add_unique(seen, name + 1))
			strv_addf(ret, BUILTIN "%s", builtin_files[i].name);
	}
}

int conf_list(const struct root *root, const char *dir, const char *without,
	      enum diag_level level, struct strv *ret, struct diag *diag)
{
	_cleanup_strv_ struct strv seen = {};
	int result = 0, r;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_strv_ struct strv names = {};
		_cleanup_free_ char *path = NULL;

		r = str_printf(&path, "%s/%s", places[i], dir);
		if (r < 0)
			return r;
		r = root_list(root, path, &names);
		if (r == -ENOMEM)
			return r;
		if (r < 0 && r != -ENOENT) {
			const struct diag_where where = { .path = path };

			diag_add(diag, level, &where, "cannot be listed: %s", strerror(-r));
			result = result < 0 ? result : r;
			continue;
		}
		for (size_t k = 0; k < names.n; k++) {
			_cleanup_free_ char *file = NULL;

			if (names.items[k][0] == '.' ||
			    !str_has_suffix(names.items[k], ".conf"))
				continue;
			r = str_printf(&file, "%s/%s", path, names.items[k]);
			if (r < 0)
				return r;
			if (!(without && streq(without, file)) &&
			    strv_add_unique(&seen, names.items[k]))
				strv_add(ret, file);
		}
	}
	if (!root_exists(root, VENDOR))
		list_builtin(dir, &seen, ret);
	if (seen.failed || ret->failed)
		return -ENOMEM;
	if (ret->n > 1)
		qsort(ret->items, ret->n, sizeof(*ret->items), compare_names);
	return result;
}

/* An offline root may have no /dev, so the link's own text counts too. */
static bool is_null_link(const struct root *root, const char *path)
{
	_cleanup_free_ char *target = NULL, *text = NULL;

	if (root_readlink(root, path, &text) < 0)
		return false;
	return streq(text, "/dev/null") ||
	       (root_resolve(root, path, &target) >= 0 && streq(target, "/dev/null"));
}

int conf_read(const struct root *root, const char *path, enum diag_level level, char **ret,
	      size_t *ret_size, struct diag *diag)
{
	const struct diag_where where = { .path = path };
	const char *why, *builtin = str_skip_prefix(path, BUILTIN);
	int r;

	for (size_t i = 0; builtin && i < n_builtin_files; i++)
		if (streq(builtin_files[i].name, builtin)) {
			*ret = strdup(builtin_files[i].text);
			*ret_size = builtin_files[i].size;
			return *ret ? 0 : -ENOMEM;
		}
	r = root_read(root, path, ROOT_MAX_POLICY, ret, ret_size);
	if (r >= 0 || r == -ENOMEM)
		return r;
	if (is_null_link(root, path)) {
		*ret = strdup("");
		if (!*ret)
			return -ENOMEM;
		*ret_size = 0;
		return 0;
	}
	why = r == -EFBIG    ? "larger than 64 KiB"
	      : r == -EBADFD ? "not a regular file"
			     : strerror(-r);
	diag_add(diag, level, &where, "cannot be read: %s", why);
	return r;
}
