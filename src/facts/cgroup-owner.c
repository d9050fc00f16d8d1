/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/limits.h"

#include "base/root.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>

enum { SHORT_ID = 12, LONG_ID = 64 };

/*
 * How managers name the groups of containers: with systemd as a scope, without it as a
 * directory below one of their own name. In the order of their tries: the longer before the
 * shorter.
 */
static const struct {
	const char *prefix;
	const char *suffix; /* taken off, NULL: there need be none */
	const char *what;
	bool id; /* a long id, shown as short as the engine shows it */
} names[] = {
	{ "docker-", ".scope", "docker container", true },
	{ "libpod-payload-", NULL, "podman container", true },
	{ "libpod-", ".scope", "podman container", true },
	{ "libpod-", NULL, "podman container", true },
	{ "crio-", ".scope", "CRI-O container", true },
	{ "cri-containerd-", ".scope", "containerd container", true },
	{ "nerdctl-", ".scope", "containerd container", true },
	{ "lxc.payload.", NULL, "LXC container", false },
	{ "lxc.monitor.", NULL, "LXC container", false },
	{ "machine-", ".scope", "machine", false },
};

static bool is_id(const char *s, size_t size)
{
	if (size < LONG_ID)
		return false;
	for (size_t i = 0; i < LONG_ID; i++)
		if (!isxdigit((unsigned char)s[i]))
			return false;
	return true;
}

/* The container that a component of the path names; parent is the one before it. */
static int find_container(const char *component, const char *parent, char **ret)
{
	size_t size = strlen(component);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *name = str_skip_prefix(component, names[i].prefix);
		size_t n = name ? strlen(name) : 0;

		if (!name || (names[i].suffix && !str_has_suffix(name, names[i].suffix)))
			continue;
		n -= names[i].suffix ? strlen(names[i].suffix) : 0;
		if (names[i].id && !is_id(name, n))
			continue;
		return str_printf(ret, "%s %.*s", names[i].what,
				  (int)(names[i].id ? SHORT_ID : n), name);
	}
	if (is_id(component, size) && size == LONG_ID)
		return str_printf(ret, "%s%scontainer %.*s", parent ? parent : "",
				  parent ? " " : "", SHORT_ID, component);
	if (parent && streq(parent, "lxc"))
		return str_printf(ret, "LXC container %s", component);
	if (str_skip_prefix(component, "kubepods") && strstr(component, "pod"))
		return str_printf(ret, "Kubernetes pods in %s", component);
	return 0;
}

static bool is_unit(const char *component)
{
	static const char *const suffixes[] = { ".service", ".scope", ".slice",
						".socket",  ".mount", ".swap" };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (str_has_suffix(component, suffixes[i]))
			return true;
	return false;
}

/* The login of a user, or its number. */
static int user_name(const struct root *root, uid_t uid, char **ret)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_strv_ struct strv lines = {};
	int r = root_read(root, "/etc/passwd", ROOT_MAX_UNIT, &text, NULL);

	if (r == -ENOMEM)
		return r;
	if (r >= 0)
		strv_split(&lines, text, "\n");
	for (size_t i = 0; i < lines.n; i++) {
		const char *line = lines.items[i], *colon = strchr(line, ':');
		const char *number = colon ? strchr(colon + 1, ':') : NULL;

		if (number && strtoul(number + 1, NULL, 10) == uid && isdigit(number[1]))
			return str_printf(ret, "%.*s", (int)(colon - line), line);
	}
	return lines.failed ? -ENOMEM : str_printf(ret, "%u", (unsigned)uid);
}

int cgroup_owner(const struct root *root, const char *group, uid_t uid, char **ret)
{
	_cleanup_strv_ struct strv components = {};
	_cleanup_free_ char *container = NULL, *user = NULL;
	const char *unit = NULL;
	unsigned slice;
	int r;

	strv_split(&components, group, "/");
	r = strv_error(&components);
	for (size_t i = components.n; r >= 0 && i-- > 0;) {
		const char *component = components.items[i];

		if (!container)
			r = find_container(component, i > 0 ? components.items[i - 1] : NULL,
					   &container);
		if (!unit && is_unit(component))
			unit = component;
		if (sscanf(component, "user-%u.slice", &slice) == 1)
			uid = slice;
	}
	if (r >= 0 && uid != 0)
		r = user_name(root, uid, &user);
	if (r < 0)
		return r;
	return str_printf(ret, "%s%s%s%s",
			  container ? container
			  : unit    ? unit
				    : "cgroup ",
			  container || unit ? "" : group, user ? " of user " : "",
			  user ? user : "");
}
