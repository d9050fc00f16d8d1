/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mounts.h"

#include "base/root.h"
#include "base/str.h"

void mounts_done(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->n; i++) {
		struct mount *m = &mounts->items[i];

		free(m->target);
		free(m->type);
		free(m->root);
		free(m->source);
		free(m->options);
	}
	free(mounts->items);
	*mounts = (struct mounts){};
}

bool mount_has_option(const struct mount *mount, const char *option)
{
	size_t n = strlen(option);

	for (const char *p = mount->options; p && *p;) {
		size_t size = strcspn(p, ",");

		if (size >= n && memcmp(p, option, n) == 0 && (size == n || p[n] == '='))
			return true;
		p += size + (p[size] == ',');
	}
	return false;
}

#if HAVE_LIBMOUNT
#include "base/dlopen.h"

#include <libmount.h>

#define SYMBOLS(_)                \
	_(mnt_new_table)          \
	_(mnt_unref_table)        \
	_(mnt_table_parse_stream) \
	_(mnt_new_iter)           \
	_(mnt_free_iter)          \
	_(mnt_table_next_fs)      \
	_(mnt_fs_get_target)      \
	_(mnt_fs_get_fstype)      \
	_(mnt_fs_get_root)        \
	_(mnt_fs_get_source)      \
	_(mnt_fs_get_options)     \
	_(mnt_fs_get_devno)
DLOPEN_LIBRARY(libmount, "suggested", "libmount.so.1", "mount", "what is mounted where",
	       SYMBOLS);

static int copy(const char *s, char **ret)
{
	*ret = s ? strdup(s) : NULL;
	return s && !*ret ? -ENOMEM : 0;
}

static int add_mount(const struct libmount *lib, struct libmnt_fs *fs, struct mounts *mounts)
{
	struct mount *m;

	if (!lib->mnt_fs_get_target(fs) || !lib->mnt_fs_get_fstype(fs))
		return 0;
	if (!GROW(mounts->items, mounts->n, mounts->alloc))
		return -ENOMEM;
	m = &mounts->items[mounts->n++];
	*m = (struct mount){ .devno = lib->mnt_fs_get_devno(fs) };
	if (copy(lib->mnt_fs_get_target(fs), &m->target) < 0 ||
	    copy(lib->mnt_fs_get_fstype(fs), &m->type) < 0 ||
	    copy(lib->mnt_fs_get_root(fs), &m->root) < 0 ||
	    copy(lib->mnt_fs_get_source(fs), &m->source) < 0 ||
	    copy(lib->mnt_fs_get_options(fs), &m->options) < 0)
		return -ENOMEM;
	return 0;
}

static int parse(const struct libmount *lib, char *text, size_t size, const char *path,
		 struct mounts *mounts)
{
	FILE *f = fmemopen(text, size, "re");
	struct libmnt_table *table = lib->mnt_new_table();
	struct libmnt_iter *iter = lib->mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	int r = -ENOMEM;

	if (f && table && iter) {
		r = lib->mnt_table_parse_stream(table, f, path);
		r = r == 0 ? 0 : -EBADMSG;
	}
	while (r >= 0 && lib->mnt_table_next_fs(table, iter, &fs) == 0)
		r = add_mount(lib, fs, mounts);
	lib->mnt_free_iter(iter);
	lib->mnt_unref_table(table);
	if (f)
		(void)fclose(f); /* memory */
	return r;
}

int mounts_load(const struct root *root, struct mounts *ret)
{
	_cleanup_mounts_ struct mounts mounts = { .path = "/proc/self/mountinfo" };
	_cleanup_free_ char *text = NULL;
	struct libmount lib;
	size_t size;
	int r;

	r = root_read(root, mounts.path, ROOT_MAX_PROC, &text, &size);
	if (r == -ENOENT && root_mode(root) == ROOT_SNAPSHOT) {
		mounts.path = "/proc/mounts";
		r = root_read(root, mounts.path, ROOT_MAX_PROC, &text, &size);
	}
	if (r < 0)
		return r;
	r = libmount_open(&lib);
	if (r >= 0 && size > 0)
		r = parse(&lib, text, size, mounts.path, &mounts);
	if (r < 0)
		return r;
	*ret = mounts;
	mounts = (struct mounts){};
	return 0;
}

#else

int mounts_load(const struct root *root _unused_, struct mounts *ret _unused_)
{
	return root_mode(root) == ROOT_OFFLINE ? -ENOENT : -EOPNOTSUPP;
}

#endif
