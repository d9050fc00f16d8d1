/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/fstab.h"

#include "base/root.h"
#include "base/str.h"

bool fstab_root_is_read_only(const struct root *root)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_strv_ struct strv lines = {};

	if (root_read(root, "/etc/fstab", ROOT_MAX_PROC, &text, NULL) < 0)
		return false;
	strv_split(&lines, text, "\n");
	for (size_t i = 0; i < lines.n; i++) {
		_cleanup_strv_ struct strv fields = {}, options = {};

		strv_split(&fields, lines.items[i], " \t");
		if (fields.n < 4 || *fields.items[0] == '#' || !streq(fields.items[1], "/"))
			continue;
		strv_split(&options, fields.items[3], ",");
		return strv_contains(&options, "ro");
	}
	return false;
}
