/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Decompression and tar files by libarchive, opened on demand; its only user. gzip is zlib's
 * (gunzip.h).
 */

#include "base/macro.h"

/* Whether data starts like gzip, xz, lzma, zstd, lz4, bzip2 or lzop. */
bool archive_is_compressed(const void *data, size_t size) _pure_;

/* Gets the uncompressed bytes piece by piece; > 0 stops without error, < 0 is passed on. */
typedef int (*archive_sink)(void *userdata, const void *data, size_t size);

/*
 * Uncompresses one stream into sink. What follows it should be cut off: xz and zstd lose their
 * last block otherwise. 0 at the end, or what sink returned.
 * -EINVAL when data is not compressed, -EOPNOTSUPP without libarchive or where it would have to
 * run a program, -EBADMSG when the stream is damaged, -EFBIG beyond max bytes.
 */
int archive_uncompress(const void *data, size_t size, size_t max, archive_sink sink,
		       void *userdata) _must_check_;

/* The same into memory; ret is NUL-terminated behind its size. */
int archive_uncompress_all(const void *data, size_t size, size_t max, char **ret,
			   size_t *ret_size) _must_check_;

/* --- writing a tar --- */

struct tar;

enum tar_type {
	TAR_FILE,
	TAR_DIR,
	TAR_LINK,
	TAR_FIFO,
};

/* Writes to fd, which stays the caller's. -EOPNOTSUPP without libarchive. */
int tar_new(int fd, struct tar **ret) _must_check_;
/* path has no leading '/'; data are a file's bytes or a link's target. */
int tar_add(struct tar *tar, const char *path, enum tar_type type, const void *data,
	    size_t size) _must_check_;
/* Everything is with the kernel then. */
int tar_finish(struct tar *tar) _must_check_;
struct tar *tar_free(struct tar *tar);
DEFINE_CLEANUP(struct tar *, tar_free);
#define _cleanup_tar_ _cleanup_(tar_freep)
