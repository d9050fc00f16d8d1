/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "generator/closed.h"

#include "base/diag.h"
#include "base/ini.h"
#include "base/root.h"
#include "base/str.h"
#include "facts/cgroupfs.h"
#include "generator/candidates.h"
#include "policy/policy.h"
#include "units/unit-load.h"
#include "units/units.h"

#include <fcntl.h>

/*
 * A host without these is out of reach or does not come up at all, which is worse than a limit
 * that does not hold. Names of services without the ending, globs.
 */
static const char *const never[] = {
	/* systemd's own: journal, logins, devices, networks, user managers */
	"systemd-*",
	"user@*",
	"user-runtime-dir@*",
	"dbus",
	"dbus-*",
	"messagebus",
	"polkit",
	"init",
	"emergency",
	"rescue",
	"debug-shell",
	/* logging in */
	"ssh",
	"sshd",
	"ssh@*",
	"sshd@*",
	"sshd-*",
	"dropbear*",
	"getty@*",
	"serial-getty@*",
	"console-getty*",
	"container-getty@*",
	"autovt@*",
	"agetty*",
	/* the network */
	"NetworkManager*",
	"networking",
	"network",
	"networkd*",
	"connman*",
	"wicked*",
	"netplan*",
	"netctl*",
	"ifup@*",
	"ifupdown*",
	"wpa_supplicant*",
	"iwd",
	"dhcpcd*",
	"dhclient*",
	"udhcpc*",
	"cloud-*",
	"ModemManager",
	"rdma*",
	"openvswitch*",
	"ovs-*",
	/* the way in from afar */
	"openvpn*",
	"wg-quick@*",
	"wireguard*",
	"strongswan*",
	"ipsec*",
	"libreswan*",
	"tailscale*",
	"zerotier*",
	"nebula*",
	"netbird*",
	"openconnect*",
	"vpnc*",
	"tinc*",
	"ocserv*",
	"xl2tpd*",
	"pppd*",
	"ppp@*",
	"cloudflared*",
	"teleport*",
	"salt-minion",
	"amazon-ssm-agent*",
	"google-guest-agent*",
	"walinuxagent*",
	"waagent*",
	"qemu-guest-agent*",
	"cockpit*",
	NULL,
};

static bool matches_any(const char *const *patterns, const char *name)
{
	_cleanup_free_ char *stem = str_dup_n(name, strlen(name) - strlen(".service"));

	if (!stem)
		return true;
	for (; *patterns; patterns++)
		if (str_match_glob(*patterns, stem))
			return true;
	return false;
}

/* By any of its names. */
static bool is_exempt(const struct unit *unit)
{
	if (matches_any(never, unit->name))
		return true;
	for (size_t i = 0; i < unit->aliases.n; i++)
		if (matches_any(never, unit->aliases.items[i]))
			return true;
	return false;
}

/*
 * The limit that somebody here set, as opposed to the packager; NULL when there is none, and
 * when a line of the unit was not understood in full.
 */
static const struct unit_line *find_limit(const struct unit *unit, unsigned version)
{
	const struct unit_line *found = NULL;

	for (size_t i = 0; i < unit->n_lines; i++) {
		const struct unit_line *line = &unit->lines[i];
		const struct unit_setting *setting = line->setting;

		if (line->state == UNIT_LINE_UNREAD)
			return NULL;
		if (line->state != UNIT_LINE_SET || setting->kind != UNIT_LIMIT ||
		    candidates_is_vendors(unit->sources.items[line->source]))
			continue;
		/* systemd would not use it with memcg on either */
		if (setting->ignored_since > 0 &&
		    (version == 0 || version >= setting->ignored_since))
			continue;
		if (!found)
			found = line;
	}
	return unit->truncated ? NULL : found;
}

/* DefaultDependencies= of a file: *value is what the last line says. */
static int read_dependencies(const struct root *root, const char *path, bool *value)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_ini_ struct ini *ini = NULL;
	struct ini_item item;
	size_t size;
	int r;

	r = root_read(root, path, ROOT_MAX_UNIT, &text, &size);
	if (r == -ENOTSUP)
		return 0; /* a mask, a link to /dev/null */
	if (r >= 0)
		r = ini_new(text, size, &ini);
	while (r >= 0) {
		r = ini_next(ini, &item);
		if (r < 0 || item.kind == INI_END)
			break;
		if (item.kind == INI_BAD_SECTION || item.kind == INI_NOT_UTF8 ||
		    item.kind == INI_LINE_TOO_LONG)
			return -EINVAL;
		if (item.kind == INI_ASSIGNMENT && streq(item.section, "Unit") &&
		    streq(item.key, "DefaultDependencies"))
			IGNORE(str_parse_bool(item.value, value)); /* as systemd: it stays */
	}
	return r;
}

/* A service of early boot: what waits for it may be everything. */
static int is_early(const struct root *root, const struct unit *unit)
{
	bool dependencies = true;

	for (size_t i = 0; i < unit->sources.n; i++) {
		int r = read_dependencies(root, unit->sources.items[i], &dependencies);

		if (r < 0)
			return r;
	}
	return !dependencies;
}

static const struct policy_text_setting *find_pattern(const struct policy *policy,
						      const struct unit *unit)
{
	for (size_t i = 0; i < policy->n_fail_closed; i++) {
		const char *pattern = policy->fail_closed[i].value;

		if (str_match_glob(pattern, unit->name))
			return &policy->fail_closed[i];
		for (size_t k = 0; k < unit->aliases.n; k++)
			if (str_match_glob(pattern, unit->aliases.items[k]))
				return &policy->fail_closed[i];
	}
	return NULL;
}

static void closed_unit_done(struct closed_unit *unit)
{
	free(unit->name);
	free(unit->pattern);
	free(unit->policy_path);
	free(unit->setting);
	free(unit->value);
	free(unit->path);
}

static int add_closed(struct closed *closed, const struct unit *unit,
		      const struct policy_text_setting *pattern, const struct unit_line *limit)
{
	struct closed_unit item = {
		.name = strdup(unit->name),
		.pattern = strdup(pattern->value),
		.policy_path = strdup(pattern->source.path ?: ""),
		.policy_line = pattern->source.line,
		.setting = strdup(limit->setting->name),
		.value = strdup(limit->value),
		.path = strdup(unit->sources.items[limit->source]),
		.line = limit->line,
	};

	if (!GROW(closed->items, closed->n, closed->alloc) || !item.name || !item.pattern ||
	    !item.policy_path || !item.setting || !item.value || !item.path) {
		closed_unit_done(&item);
		return -ENOMEM;
	}
	closed->items[closed->n++] = item;
	return 0;
}

static bool is_known(const struct closed *closed, const char *name)
{
	for (size_t i = 0; i < closed->n; i++)
		if (streq(closed->items[i].name, name))
			return true;
	return false;
}

static int judge(const struct root *root, const struct policy *policy,
		 struct unit_loader *loader, const char *name, struct closed *closed)
{
	_cleanup_(unit_done) struct unit unit = {};
	const struct policy_text_setting *pattern;
	const struct unit_line *limit;
	int r;

	r = unit_load(loader, name, &unit);
	if (r < 0)
		return r;
	if (unit.type != UNIT_SERVICE || unit.state != UNIT_LOADED || !unit.has_fragment ||
	    unit.generated || is_exempt(&unit) || is_known(closed, unit.name))
		return 0;
	limit = find_limit(&unit, loader->version);
	pattern = find_pattern(policy, &unit);
	if (!limit || !pattern)
		return 0;
	r = is_early(root, &unit);
	if (r != 0)
		return r == -ENOMEM ? r : 0;
	return add_closed(closed, &unit, pattern, limit);
}

/* The v2 root is visible and no hierarchy has memory. Anything else is not certain. */
static int memory_is_absent(const struct root *root)
{
	_cleanup_cgroupfs_ struct cgroupfs cgroupfs = {};
	int r = cgroupfs_look(root, &cgroupfs);

	return r < 0 ? r : cgroupfs.absent && !cgroupfs.namespaced;
}

static int find_units(const struct root *root, const struct policy *policy, struct closed *ret)
{
	_cleanup_candidates_ struct candidates candidates = {};
	_cleanup_diag_ struct diag ignored = {};
	_cleanup_free_ struct unit_loader *loader = calloc(1, sizeof(*loader));
	int r;

	if (!loader)
		return -ENOMEM;
	r = units_systemd_version(root, &loader->version);
	if (r >= 0)
		r = candidates_find(root, loader->version, policy, &candidates);
	if (r < 0)
		return r;
	loader->root = root;
	loader->path = &candidates.path;
	loader->aliases = &candidates.aliases;
	loader->dropin_dirs = &candidates.dropin_dirs;
	loader->budget = &candidates.budget;
	loader->diag = &ignored;
	for (size_t i = 0; i < candidates.names.n && r >= 0; i++)
		r = judge(root, policy, loader, candidates.names.items[i], ret);
	unit_loader_done(loader);
	/* more files than are looked at */
	return r >= 0 && candidates.budget == 0 ? -EFBIG : r;
}

int closed_find(const struct root *root, struct closed *ret)
{
	_cleanup_closed_ struct closed closed = {};
	_cleanup_policy_ struct policy policy = {};
	_cleanup_diag_ struct diag ignored = {};
	int r;

	r = policy_load(root, &policy, &ignored);
	if (r < 0 || policy.n_fail_closed == 0)
		return r;
	r = memory_is_absent(root);
	if (r > 0)
		r = find_units(root, &policy, &closed);
	if (r < 0)
		return r;
	*ret = closed;
	closed = (struct closed){};
	return 0;
}

void closed_done(struct closed *closed)
{
	for (size_t i = 0; i < closed->n; i++)
		closed_unit_done(&closed->items[i]);
	free(closed->items);
	*closed = (struct closed){};
}

/* --- the drop-ins --- */

/* File names and values may hold anything, also what would end a comment. */
static int print_dropin(const struct closed_unit *unit, char **ret)
{
	const char *const parts[] = { unit->setting, unit->value, unit->path, unit->pattern,
				      unit->policy_path };
	_cleanup_strv_ struct strv safe = {};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		_cleanup_free_ char *part = str_escape(parts[i], strlen(parts[i]));

		if (!part)
			return -ENOMEM;
		strv_add(&safe, part);
	}
	if (strv_error(&safe) < 0)
		return -ENOMEM;
	return str_printf(ret,
			  "# Made by memcg-policy-generator(8).\n"
			  "# The kernel has no memory controller that could hold %s=%s\n"
			  "# (%s, line %u), and FailClosed=%s\n"
			  "# (%s, line %u) says that the service shall not run without.\n"
			  "[Unit]\n"
			  "AssertControlGroupController=memory\n",
			  safe.items[0], safe.items[1], safe.items[2], unit->line,
			  safe.items[3], safe.items[4], unit->policy_line);
}

static int write_file(int dir_fd, const char *path, const char *text)
{
	_cleanup_fd_ int fd = openat(
		dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	size_t size = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, size);
	if (n >= 0 && (size_t)n == size)
		return 0;
	n = n < 0 ? -errno : -ENOSPC;
	(void)unlinkat(dir_fd, path, 0); /* half a drop-in is worse than none */
	return (int)n;
}

int closed_write(const struct closed *closed, const char *dir)
{
	_cleanup_fd_ int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < closed->n; i++) {
		_cleanup_free_ char *subdir = NULL, *path = NULL, *text = NULL;
		int r = str_printf(&subdir, "%s.d", closed->items[i].name);

		if (r >= 0)
			r = str_printf(&path, "%s/50-memcg-policy.conf", subdir);
		if (r >= 0)
			r = print_dropin(&closed->items[i], &text);
		if (r >= 0 && mkdirat(fd, subdir, 0755) < 0 && errno != EEXIST)
			r = -errno;
		if (r >= 0)
			r = write_file(fd, path, text);
		if (r < 0)
			return r;
	}
	return 0;
}
