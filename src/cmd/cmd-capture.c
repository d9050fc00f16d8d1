/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/diag.h"
#include "base/json.h"
#include "base/root.h"
#include "cmd/capture.h"
#include "cmd/cmd.h"
#include "cmd/host.h"
#include "cmd/unit-views.h"
#include "ui/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Everything that the reading verbs ask; their answers are not wanted. */
static int ask_everything(const struct cmd *cmd, struct diag *diag)
{
	_cleanup_diag_ struct diag ignored = {};
	_cleanup_host_ struct host host = {};
	_cleanup_unit_views_ struct unit_views views = {};
	int r = host_load(cmd->root,
			  HOST_NEEDS | HOST_LIVE | HOST_BOOT | HOST_VERDICT | HOST_UNITS, &host,
			  &ignored);

	/* what stops status is for whoever gets the archive to see as well */
	if (r == -EINVAL)
		r = 0;
	else if (r >= 0)
		r = unit_views_load(cmd, &host, &views, &ignored);
	/* what only a captured machine is asked: its architecture, by a program's header, and
	 * its mounts, where the kernel itself told */
	root_note(cmd->root, ROOT_ACCESS_FILE, "/bin/sh", NULL);
	root_note(cmd->root, ROOT_ACCESS_FILE, "/proc/self/mountinfo", NULL);
	if (r < 0)
		diag_error(diag, NULL, "cannot read this system: %s", strerror(-r));
	return r;
}

/* --- whose machine it is --- */

static int add_host_name(const struct root *root, const char *path, struct scrub *scrub)
{
	_cleanup_free_ char *name = NULL;
	char *dot;
	int r = root_read(root, path, 4096, &name, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	name[strcspn(name, " \t\n#")] = '\0';
	dot = strchr(name, '.');
	/* the domain, then the host: the longer is tried first */
	if (dot && strchr(dot + 1, '.'))
		scrub_add_name(scrub, SCRUB_HOST, dot + 1);
	if (dot)
		*dot = '\0';
	scrub_add_name(scrub, SCRUB_HOST, name);
	return strv_error(&scrub->names[SCRUB_HOST]);
}

static int add_users(const struct root *root, struct scrub *scrub)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_strv_ struct strv lines = {}, homes = {};
	int r = root_read(root, "/etc/passwd", ROOT_MAX_UNIT, &text, NULL);

	if (r == -ENOMEM || root_list(root, "/home", &homes) == -ENOMEM)
		return -ENOMEM;
	if (r >= 0)
		strv_split(&lines, text, "\n");
	for (size_t i = 0; i < lines.n; i++) {
		char *line = lines.items[i], *colon = strchr(line, ':');
		char *number = colon ? strchr(colon + 1, ':') : NULL;
		unsigned long uid = number ? strtoul(number + 1, NULL, 10) : 0;

		if (uid < 1000 || uid == 65534)
			continue;
		*colon = '\0';
		scrub_add_name(scrub, SCRUB_USER, line);
	}
	for (size_t i = 0; i < homes.n; i++)
		scrub_add_name(scrub, SCRUB_USER, homes.items[i]);
	return lines.failed ? -ENOMEM : strv_error(&scrub->names[SCRUB_USER]);
}

static int find_names(const struct root *root, struct scrub *scrub)
{
	int r = add_host_name(root, "/etc/hostname", scrub);

	if (r >= 0)
		r = add_host_name(root, "/proc/sys/kernel/hostname", scrub);
	return r < 0 ? r : add_users(root, scrub);
}

/* --- the archive --- */

struct output {
	struct tar *tar;
	struct scrub scrub;
	struct json *entries; /* or NULL: printed as they go */
};

static void tell(struct output *out, const struct capture_item *item, const char *path,
		 const char *target, size_t size)
{
	static const char *const kinds[] = {
		[TAR_FILE] = "file",
		[TAR_DIR] = "directory",
		[TAR_LINK] = "link",
		[TAR_FIFO] = "fifo",
	};
	const char *kind = item->type == TAR_FILE && !item->read ? "name" : kinds[item->type];
	struct json *entry;

	if (!out->entries) {
		_cleanup_free_ char *safe = str_escape(path, strlen(path)),
				    *to = target ? str_escape(target, strlen(target)) : NULL;

		if (item->type == TAR_FILE && item->read)
			printf("%-9s %s (%zu bytes)\n", kind, safe ? safe : "?", size);
		else
			printf("%-9s %s%s%s\n", kind, safe ? safe : "?", to ? " -> " : "",
			       to ? to : "");
		return;
	}
	entry = json_new_object();
	json_add_string(entry, "path", path);
	json_add_string(entry, "kind", kind);
	if (item->type == TAR_FILE && item->read)
		json_add_u64(entry, "size", size);
	else
		json_add_null(entry, "size");
	json_append(out->entries, entry);
}

static int write_item(struct output *out, struct capture *capture, const struct root *root,
		      const struct capture_item *item)
{
	_cleanup_free_ char *path = strdup(item->path), *data = NULL, *target = NULL;
	size_t size = 0;
	int r;

	if (!path)
		return -ENOMEM;
	/* the names of EFI variables end in ids that are the same everywhere */
	if (!str_skip_prefix(path, "/sys/firmware/efi/efivars/")) {
		r = scrub_text(&out->scrub, path, strlen(path), true);
		if (r < 0)
			return r;
	}
	if (item->type == TAR_LINK) {
		target = strdup(item->target);
		if (!target)
			return -ENOMEM;
		r = scrub_text(&out->scrub, target, strlen(target), true);
	} else
		r = item->type == TAR_FILE ? capture_read(root, &out->scrub, item, &data, &size)
					   : 0;
	if (r == -ENODATA) {
		strv_add(&capture->unreadable, path);
		return strv_error(&capture->unreadable);
	}
	if (r < 0)
		return r;
	r = tar_add(out->tar, path + 1, item->type, target ? target : data, size);
	if (r >= 0)
		tell(out, item, path, target, size);
	return r;
}

static int write_all(struct output *out, struct capture *capture, const struct root *root)
{
	int r = find_names(root, &out->scrub);

	for (size_t i = 0; i < capture->n && r >= 0; i++)
		r = write_item(out, capture, root, &capture->items[i]);
	return r < 0 ? r : tar_finish(out->tar);
}

/* --- what is said at the end --- */

static const char *const scrubbed_names[_SCRUB_KIND_MAX] = {
	[SCRUB_HOST] = "host_names",   [SCRUB_USER] = "user_names", [SCRUB_ID] = "ids",
	[SCRUB_ADDRESS] = "addresses", [SCRUB_SECRET] = "secrets",
};

static int print_json(const struct cmd *cmd, struct output *out, const struct capture *capture)
{
	_cleanup_json_ struct json *top = json_new_object();
	struct json *scrubbed = json_new_object(), *unreadable = json_new_array();

	json_add_int(top, "schema", 1);
	json_add_string(top, "file", cmd->args->words[0]);
	json_add(top, "entries", TAKE_PTR(out->entries));
	for (size_t i = 0; i < _SCRUB_KIND_MAX; i++)
		json_add_u64(scrubbed, scrubbed_names[i], out->scrub.n[i]);
	json_add(top, "scrubbed", scrubbed);
	for (size_t i = 0; i < capture->unreadable.n; i++)
		json_append_string(unreadable, capture->unreadable.items[i]);
	json_add(top, "unreadable", unreadable);
	return output_json(cmd->args, top);
}

static void print_summary(const struct cmd *cmd, const struct output *out,
			  const struct capture *capture)
{
	const size_t *n = out->scrub.n;

	for (size_t i = 0; i < capture->unreadable.n; i++)
		printf("left out  %s (cannot be read)\n", capture->unreadable.items[i]);
	if (cmd->args->quiet)
		return;
	printf("\n%s: %zu entries; replaced: %zu host names, %zu user names, %zu ids, %zu "
	       "addresses, %zu words that look like secrets\n"
	       "Look it through before you pass it on: no program knows every secret.\n"
	       "To read it: mkdir DIR && tar -xf %s -C DIR && memcg-policy --%s=DIR\n",
	       cmd->args->words[0], capture->n, n[SCRUB_HOST], n[SCRUB_USER], n[SCRUB_ID],
	       n[SCRUB_ADDRESS], n[SCRUB_SECRET], cmd->args->words[0],
	       root_mode(cmd->root) == ROOT_OFFLINE ? "root" : "snapshot");
}

static int capture_to(const struct cmd *cmd, int fd, struct capture *capture)
{
	struct output out = {};
	int r;

	if (cmd->args->json != JSON_OFF) {
		out.entries = json_new_array();
		if (!out.entries)
			return -ENOMEM;
	}
	r = tar_new(fd, &out.tar);
	if (r >= 0)
		r = write_all(&out, capture, cmd->root);
	if (r >= 0 && fsync(fd) < 0 && errno != EINVAL)
		r = -errno;
	if (r >= 0 && cmd->args->json != JSON_OFF)
		r = print_json(cmd, &out, capture);
	else if (r >= 0)
		print_summary(cmd, &out, capture);
	tar_free(out.tar);
	json_free(out.entries);
	scrub_done(&out.scrub);
	return r;
}

int cmd_capture(const struct cmd *cmd)
{
	const char *file = cmd->args->words[0];
	const struct diag_where where = { .path = file };
	_cleanup_capture_ struct capture capture = {};
	_cleanup_diag_ struct diag diag = {};
	_cleanup_fd_ int fd = -EBADF;
	_cleanup_root_ struct root *root = NULL; /* one of its own, which tells what is asked */
	int r;

	/* never over another file, never through a link, for nobody else's eyes */
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		r = -errno;
		diag_error(&diag,
			   &(struct diag_where){ .path = file,
						 .hint = r == -EEXIST ? "name another file"
								      : NULL },
			   "cannot be created: %s", strerror(-r));
	} else {
		r = root_open(root_path(cmd->root), root_mode(cmd->root), &root);
		if (r >= 0) {
			root_record(root, capture_note, &capture);
			r = ask_everything(&(struct cmd){ cmd->args, root, cmd->term }, &diag);
		}
		if (r >= 0)
			r = capture_collect(&capture, cmd->root);
		if (r >= 0)
			r = capture_to(cmd, fd, &capture);
		if (r < 0) {
			IGNORE(unlink(file)); /* half an archive; what failed is said */
			diag_error(&diag, &where, "not written: %s",
				   r == -EOPNOTSUPP ? "libarchive is not installed"
						    : strerror(-r));
		}
	}
	if (r < 0) {
		output_error(cmd->args, cmd->term, &diag, strerror(-r));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}
