/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/archive.h"

#include "base/gunzip.h"
#include "base/str.h"

struct magic {
	const char *bytes;
	size_t size;
};

enum filter {
	FILTER_GZIP,
	FILTER_XZ,
	FILTER_LZMA,
	FILTER_ZSTD,
	FILTER_LZ4,
	FILTER_LZ4_LEGACY, /* what the kernel's build makes */
	FILTER_BZIP2,
	FILTER_LZOP,
	_FILTER_MAX,
	_FILTER_INVALID = -EINVAL,
};

#define MAGIC(s)                 \
	{                        \
		s, sizeof(s) - 1 \
	}

static const struct magic magics[_FILTER_MAX] = {
	[FILTER_GZIP] = MAGIC("\x1f\x8b\x08"),
	[FILTER_XZ] = MAGIC("\xfd"
			    "7zXZ\0"),
	[FILTER_LZMA] = MAGIC("\x5d\0\0"),
	[FILTER_ZSTD] = MAGIC("\x28\xb5\x2f\xfd"),
	[FILTER_LZ4] = MAGIC("\x04\x22\x4d\x18"),
	[FILTER_LZ4_LEGACY] = MAGIC("\x02\x21\x4c\x18"),
	[FILTER_BZIP2] = MAGIC("BZh"),
	[FILTER_LZOP] = MAGIC("\x89LZO\0\r\n\x1a\n"),
};

static enum filter find_filter(const void *data, size_t size)
{
	for (int i = 0; i < _FILTER_MAX; i++)
		if (size >= magics[i].size &&
		    memcmp(data, magics[i].bytes, magics[i].size) == 0)
			return (enum filter)i;
	return _FILTER_INVALID;
}

bool archive_is_compressed(const void *data, size_t size)
{
	return find_filter(data, size) >= 0;
}

#if HAVE_LIBARCHIVE
#include "base/dlopen.h"

#include <archive.h>
#include <archive_entry.h>

#define SYMBOLS(_)                                 \
	_(archive_read_new)                        \
	_(archive_read_free)                       \
	_(archive_read_support_filter_gzip)        \
	_(archive_read_support_filter_xz)          \
	_(archive_read_support_filter_lzma)        \
	_(archive_read_support_filter_zstd)        \
	_(archive_read_support_filter_lz4)         \
	_(archive_read_support_filter_bzip2)       \
	_(archive_read_support_filter_lzop)        \
	_(archive_read_support_format_raw)         \
	_(archive_read_open_memory)                \
	_(archive_read_next_header)                \
	_(archive_filter_code)                     \
	_(archive_read_data_block)                 \
	_(archive_errno)                           \
	_(archive_write_new)                       \
	_(archive_write_set_format_pax_restricted) \
	_(archive_write_open)                      \
	_(archive_write_header)                    \
	_(archive_write_data)                      \
	_(archive_write_close)                     \
	_(archive_write_free)                      \
	_(archive_entry_new)                       \
	_(archive_entry_free)                      \
	_(archive_entry_set_pathname)              \
	_(archive_entry_set_filetype)              \
	_(archive_entry_set_perm)                  \
	_(archive_entry_set_size)                  \
	_(archive_entry_set_symlink)
DLOPEN_LIBRARY(libarchive, "suggested", "libarchive.so.13", "archive",
	       "capture, and kernel images compressed otherwise than by gzip", SYMBOLS);

/*
 * Registers the one filter that is needed. Anything but ARCHIVE_OK means that the library was
 * built without it and would run a program of that name: not from here.
 */
static int support(const struct libarchive *lib, struct archive *a, enum filter filter)
{
	int (*const functions[_FILTER_MAX])(struct archive *) = {
		[FILTER_GZIP] = lib->archive_read_support_filter_gzip,
		[FILTER_XZ] = lib->archive_read_support_filter_xz,
		[FILTER_LZMA] = lib->archive_read_support_filter_lzma,
		[FILTER_ZSTD] = lib->archive_read_support_filter_zstd,
		[FILTER_LZ4] = lib->archive_read_support_filter_lz4,
		[FILTER_LZ4_LEGACY] = lib->archive_read_support_filter_lz4,
		[FILTER_BZIP2] = lib->archive_read_support_filter_bzip2,
		[FILTER_LZOP] = lib->archive_read_support_filter_lzop,
	};

	return functions[filter](a) == ARCHIVE_OK ? 0 : -EOPNOTSUPP;
}

static int archive_error(const struct libarchive *lib, struct archive *a)
{
	return lib->archive_errno(a) == ENOMEM ? -ENOMEM : -EBADMSG;
}

static int read_stream(const struct libarchive *lib, struct archive *a, size_t max,
		       archive_sink sink, void *userdata)
{
	struct archive_entry *entry;
	size_t total = 0;

	if (lib->archive_read_next_header(a, &entry) != ARCHIVE_OK)
		return archive_error(lib, a);
	/* what its filter does not take, libarchive passes on as it is */
	if (lib->archive_filter_code(a, 0) == ARCHIVE_FILTER_NONE)
		return -EBADMSG;
	for (;;) {
		const void *block;
		la_int64_t offset;
		size_t size;
		int r = lib->archive_read_data_block(a, &block, &size, &offset);

		if (r == ARCHIVE_EOF)
			return 0;
		if (r != ARCHIVE_OK)
			return archive_error(lib, a);
		if (size > max - total)
			return -EFBIG;
		total += size;
		r = sink(userdata, block, size);
		if (r != 0)
			return r;
	}
}

static int uncompress(enum filter filter, const void *data, size_t size, size_t max,
		      archive_sink sink, void *userdata)
{
	struct libarchive lib;
	struct archive *a;
	int r;

	r = libarchive_open(&lib);
	if (r < 0)
		return r;
	a = lib.archive_read_new();
	if (!a)
		return -ENOMEM;
	r = support(&lib, a, filter);
	if (r >= 0 && (lib.archive_read_support_format_raw(a) != ARCHIVE_OK ||
		       lib.archive_read_open_memory(a, data, size) != ARCHIVE_OK))
		r = archive_error(&lib, a);
	if (r >= 0)
		r = read_stream(&lib, a, max, sink, userdata);
	(void)lib.archive_read_free(a); /* only read */
	return r;
}

/* --- writing --- */

struct tar {
	struct libarchive lib;
	struct archive *a;
	int fd;
	int error; /* of the first write that failed, a negative errno */
};

/* It never fails for the library, which would leave its buffer behind (3.6). */
static la_ssize_t write_all(struct archive *a _unused_, void *userdata, const void *data,
			    size_t size)
{
	struct tar *tar = userdata;

	for (size_t done = 0; done < size && tar->error == 0;) {
		ssize_t n = write(tar->fd, (const char *)data + done, size - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			tar->error = -errno;
	}
	return (la_ssize_t)size;
}

int tar_new(int fd, struct tar **ret)
{
	_cleanup_tar_ struct tar *tar = calloc(1, sizeof(*tar));
	int r;

	if (!tar)
		return -ENOMEM;
	r = libarchive_open(&tar->lib);
	if (r < 0)
		return r;
	tar->a = tar->lib.archive_write_new();
	if (!tar->a)
		return -ENOMEM;
	if (tar->lib.archive_write_set_format_pax_restricted(tar->a) != ARCHIVE_OK ||
	    tar->lib.archive_write_open(tar->a, tar, NULL, write_all, NULL) != ARCHIVE_OK)
		return -EIO;
	tar->fd = fd;
	*ret = TAKE_PTR(tar);
	return 0;
}

static int write_error(const struct tar *tar)
{
	int error = tar->lib.archive_errno(tar->a);

	return error > 0 ? -error : -EIO;
}

int tar_add(struct tar *tar, const char *path, enum tar_type type, const void *data,
	    size_t size)
{
	static const struct {
		unsigned type, mode;
	} kinds[] = {
		[TAR_FILE] = { AE_IFREG, 0644 },
		[TAR_DIR] = { AE_IFDIR, 0755 },
		[TAR_LINK] = { AE_IFLNK, 0777 },
		[TAR_FIFO] = { AE_IFIFO, 0644 },
	};
	const struct libarchive *lib = &tar->lib;
	struct archive_entry *entry = lib->archive_entry_new();
	int r = 0;

	if (!entry)
		return -ENOMEM;
	lib->archive_entry_set_pathname(entry, path);
	lib->archive_entry_set_filetype(entry, kinds[type].type);
	lib->archive_entry_set_perm(entry, kinds[type].mode);
	lib->archive_entry_set_size(entry, type == TAR_FILE ? (la_int64_t)size : 0);
	if (type == TAR_LINK)
		lib->archive_entry_set_symlink(entry, data);
	/* a warning is about names that are not UTF-8: they are written as they are */
	if (lib->archive_write_header(tar->a, entry) < ARCHIVE_WARN ||
	    (type == TAR_FILE && lib->archive_write_data(tar->a, data, size) != (ssize_t)size))
		r = write_error(tar);
	lib->archive_entry_free(entry);
	return r < 0 ? r : tar->error;
}

int tar_finish(struct tar *tar)
{
	if (tar->lib.archive_write_close(tar->a) != ARCHIVE_OK)
		return write_error(tar);
	return tar->error;
}

struct tar *tar_free(struct tar *tar)
{
	if (tar && tar->a)
		(void)tar->lib.archive_write_free(tar->a); /* tar_finish() told of errors */
	free(tar);
	return NULL;
}

#else

int tar_new(int fd _unused_, struct tar **ret _unused_)
{
	return -EOPNOTSUPP;
}

int tar_add(struct tar *tar _unused_, const char *path _unused_, enum tar_type type _unused_,
	    const void *data _unused_, size_t size _unused_)
{
	return -EOPNOTSUPP;
}

int tar_finish(struct tar *tar _unused_)
{
	return -EOPNOTSUPP;
}

struct tar *tar_free(struct tar *tar _unused_)
{
	return NULL;
}

static int uncompress(enum filter filter _unused_, const void *data _unused_,
		      size_t size _unused_, size_t max _unused_, archive_sink sink _unused_,
		      void *userdata _unused_)
{
	return -EOPNOTSUPP;
}

#endif

int archive_uncompress(const void *data, size_t size, size_t max, archive_sink sink,
		       void *userdata)
{
	enum filter filter = find_filter(data, size);
	int r = -EOPNOTSUPP;

	if (filter < 0)
		return -EINVAL;
	if (filter == FILTER_GZIP)
		r = gunzip(data, size, max, sink, userdata);
	return r == -EOPNOTSUPP ? uncompress(filter, data, size, max, sink, userdata) : r;
}

static int append(void *userdata, const void *data, size_t size)
{
	strbuf_add(userdata, data, size);
	return 0; /* a failed addition sticks */
}

int archive_uncompress_all(const void *data, size_t size, size_t max, char **ret,
			   size_t *ret_size)
{
	_cleanup_strbuf_ struct strbuf buf = {};
	int r = archive_uncompress(data, size, max, append, &buf);

	return r < 0 ? r : strbuf_take(&buf, ret, ret_size);
}
