/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/fstab.h"

#include "base/root.h"
#include "base/str.h"

/* Without a file there are no lines. */
static void read_lines(const struct root *root, struct strv *ret)
{
	_cleanup_free_ char *text = NULL;

	if (root_read(root, "/etc/fstab", ROOT_MAX_PROC, &text, NULL) >= 0)
		strv_split(ret, text, "\n");
}

/* The fields of a line: false unless it is an entry with a type. */
static bool read_entry(const char *line, struct strv *ret)
{
	strv_split(ret, line, " \t");
	return ret->n >= 3 && *ret->items[0] != '#';
}

bool fstab_root_is_read_only(const struct root *root)
{
	_cleanup_strv_ struct strv lines = {};

	read_lines(root, &lines);
	for (size_t i = 0; i < lines.n; i++) {
		_cleanup_strv_ struct strv fields = {}, options = {};

		if (!read_entry(lines.items[i], &fields) || fields.n < 4 ||
		    !streq(fields.items[1], "/"))
			continue;
		strv_split(&options, fields.items[3], ",");
		return strv_contains(&options, "ro");
	}
	return false;
}

/* A running system tells by the device, another root by there being nothing. */
static bool is_mounted(const struct root *root, const char *path)
{
	_cleanup_strv_ struct strv names = {};
	struct stat st, above;
	_cleanup_free_ char *parent = NULL;

	if (root_mode(root) != ROOT_LIVE)
		return root_list(root, path, &names) >= 0 && names.n > 0;
	return str_printf(&parent, "%s/..", path) < 0 || root_stat(root, path, &st) < 0 ||
	       root_stat(root, parent, &above) < 0 || st.st_dev != above.st_dev;
}

const char *fstab_unmounted_boot(const struct root *root)
{
	static const char *const places[] = { "/boot", "/efi", "/boot/efi", "/boot/firmware" };
	_cleanup_strv_ struct strv lines = {};

	read_lines(root, &lines);
	for (size_t i = 0; i < lines.n; i++) {
		_cleanup_strv_ struct strv fields = {};

		if (!read_entry(lines.items[i], &fields))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(places); k++)
			if (streq(fields.items[1], places[k]) && !is_mounted(root, places[k]))
				return places[k];
	}
	return NULL;
}
