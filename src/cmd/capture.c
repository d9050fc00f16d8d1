/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/capture.h"

#include "base/root.h"

#include <string.h>

enum {
	MAX_ITEMS = 200000,
	MAX_LINKS = 40,
	MAX_FILE = 64 * 1024 * 1024, /* kernel images */
};

void capture_done(struct capture *capture)
{
	for (size_t i = 0; i < capture->n; i++) {
		free(capture->items[i].path);
		free(capture->items[i].target);
	}
	free(capture->items);
	strv_done(&capture->paths);
	strv_done(&capture->files);
	strv_done(&capture->dirs);
	strv_done(&capture->unreadable);
	*capture = (struct capture){};
}

void capture_note(void *userdata, enum root_access access, const char *path)
{
	struct capture *capture = userdata;

	strv_add(access == ROOT_ACCESS_FILE  ? &capture->files
		 : access == ROOT_ACCESS_DIR ? &capture->dirs
					     : &capture->paths,
		 path);
}

static int add(struct capture *capture, const char *path, enum tar_type type, bool read,
	       char *target)
{
	struct capture_item *item;

	if (capture->n >= MAX_ITEMS) {
		free(target);
		return -EFBIG;
	}
	if (!GROW(capture->items, capture->n, capture->alloc)) {
		free(target);
		return -ENOMEM;
	}
	item = &capture->items[capture->n++];
	*item = (struct capture_item){ strdup(path), type, read, target };
	return item->path ? 0 : -ENOMEM;
}

/* Adds what is at path, a link as a link: 1 and its target, a directory (0), or -ENOENT when
 * the way ends here. */
static int add_here(struct capture *capture, const struct root *root, const char *path,
		    bool read, char **ret_target)
{
	_cleanup_free_ char *target = NULL;
	struct stat st;
	int r;

	if (root_lstat(root, path, &st) < 0)
		return -ENOENT;
	if (S_ISLNK(st.st_mode)) {
		r = root_readlink(root, path, &target);
		if (r < 0)
			return r == -ENOMEM ? r : -ENOENT;
		*ret_target = strdup(target);
		if (!*ret_target)
			return -ENOMEM;
		r = add(capture, path, TAR_LINK, false, TAKE_PTR(target));
		return r < 0 ? r : 1;
	}
	if (S_ISDIR(st.st_mode))
		return add(capture, path, TAR_DIR, false, NULL);
	r = 0;
	if (S_ISREG(st.st_mode))
		r = add(capture, path, TAR_FILE, read || st.st_size == 0, NULL);
	else if (S_ISFIFO(st.st_mode))
		r = add(capture, path, TAR_FIFO, false, NULL);
	return r < 0 ? r : -ENOENT; /* sockets and devices stay out */
}

/* Takes the last component off. */
static void go_up(struct strbuf *at)
{
	while (at->len > 0 && at->data[at->len - 1] != '/')
		at->len--;
	strbuf_truncate(at, at->len > 0 ? at->len - 1 : 0);
}

/* Everything on the way along path, and what is at its end; *ret_end is its path without links
 * where that is a directory. */
static int add_way(struct capture *capture, const struct root *root, const char *path,
		   bool read, char **ret_end)
{
	_cleanup_strbuf_ struct strbuf at = {};
	_cleanup_free_ char *rest = strdup(path);
	unsigned links = 0;

	strbuf_adds(&at, "");
	while (rest) {
		_cleanup_free_ char *target = NULL;
		char *p = rest + strspn(rest, "/");
		size_t n = strcspn(p, "/");
		char *next;
		int r = 0;

		if (n == 0)
			break;
		next = p + n;
		if (n == 2 && memcmp(p, "..", 2) == 0)
			go_up(&at);
		else if (n != 1 || *p != '.') {
			strbuf_addc(&at, '/');
			strbuf_add(&at, p, n);
			if (at.failed)
				return -ENOMEM;
			r = add_here(capture, root, at.data, read, &target);
			if (r < 0)
				return r == -ENOENT ? 0 : r;
		}
		if (r == 1) {
			char *joined;

			if (++links > MAX_LINKS)
				return 0;
			if (*target == '/')
				strbuf_truncate(&at, 0);
			else
				go_up(&at);
			if (str_printf(&joined, "%s/%s", target, next) < 0)
				return -ENOMEM;
			free(rest);
			rest = joined;
			continue;
		}
		memmove(rest, next, strlen(next) + 1);
	}
	return !rest ? -ENOMEM : ret_end ? strbuf_take(&at, ret_end, NULL) : 0;
}

/* The kernel's own directories hold much that nobody asks for; of those what is a directory or
 * a link is enough to be found again. */
static bool is_kernel(const char *path)
{
	return str_skip_prefix(path, "/proc") || str_skip_prefix(path, "/sys");
}

static int add_names(struct capture *capture, const struct root *root, const char *path)
{
	_cleanup_free_ char *end = NULL;
	_cleanup_strv_ struct strv names = {};
	int r = add_way(capture, root, path, false, &end);

	if (r < 0 || !end)
		return r;
	if (root_list(root, *end ? end : "/", &names) == -ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < names.n && r >= 0; i++) {
		_cleanup_free_ char *child = NULL, *target = NULL;
		struct stat st;

		r = str_printf(&child, "%s/%s", end, names.items[i]);
		if (r >= 0 && is_kernel(end) &&
		    (root_lstat(root, child, &st) < 0 || S_ISREG(st.st_mode)))
			continue;
		if (r >= 0)
			r = add_here(capture, root, child, false, &target);
		if (r == -ENOENT)
			r = 0;
	}
	return r < 0 ? r : 0;
}

/* By path; of the same path the one whose bytes count comes first. */
static int compare(const void *a, const void *b)
{
	const struct capture_item *x = a, *y = b;
	int r = strcmp(x->path, y->path);

	return r != 0 ? r : (int)y->read - (int)x->read;
}

static void drop_repetitions(struct capture *capture)
{
	size_t n = 0;

	qsort(capture->items, capture->n, sizeof(*capture->items), compare);
	for (size_t i = 0; i < capture->n; i++) {
		struct capture_item *item = &capture->items[i];

		if (n > 0 && streq(capture->items[n - 1].path, item->path)) {
			free(item->path);
			free(item->target);
		} else
			capture->items[n++] = *item;
	}
	capture->n = n;
}

/* Calls fn for each once. */
static int each(struct capture *capture, const struct root *root, struct strv *paths, bool dirs,
		bool read)
{
	int r = strv_error(paths);

	strv_sort(paths);
	for (size_t i = 0; i < paths->n && r >= 0; i++) {
		if (i > 0 && streq(paths->items[i], paths->items[i - 1]))
			continue;
		r = dirs ? add_names(capture, root, paths->items[i])
			 : add_way(capture, root, paths->items[i], read, NULL);
		/* the ways share their beginnings */
		if (r >= 0 && i % 256 == 0)
			drop_repetitions(capture);
	}
	return r;
}

int capture_collect(struct capture *capture, const struct root *root)
{
	int r = each(capture, root, &capture->files, false, true);

	if (r >= 0)
		r = each(capture, root, &capture->paths, false, false);
	if (r >= 0)
		r = each(capture, root, &capture->dirs, true, false);
	drop_repetitions(capture);
	return r;
}

/* --- bytes --- */

/* Names and numbers of users; what else /etc/passwd holds is nobody's business. */
static void blank_passwd(char *text)
{
	unsigned field = 0;

	for (; *text; text++) {
		if (*text == '\n')
			field = 0;
		else if (*text == ':')
			field++;
		else if (field == 1 || field == 4)
			*text = 'x';
	}
}

/* Of an environment only what names a container manager is read. */
static void blank_environ(char *text, size_t size)
{
	for (size_t i = 0; i < size; i += strlen(text + i) + 1) {
		char *value = strchr(text + i, '=');

		if (value && !str_skip_prefix(text + i, "container="))
			memset(value + 1, 'x', strlen(value + 1));
	}
}

/* An EFI variable is UTF-16 behind four bytes: looked at as the plain text it mostly is. */
static int scrub_efi(struct scrub *scrub, char *data, size_t size)
{
	size_t n = size > 4 ? (size - 4) / 2 : 0;
	_cleanup_free_ char *plain = calloc(1, n + 1);
	int r;

	if (!plain)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		plain[i] = data[4 + 2 * i + 1] == '\0' ? data[4 + 2 * i] : '\1';
	r = scrub_text(scrub, plain, n, false);
	for (size_t i = 0; i < n; i++)
		if (plain[i] != '\1')
			data[4 + 2 * i] = plain[i];
	return r;
}

int capture_read(const struct root *root, struct scrub *scrub, const struct capture_item *item,
		 char **ret, size_t *ret_size)
{
	_cleanup_free_ char *data = NULL;
	size_t size = 0;
	int r;

	if (!item->read) {
		*ret_size = 1;
		*ret = strdup("\n");
		return *ret ? 0 : -ENOMEM;
	}
	r = root_read(root, item->path, MAX_FILE, &data, &size);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return -ENODATA;
	if (streq(item->path, "/etc/passwd"))
		blank_passwd(data);
	if (str_has_suffix(item->path, "/environ"))
		blank_environ(data, size);
	/* ours and the package's own texts are no secrets, and are matched by word */
	if (str_skip_prefix(item->path, "/usr/lib/memcg-policy/"))
		r = 0;
	else if (str_skip_prefix(item->path, "/sys/firmware/efi/efivars/"))
		r = scrub_efi(scrub, data, size);
	else
		r = scrub_text(scrub, data, size, false);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(data);
	*ret_size = size;
	return 0;
}
