/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/refuse.h"

#include "base/diag.h"
#include "base/root.h"
#include "base/str.h"
#include "boot/record.h"
#include "boot/started.h"
#include "facts/kernels.h"
#include "facts/machine.h"
#include "facts/running.h"
#include "policy/need.h"

#include <linux/magic.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#define MAX_LISTED ((size_t)5)

static int check_container(const struct refuse_input *in, struct diag *diag)
{
	const char *container = in->running->container;

	if (root_mode(in->root) != ROOT_LIVE || !container || streq(container, "none") ||
	    streq(container, "unknown"))
		return 0;
	diag_error(diag,
		   &(struct diag_where){ .hint = "run this on the host, or prepare an image "
						 "with --root=DIR" },
		   "this is a container (%s): its kernel is booted elsewhere", container);
	return 0;
}

/* --- a root whose writes do not survive --- */

/* The nearest directory of a path that is there. */
static int open_above(const struct root *root, const char *path, int *ret_fd, char **ret_dir)
{
	_cleanup_free_ char *dir = strdup(path);

	if (!dir)
		return -ENOMEM;
	for (;;) {
		char *slash = strrchr(dir, '/');
		int r;

		slash[slash == dir] = '\0';
		r = root_open_path(root, dir, ret_fd);
		if (r >= 0) {
			*ret_dir = TAKE_PTR(dir);
			return 0;
		}
		if (r != -ENOENT || streq(dir, "/"))
			return r;
	}
}

static const char *volatile_kind(const struct statfs *fs)
{
	/* compared unsigned: f_type is signed on 32 bit */
	switch ((uint32_t)fs->f_type) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
		return "in memory";
	case OVERLAYFS_SUPER_MAGIC:
		return "an overlay, as of a live image";
	case SQUASHFS_MAGIC:
	case ISOFS_SUPER_MAGIC:
		return "an image";
	default:
		return NULL;
	}
}

/* Device, and whether it is read-only here: parts of one may be mounted otherwise. */
static int look_at_mount(const struct root *root, const char *dir, dev_t *ret_device,
			 bool *ret_read_only)
{
	_cleanup_fd_ int fd = -EBADF;
	struct statfs fs;
	struct stat st;
	int r = root_open_path(root, dir, &fd);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	*ret_device = st.st_dev;
	*ret_read_only = fs.f_flags & ST_RDONLY;
	return 0;
}

/* Where the file system of a directory is mounted: the highest one above it on the same device.
 */
static int mount_point(const struct root *root, const char *dir, char **ret)
{
	_cleanup_free_ char *path = strdup(dir);
	bool read_only, above_read_only;
	dev_t device, above;
	int r;

	if (!path)
		return -ENOMEM;
	r = look_at_mount(root, path, &device, &read_only);
	while (r >= 0 && !streq(path, "/")) {
		_cleanup_free_ char *parent = strdup(path);
		char *slash;

		if (!parent)
			return -ENOMEM;
		slash = strrchr(parent, '/');
		slash[slash == parent] = '\0';
		r = look_at_mount(root, parent, &above, &above_read_only);
		if (r < 0 || above != device || above_read_only != read_only)
			break;
		free(path);
		path = TAKE_PTR(parent);
	}
	*ret = TAKE_PTR(path);
	return 0;
}

static int check_place(const struct refuse_input *in, const char *path, struct strv *seen,
		       struct diag *diag)
{
	_cleanup_fd_ int fd = -EBADF;
	_cleanup_free_ char *dir = NULL, *mount = NULL, *hint = NULL;
	const char *kind;
	struct statfs fs;
	int r = open_above(in->root, path, &fd, &dir);

	if (r < 0)
		return r == -ENOMEM ? r : 0; /* writing will say what is wrong */
	if (fstatfs(fd, &fs) < 0)
		return 0;
	/* an image being built may be in memory or an overlay, and is kept by who builds it */
	kind = streq(root_path(in->root), "/") && root_mode(in->root) == ROOT_LIVE
		       ? volatile_kind(&fs)
		       : NULL;
	if (!kind && !(fs.f_flags & ST_RDONLY))
		return 0;
	r = mount_point(in->root, dir, &mount);
	if (r < 0 || !strv_add_unique(seen, mount))
		return r < 0 ? r : strv_error(seen);
	if (kind) {
		diag_error(diag,
			   &(struct diag_where){ .path = mount,
						 .hint = "prepare the image itself with "
							 "--root=DIR" },
			   "is %s: what is written there is gone after the boot", kind);
		return 0;
	}
	r = str_printf(&hint, "mount -o remount,rw %s, or prepare the image with --root=DIR",
		       mount);
	if (r >= 0)
		diag_error(diag, &(struct diag_where){ .path = mount, .hint = hint },
			   "is read-only");
	return r;
}

static int check_persistent(const struct refuse_input *in, struct diag *diag)
{
	_cleanup_strv_ struct strv seen = {};
	int r = check_place(in, RECORD_LOCK, &seen, diag);

	for (size_t i = 0; r >= 0 && i < in->changes->n; i++)
		r = check_place(in, in->changes->edits[i].path, &seen, diag);
	if (in->changes->refresh != REFRESH_RUN || in->boot->backend->remounts)
		return r;
	for (size_t i = 0; r >= 0 && i < in->state->entries.n; i++)
		r = check_place(in, in->state->entries.items[i].source, &seen, diag);
	return r;
}

/* --- the line's length --- */

/*
 * How long an entry's line will be, and whether that is because of us: it is longer than it
 * was, or the word that decides is behind the limit. What the loader itself puts on it
 * (BOOT_IMAGE=, initrd=) is about as long as the kernel's path.
 */
static int resulting_size(const struct boot_entry *e, const struct boot_words *words,
			  size_t limit, size_t *ret_size, bool *ret_counts)
{
	enum memcg_state want = words->want == BOOT_WANT_ON ? MEMCG_ON : MEMCG_OFF;
	size_t own = strlen("BOOT_IMAGE= ") + (e->image ? strlen(e->image) : 0), size;
	const char *args = e->args ? e->args : "";
	_cleanup_cmdline_ struct cmdline line = {};
	_cleanup_free_ char *text = NULL;
	ssize_t word;
	int r = cmdline_edit(args, strlen(args), CMDLINE_LINE, want, words->flags, &text, &size,
			     NULL);

	if (r >= 0)
		r = cmdline_parse(text, size, CMDLINE_LINE, &line);
	if (r < 0)
		return r;
	(void)cmdline_request(&line, &word); /* which word says it is what is asked */
	*ret_size = own + size;
	*ret_counts =
		size > strlen(args) ||
		(word >= 0 && own + line.words[word].offset + line.words[word].size > limit);
	return 0;
}

static int check_length(const struct refuse_input *in, struct diag *diag)
{
	_cleanup_free_ char *detected = NULL;
	_cleanup_diag_ struct diag ignored = {};
	const char *machine = in->running->machine;
	struct boot_words words;
	int r;

	/* a change that cannot be had says so itself */
	if (in->changes->want == BOOT_WANT_NOTHING ||
	    boot_words(in->boot, in->changes->want, &words, &ignored) < 0)
		return 0;
	if (!machine) {
		r = machine_detect(in->root, &detected);
		if (r < 0)
			return r;
		machine = detected;
	}
	for (size_t i = 0; i < in->state->entries.n; i++) {
		const struct boot_entry *e = &in->state->entries.items[i];
		size_t limit = machine_line_max(machine, e->kernel), size;
		bool counts;

		if (limit == 0)
			limit = 2047; /* what nearly every architecture has */
		if (!e->ours)
			continue;
		r = resulting_size(e, &words, limit, &size, &counts);
		if (r == -ENOMEM)
			return r;
		if (r < 0 || size <= limit || !counts)
			continue; /* the edit says what is wrong with a line */
		diag_error(
			diag,
			&(struct diag_where){ .path = e->source,
					      .line = e->line,
					      .hint = "take words out of the kernel command "
						      "line first" },
			"the command line of \"%s\" would have %zu bytes; its kernel cuts it "
			"at %zu",
			e->title, size, limit);
		return 0; /* one says it */
	}
	return 0;
}

/* Whether more than our own policy would change: the line that the kernel gets. */
static bool changes_boot(const struct refuse_input *in)
{
	for (size_t i = 0; i < in->changes->n; i++)
		if (!str_skip_prefix(in->changes->edits[i].path, "/etc/memcg-policy/"))
			return true;
	return false;
}

/* Files of a loader that did not start this system. */
static int check_loader(const struct refuse_input *in, struct diag *diag)
{
	if (in->started && in->started->doubt && changes_boot(in))
		diag_error(diag, &(struct diag_where){ .hint = STARTED_HINT }, "%s",
			   in->started->doubt);
	return 0;
}

static int check_tpm(const struct refuse_input *in, struct diag *diag)
{
	return changes_boot(in) ? refuse_tpm(in, diag) : 0;
}

/* --- off, while limits are relied upon --- */

/* The first places, each with its path: of container ids and units the reader wants names. */
static int list_limits(const struct need *need, char **ret)
{
	_cleanup_strbuf_ struct strbuf text = {};
	size_t n = 0;

	for (size_t i = 0; i < need->n_evidence && n < MIN(need->n_limits, MAX_LISTED); i++) {
		const struct need_evidence *e = &need->evidence[i];

		strbuf_addf(&text, "%s%s", n++ > 0 ? "; " : "", e->text);
		if (need->n_limits > 1)
			strbuf_addf(&text, " (%s)", e->path);
	}
	if (need->n_limits > n)
		strbuf_addf(&text, "; and %zu more", need->n_limits - n);
	return strbuf_take(&text, ret, NULL);
}

/* Limits that are stored or in force: each consumer once, with the first places. */
static int check_limits(const struct refuse_input *in, struct diag *diag)
{
	if (in->changes->want != BOOT_WANT_OFF)
		return 0;
	for (size_t i = 0; in->needs && i < in->needs->n; i++) {
		const struct need *need = &in->needs->items[i];
		const struct need_evidence *first = need->evidence;
		_cleanup_free_ char *places = NULL;
		struct diag_where where = {
			.hint = "memcg-policy needs lists them; --force switches memcg off all "
				"the same",
		};

		if (need->limits_unknown && need->n_limits == 0)
			diag_error(diag, &where,
				   "%s: whether memory limits are stored or in force cannot be "
				   "told (see the warnings). %s",
				   need->title, need->effect);
		if (need->in_use != NEED_YES || need->n_limits == 0)
			continue;
		if (list_limits(need, &places) < 0)
			return -ENOMEM;
		if (need->n_evidence > 0) {
			where.path = first->path;
			where.line = first->line;
		}
		diag_error(diag, &where, "%s: %zu memory limit%s would no longer hold: %s. %s",
			   need->title, need->n_limits, need->n_limits == 1 ? "" : "s", places,
			   need->effect);
	}
	return 0;
}

/* raspberrypi/linux 2829, 2908, 2941: 4.14 to 4.19 leak memory with memcg switched off. */
static bool leaks_when_off(const char *release)
{
	unsigned major, minor;

	if (!release || sscanf(release, "%u.%u.", &major, &minor) != 2)
		return false;
	return major == 4 && minor >= 14 && minor <= 19 &&
	       (strstr(release, "-v7") || strstr(release, "-v8") || strstr(release, "-rpi") ||
		strstr(release, "-raspi") || release[strlen(release) - 1] == '+');
}

static int check_leak(const struct refuse_input *in, struct diag *diag)
{
	const struct kernels *kernels = in->boot->kernels;

	if (in->changes->want != BOOT_WANT_OFF)
		return 0;
	for (size_t i = 0; kernels && i < kernels->n; i++)
		if (leaks_when_off(kernels->items[i].release)) {
			diag_error(diag,
				   &(struct diag_where){ .hint = "update the kernel first" },
				   "Raspberry Pi kernels 4.14 to 4.19 leak memory with memcg "
				   "switched off, and this root has %s",
				   kernels->items[i].release);
			return 0;
		}
	return 0;
}

int refuse_check(const struct refuse_input *in, bool force, struct diag *diag)
{
	static int (*const checks[])(const struct refuse_input *in, struct diag *diag) = {
		check_container, check_persistent, check_loader, check_length,
		check_leak,	 check_limits,	   check_tpm,
	};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(checks); i++)
		r = checks[i](in, diag);
	if (r < 0)
		return r;
	if (!force)
		return diag_count(diag, DIAG_ERROR) > 0 ? -EPERM : 0;
	for (size_t i = 0; i < diag->n; i++)
		if (diag->messages[i].level == DIAG_ERROR)
			diag->messages[i].level = DIAG_WARNING;
	return 0;
}
