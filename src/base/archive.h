/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Decompression by libarchive, opened on demand; its only user. */

#include "base/macro.h"

/*
 * Uncompresses data (gzip, xz, lzma, zstd, lz4, bzip2; recognised by its first bytes), or
 * copies it when it is not compressed. What follows the compressed stream is ignored. ret is
 * NUL-terminated behind its size.
 * -EOPNOTSUPP without libarchive or without its filter, -EBADMSG when the stream is damaged,
 * -EFBIG when the result has more than max bytes.
 */
int archive_uncompress(const void *data, size_t size, size_t max, char **ret,
		       size_t *ret_size) _must_check_;
