/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/atomic.h"

#include "base/durable.h"
#include "base/str.h"
#include "base/temporary.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

enum { OVERWRITE_MAX = 4096 };

/* Where a path really leads: its directory, open, and the name in it. */
struct place {
	int dir;
	char *path; /* resolved, inside the root */
	const char *name;
};

static void place_done(struct place *place)
{
	closep(&place->dir);
	free(place->path);
}

static int find_place(const struct root *root, const char *path, struct place *ret)
{
	_cleanup_(place_done) struct place place = { .dir = -EBADF };
	_cleanup_free_ char *parent = NULL;
	char *slash;
	int r;

	r = root_resolve(root, path, &place.path);
	if (r < 0)
		return r;
	slash = strrchr(place.path, '/');
	place.name = slash + 1;
	if (*place.name == '\0')
		return -EISDIR;
	parent = slash == place.path ? strdup("/")
				     : str_dup_n(place.path, (size_t)(slash - place.path));
	if (!parent)
		return -ENOMEM;
	r = root_open_dir(root, parent, &place.dir);
	if (r < 0)
		return r;
	*ret = place;
	place = (struct place){ .dir = -EBADF };
	return 0;
}

/* What is there now. *ret_fd is the open file, or -EBADF when there is none. */
static int read_place(const struct root *root, const struct place *place, size_t max,
		      struct content *ret, int *ret_fd)
{
	_cleanup_fd_ int fd = -EBADF;
	struct content content = {};
	int r;

	r = root_open_file_at(root, place->dir, "", place->name, &fd, NULL);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r >= 0) {
		r = root_read_fd(fd, max, &content.data, &content.size);
		if (r < 0)
			return r;
	}
	*ret = content;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* 0 when the place holds expected, 1 when it holds wanted already, or -ESTALE. */
static int compare_place(const struct root *root, const struct place *place,
			 const struct content *expected, const struct content *wanted,
			 int *ret_fd)
{
	_cleanup_content_ struct content now = {};
	_cleanup_fd_ int fd = -EBADF;
	/* one byte more than both is enough to know that it is neither */
	int r = read_place(root, place, MAX(expected->size, wanted->size) + 1, &now, &fd);

	if (r == -EFBIG)
		return -ESTALE;
	if (r < 0)
		return r;
	if (content_equal(&now, wanted))
		return 1;
	if (!content_equal(&now, expected))
		return -ESTALE;
	if (ret_fd)
		*ret_fd = TAKE_FD(fd);
	return 0;
}

/* A replacement on its way. */
struct staged {
	struct place place;
	int old_fd; /* open until the end: see stage() */
	struct temporary file;
	/* FAT has no journal: the old bytes stay beside the file, under a name people find */
	struct temporary copy;
	enum durable_level level;
	bool done; /* it holds the wanted bytes already */
};

struct batch {
	struct staged *items;
	size_t n;
	size_t at; /* which one is worked on, for the error */
};

static void batch_done(struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		struct staged *s = &batch->items[i];

		temporary_done(s->place.dir, &s->file);
		temporary_done(s->place.dir, &s->copy);
		closep(&s->old_fd);
		place_done(&s->place);
	}
	free(batch->items);
}

static int stage(const struct root *root, const struct atomic_change *change, struct staged *s)
{
	bool fat;
	int r = find_place(root, change->path, &s->place);

	if (r < 0)
		return r;
	/*
	 * The old file stays open until its directory is on the disk: else it could be emptied
	 * there before its name goes.
	 */
	r = compare_place(root, &s->place, change->expected, change->wanted, &s->old_fd);
	s->done = r > 0;
	if (r != 0)
		return r;
	fat = durable_is_fat(s->place.dir);
	s->level = change->flags & ATOMIC_BOOT ? DURABLE_BOOT
		   : fat		       ? DURABLE_FILE_SYSTEM
					       : DURABLE_DIRECTORY;
	r = temporary_write(s->place.dir, change->wanted, s->old_fd, change->mode, &s->file);
	if (r >= 0 && fat && change->expected->data)
		r = temporary_write(s->place.dir, change->expected, -EBADF, 0755, &s->copy);
	return r;
}

/* Each directory once; those of one batch are mostly one. */
static int sync_places(const struct root *root, const struct batch *batch,
		       enum durable_level least)
{
	struct stat last = {}, st;

	for (size_t i = 0; i < batch->n; i++) {
		const struct staged *s = &batch->items[i];
		int r;

		if (s->done || s->level < least)
			continue;
		if (fstat(s->place.dir, &st) < 0)
			return -errno;
		if (st.st_ino == last.st_ino && st.st_dev == last.st_dev)
			continue;
		r = durable_sync(s->place.dir, root_fd(root), s->level);
		if (r < 0)
			return r;
		last = st;
	}
	return 0;
}

/*
 * The new files must be whole on the disk itself before a name leads to them: a journal's
 * blocks reach their places in any order, and who does not replay it finds the name in its
 * place and the file not yet. Measured on ext4: GRUB read an empty menu.
 */
static int settle(const struct root *root, const struct atomic_change *changes,
		  struct batch *batch)
{
	int r = 0;

	/* only makes the fsync(2) of each cheap; what it does not tell they do */
	if (batch->n > 1)
		IGNORE(syncfs(batch->items[0].place.dir));
	for (size_t i = 0; r >= 0 && i < batch->n; i++) {
		batch->at = i;
		r = temporary_settle(&batch->items[i].file, changes[i].wanted);
		if (r >= 0)
			r = temporary_settle(&batch->items[i].copy, changes[i].expected);
	}
	return r < 0 ? r : sync_places(root, batch, DURABLE_FILE_SYSTEM);
}

/* What the copy of a file is called; of a name that is too long to go on, its beginning. */
static int fat_copy_name(const char *name, char **ret)
{
	size_t most = NAME_MAX - strlen(ATOMIC_FAT_COPY_SUFFIX), n = strlen(name);

	/* not inside a character */
	if (n > most)
		for (n = most; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80;)
			n--;
	return str_printf(ret, "%.*s" ATOMIC_FAT_COPY_SUFFIX, (int)n, name);
}

static int keep_fat_copies(const struct root *root, struct batch *batch)
{
	bool any = false;

	for (size_t i = 0; i < batch->n; i++) {
		struct staged *s = &batch->items[i];
		_cleanup_free_ char *name = NULL;
		int r;

		batch->at = i;
		if (!*s->copy.name)
			continue;
		r = fat_copy_name(s->place.name, &name);
		if (r < 0)
			return r;
		r = temporary_move(s->place.dir, &s->copy, name, false);
		if (r < 0)
			return r;
		any = true;
	}
	return any ? sync_places(root, batch, DURABLE_FILE_SYSTEM) : 0;
}

/* Compare and swap: whoever wrote meanwhile is not overwritten. */
static int swap(const struct root *root, const struct atomic_change *change, struct staged *s)
{
	int r = compare_place(root, &s->place, change->expected, change->wanted, NULL);

	if (r == 0)
		return temporary_move(s->place.dir, &s->file, s->place.name,
				      !change->expected->data);
	return r > 0 ? -ESTALE : r;
}

static int put_all(const struct root *root, const struct atomic_change *changes, size_t n,
		   struct batch *batch)
{
	bool any = false;
	int r = 0;

	for (; r >= 0 && batch->n < n; batch->n++) {
		batch->at = batch->n;
		batch->items[batch->n] = (struct staged){
			.place = { .dir = -EBADF },
			.old_fd = -EBADF,
			.file = { .fd = -EBADF },
			.copy = { .fd = -EBADF },
		};
		r = stage(root, &changes[batch->n], &batch->items[batch->n]);
		any |= r == 0;
	}
	if (r < 0 || !any)
		return MIN(r, 0);
	r = settle(root, changes, batch);
	if (r >= 0)
		r = keep_fat_copies(root, batch);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		batch->at = i;
		if (!batch->items[i].done)
			r = swap(root, &changes[i], &batch->items[i]);
	}
	if (r >= 0)
		r = sync_places(root, batch, DURABLE_DIRECTORY);
	return r < 0 ? r : 1;
}

int atomic_put_all(const struct root *root, const struct atomic_change *changes, size_t n,
		   size_t *ret_at)
{
	_cleanup_(batch_done) struct batch batch = {};
	int r;

	batch.items = calloc(n + 1, sizeof(*batch.items));
	if (!batch.items)
		return -ENOMEM;
	r = put_all(root, changes, n, &batch);
	*ret_at = batch.at;
	return r;
}

static int touch(const struct root *root, const char *path)
{
	_cleanup_(place_done) struct place place = { .dir = -EBADF };
	int r = find_place(root, path, &place);

	if (r < 0)
		return r;
	return utimensat(place.dir, place.name, NULL, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 1;
}

static int remove_file(const struct root *root, const char *path,
		       const struct content *expected, unsigned flags)
{
	_cleanup_(place_done) struct place place = { .dir = -EBADF };
	_cleanup_fd_ int fd = -EBADF; /* open until its name is gone on the disk: see stage() */
	int r = find_place(root, path, &place);

	if (r >= 0)
		r = compare_place(root, &place, expected, &(struct content){}, &fd);
	if (r == -ENOENT || r > 0)
		return 0;
	if (r < 0)
		return r;
	if (unlinkat(place.dir, place.name, 0) < 0)
		return -errno;
	r = durable_sync(place.dir, root_fd(root),
			 flags & ATOMIC_BOOT ? DURABLE_BOOT : DURABLE_DIRECTORY);
	return r < 0 ? r : 1;
}

int atomic_put(const struct root *root, const char *path, const struct content *expected,
	       const struct content *wanted, mode_t mode, unsigned flags)
{
	const struct atomic_change change = { path, expected, wanted, mode, flags };
	size_t at;
	int r;

	if (!wanted->data)
		return remove_file(root, path, expected, flags);
	if (flags & ATOMIC_IN_PLACE && expected->data)
		return atomic_overwrite(root, path, expected, wanted);
	r = atomic_put_all(root, &change, 1, &at);
	return r == 0 && flags & ATOMIC_TOUCH ? touch(root, path) : r;
}

int atomic_overwrite(const struct root *root, const char *path, const struct content *expected,
		     const struct content *wanted)
{
	_cleanup_(place_done) struct place place = { .dir = -EBADF };
	_cleanup_fd_ int old_fd = -EBADF, fd = -EBADF;
	ssize_t n;
	int r;

	if (!expected->data || !wanted->data || expected->size != wanted->size ||
	    wanted->size > OVERWRITE_MAX)
		return -EINVAL;
	r = find_place(root, path, &place);
	if (r < 0)
		return r;
	r = compare_place(root, &place, expected, wanted, &old_fd);
	if (r != 0)
		return r < 0 ? r : 0;
	fd = openat(place.dir, place.name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = pwrite(fd, wanted->data, wanted->size, 0);
	if (n != (ssize_t)wanted->size)
		return n < 0 ? -errno : -EIO;
	if (fsync(fd) < 0)
		return -errno;
	r = durable_sync(place.dir, root_fd(root), DURABLE_BOOT);
	return r < 0 ? r : 1;
}

int atomic_take(const struct root *root, const char *path, const char *name)
{
	_cleanup_(place_done) struct place place = { .dir = -EBADF };
	_cleanup_fd_ int old = -EBADF, new = -EBADF;
	int r = find_place(root, path, &place);

	if (r >= 0)
		r = root_open_file_at(root, place.dir, "", name, &new, NULL);
	if (r < 0)
		return r;
	/* open until the end: see stage() */
	r = root_open_file_at(root, place.dir, "", place.name, &old, NULL);
	if (r >= 0)
		r = temporary_copy_metadata(old, new);
	if (r < 0 && r != -ENOENT)
		return r;
	if (fsync(new) < 0)
		return -errno;
	r = durable_sync(place.dir, root_fd(root), DURABLE_FILE_SYSTEM);
	if (r >= 0 && renameat(place.dir, name, place.dir, place.name) < 0)
		r = -errno;
	return r < 0 ? r : durable_sync(place.dir, root_fd(root), DURABLE_BOOT);
}

int atomic_mkdir(const struct root *root, const char *path, mode_t mode, struct strv *made)
{
	_cleanup_free_ char *prefix = strdup(path);
	int r, any = 0;

	if (!prefix)
		return -ENOMEM;
	for (char *p = prefix + 1;; p++) {
		char end = *p;
		_cleanup_(place_done) struct place place = { .dir = -EBADF };

		if (end != '/' && end != '\0')
			continue;
		*p = '\0';
		if (!root_exists(root, prefix)) {
			r = find_place(root, prefix, &place);
			if (r < 0)
				return r;
			if (mkdirat(place.dir, place.name, mode) == 0) {
				any = 1;
				if (made)
					strv_add(made, place.path);
				r = durable_sync(place.dir, root_fd(root), DURABLE_DIRECTORY);
				if (r < 0)
					return r;
			} else if (errno != EEXIST)
				return -errno;
		}
		if (end == '\0')
			break;
		*p = end;
	}
	if (made && strv_error(made) < 0)
		return -ENOMEM;
	return any;
}

int atomic_rmdir(const struct root *root, const char *path)
{
	_cleanup_(place_done) struct place place = { .dir = -EBADF };
	int r = find_place(root, path, &place);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (unlinkat(place.dir, place.name, AT_REMOVEDIR) < 0) {
		if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST ||
		    errno == ENOTDIR)
			return 0;
		return -errno;
	}
	r = durable_sync(place.dir, root_fd(root), DURABLE_DIRECTORY);
	return r < 0 ? r : 1;
}

int atomic_clean(const struct root *root, const char *path)
{
	_cleanup_(place_done) struct place place = { .dir = -EBADF };
	_cleanup_free_ char *dir = NULL;
	_cleanup_strv_ struct strv names = {};
	bool any = false;
	int r = find_place(root, path, &place);

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0)
		return r;
	dir = place.name - 1 == place.path
		      ? strdup("/")
		      : str_dup_n(place.path, (size_t)(place.name - 1 - place.path));
	if (!dir)
		return -ENOMEM;
	r = root_list(root, dir, &names);
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		if (!str_skip_prefix(names.items[i], TEMPORARY_PREFIX))
			continue;
		if (unlinkat(place.dir, names.items[i], 0) == 0)
			any = true;
		else if (errno != ENOENT)
			r = -errno;
	}
	/* gone for good before the record says that the change is complete */
	if (r >= 0 && any)
		r = durable_sync(place.dir, root_fd(root),
				 durable_is_fat(place.dir) ? DURABLE_FILE_SYSTEM
							   : DURABLE_DIRECTORY);
	return r;
}

int atomic_forget_copy(const struct root *root, const char *path)
{
	_cleanup_(place_done) struct place place = { .dir = -EBADF };
	_cleanup_free_ char *name = NULL;
	int r = find_place(root, path, &place);

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	if (!durable_is_fat(place.dir))
		return 0;
	if (fat_copy_name(place.name, &name) < 0)
		return -ENOMEM;
	if (unlinkat(place.dir, name, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	return durable_sync(place.dir, root_fd(root), DURABLE_FILE_SYSTEM);
}
