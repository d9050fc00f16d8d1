/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which systemd a root has: by the name of its private library, or by the package's record. */

#include "base/root.h"
#include "base/str.h"
#include "units/units.h"

#define LIBRARY "libsystemd-shared-"

/* "252.39-1~deb12u2" -> 252 */
static unsigned leading_number(const char *s)
{
	unsigned n = 0;

	for (; *s >= '0' && *s <= '9' && n < 100000; s++)
		n = n * 10 + (unsigned)(*s - '0');
	return n;
}

static int look_in(const struct root *root, const char *dir, unsigned *version)
{
	_cleanup_strv_ struct strv names = {};
	int r = root_list(root, dir, &names);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < names.n; i++) {
		const char *rest = str_skip_prefix(names.items[i], LIBRARY);

		if (rest)
			*version = MAX(*version, leading_number(rest));
	}
	return 0;
}

/* Debian puts the library below the directory of the architecture. */
static int look_in_multiarch(const struct root *root, const char *lib, unsigned *version)
{
	_cleanup_strv_ struct strv names = {};
	int r = root_list(root, lib, &names);

	if (r == -ENOMEM)
		return r;
	r = 0;
	for (size_t i = 0; i < names.n && r >= 0; i++) {
		_cleanup_free_ char *dir = NULL;

		if (!strstr(names.items[i], "-linux-"))
			continue;
		r = str_printf(&dir, "%s/%s/systemd", lib, names.items[i]);
		if (r >= 0)
			r = look_in(root, dir, version);
	}
	return r;
}

static int look_in_dpkg(const struct root *root, unsigned *version)
{
	static const char package[] = "\nPackage: systemd\n";
	_cleanup_free_ char *status = NULL;
	const char *entry, *end, *found;
	int r;

	/* the leading newline belongs to the pattern: the first entry is never systemd's */
	r = root_read(root, "/var/lib/dpkg/status", ROOT_MAX_JSON, &status, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	entry = strstr(status, package);
	if (!entry)
		return 0;
	end = strstr(entry, "\n\n");
	found = strstr(entry, "\nVersion: ");
	if (found && (!end || found < end))
		*version = leading_number(found + strlen("\nVersion: "));
	return 0;
}

int units_systemd_version(const struct root *root, unsigned *ret)
{
	static const char *const dirs[] = { "/usr/lib/systemd", "/lib/systemd",
					    "/usr/lib64/systemd" };
	unsigned version = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(dirs) && r >= 0 && version == 0; i++)
		r = look_in(root, dirs[i], &version);
	if (r >= 0 && version == 0)
		r = look_in_multiarch(root, "/usr/lib", &version);
	if (r >= 0 && version == 0)
		r = look_in_multiarch(root, "/lib", &version);
	if (r >= 0 && version == 0)
		r = look_in_dpkg(root, &version);
	if (r < 0)
		return r;
	*ret = version;
	return 0;
}
