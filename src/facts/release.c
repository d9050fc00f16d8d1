/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/release.h"

#include "base/str.h"

bool release_is_valid(const char *release)
{
	if (*release == '\0' || *release == '.' || strlen(release) > 255)
		return false;
	for (const char *p = release; *p; p++)
		if (*p == '/' || (unsigned char)*p <= ' ' || *p == 0x7f)
			return false;
	return true;
}

/* Reads digits at *p: false when there are none, or too many for a version. */
static bool parse_number(const char **p, unsigned *ret)
{
	unsigned value = 0, digits = 0;

	for (; **p >= '0' && **p <= '9' && digits < 7; (*p)++, digits++)
		value = value * 10 + (unsigned)(**p - '0');
	*ret = value;
	return digits > 0 && digits < 7;
}

int release_parse(const char *release, struct release_version *ret)
{
	struct release_version version = {};

	if (!parse_number(&release, &version.major) || *release++ != '.' ||
	    !parse_number(&release, &version.minor))
		return -EINVAL;
	if (*release == '.') {
		release++;
		if (!parse_number(&release, &version.patch))
			version.patch = 0;
	}
	*ret = version;
	return 0;
}

bool release_is_before(const char *release, unsigned major, unsigned minor)
{
	struct release_version v;

	return release_parse(release, &v) >= 0 &&
	       (v.major < major || (v.major == major && v.minor < minor));
}

bool release_is_from(const char *release, unsigned major, unsigned minor)
{
	struct release_version v;

	return release_parse(release, &v) >= 0 &&
	       (v.major > major || (v.major == major && v.minor >= minor));
}

int release_compare(const char *a, const char *b)
{
	return strverscmp(a, b);
}
