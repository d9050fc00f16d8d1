/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "facts/container.h"

#include "base/root.h"
#include "base/str.h"
#include "facts/cmdline.h"

#include <sys/stat.h>

enum { MAX_SMALL = 64 * 1024 };

/* The names systemd gives; what calls itself otherwise is "container-other". */
static const char *const managers[] = {
	"systemd-nspawn", "lxc-libvirt", "lxc", "openvz", "docker",
	"podman",	  "rkt",	 "wsl", "proot",  "pouch",
};

/* The first line of a file; -ENOENT when it is not there or empty. */
static int read_line(const struct root *root, const char *path, char **ret)
{
	char *text;
	int r = root_read(root, path, MAX_SMALL, &text, NULL);

	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	if (*text == '\0') {
		free(text);
		return -ENOENT;
	}
	*ret = text;
	return 0;
}

/* The variable "container" of PID 1; -ENOENT when it has none. */
static int read_environ(const struct root *root, char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = root_read(root, "/proc/1/environ", ROOT_MAX_PROC, &text, &size);

	if (r < 0)
		return r == -ENOENT ? -ENODATA : r;
	for (size_t i = 0; i < size; i += strlen(text + i) + 1) {
		const char *value = str_skip_prefix(text + i, "container=");

		if (!value || !*value)
			continue;
		*ret = strdup(value);
		return *ret ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

static const char *by_files(const struct root *root)
{
	if (root_exists(root, "/run/.containerenv"))
		return "podman";
	if (root_exists(root, "/.dockerenv"))
		return "docker";
	return NULL;
}

/* What nobody told: why not decides whether that means none. */
static const char *untold(const struct root *root, int environ_error, bool cgroup_namespace)
{
	if (cgroup_namespace)
		return "container-other";
	if (environ_error == -ENOENT)
		return "none"; /* its environment was read */
	/* a systemd that is PID 1 would have left a file */
	if (root_mode(root) == ROOT_LIVE && root_exists(root, "/run/systemd/system"))
		return "none";
	return "unknown";
}

static const char *known_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(managers); i++)
		if (streq(name, managers[i]))
			return managers[i];
	return "container-other";
}

int container_detect(const struct root *root, const char *release, bool cgroup_namespace,
		     char **ret)
{
	_cleanup_free_ char *told = NULL;
	const char *name = NULL;
	int r = 0;

	if (root_mode(root) == ROOT_OFFLINE) {
		*ret = NULL;
		return 0;
	}
	if (root_exists(root, "/proc/vz") && !root_exists(root, "/proc/bc"))
		name = "openvz";
	else if (release && (strstr(release, "Microsoft") || strstr(release, "WSL")))
		name = "wsl";
	if (!name) {
		r = read_line(root, "/run/host/container-manager", &told);
		if (r < 0 && r != -ENOMEM)
			r = read_line(root, "/run/systemd/container", &told);
		if (r < 0 && r != -ENOMEM)
			r = read_environ(root, &told);
		if (r == -ENOMEM)
			return r;
	}
	/* "oci" is what podman and others say when asked not to name themselves */
	if (!name && (!told || streq(told, "oci")))
		name = by_files(root);
	if (!name)
		name = told ? known_name(told) : untold(root, r, cgroup_namespace);
	*ret = strdup(name);
	return *ret ? 0 : -ENOMEM;
}

enum answer container_is_kdump(const struct root *root, const struct cmdline *cmdline)
{
	if (root_mode(root) == ROOT_OFFLINE)
		return ANSWER_NOT_LOOKED;
	if (root_exists(root, "/proc/vmcore") || cmdline_find(cmdline, "elfcorehdr") >= 0)
		return ANSWER_YES;
	return root_mode(root) == ROOT_LIVE || cmdline->n > 0 ? ANSWER_NO : ANSWER_UNKNOWN;
}

enum answer container_is_chroot(const struct root *root)
{
	struct stat ours, init;

	if (root_mode(root) != ROOT_LIVE)
		return ANSWER_NOT_LOOKED;
	/* a magic link, which struct root does not follow, of the kernel's own */
	if (stat("/", &ours) < 0 || stat("/proc/1/root/.", &init) < 0)
		return ANSWER_UNKNOWN;
	return ours.st_dev == init.st_dev && ours.st_ino == init.st_ino ? ANSWER_NO
									: ANSWER_YES;
}
