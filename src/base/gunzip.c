/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/gunzip.h"

#if HAVE_LIBZ
#include "base/dlopen.h"

#define ZLIB_CONST
#include <limits.h>
#include <zlib.h>

#define SYMBOLS(_) _(inflateInit2_) _(inflate) _(inflateEnd)
DLOPEN_LIBRARY(libz, "suggested", "libz.so.1", "gzip",
	       "/proc/config.gz, kernels compressed by gzip", SYMBOLS);

static int inflate_stream(const struct libz *lib, z_stream *stream, size_t size, size_t max,
			  archive_sink sink, void *userdata)
{
	unsigned char out[16 * 1024];
	size_t total = 0, left = size;
	int state = Z_OK;

	while (state != Z_STREAM_END) {
		size_t n;
		int r;

		if (stream->avail_in == 0) { /* counts in 32 bits */
			stream->avail_in = (uInt)MIN(left, (size_t)UINT_MAX);
			left -= stream->avail_in;
		}
		stream->next_out = out;
		stream->avail_out = sizeof(out);
		state = lib->inflate(stream, Z_NO_FLUSH);
		if (state == Z_MEM_ERROR)
			return -ENOMEM;
		/* also when it wants more than there is */
		if (state != Z_OK && state != Z_STREAM_END)
			return -EBADMSG;
		n = sizeof(out) - stream->avail_out;
		if (n > max - total)
			return -EFBIG;
		total += n;
		r = n > 0 ? sink(userdata, out, n) : 0;
		if (r != 0)
			return r;
	}
	return 0;
}

int gunzip(const void *data, size_t size, size_t max, archive_sink sink, void *userdata)
{
	z_stream stream = { .next_in = data };
	struct libz lib;
	int r;

	r = libz_open(&lib);
	if (r < 0)
		return r;
	/* 16: a gzip header; checksum and size are verified */
	if (lib.inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, (int)sizeof(stream)) != Z_OK)
		return -ENOMEM;
	r = inflate_stream(&lib, &stream, size, max, sink, userdata);
	(void)lib.inflateEnd(&stream); /* frees */
	return r;
}

#else

int gunzip(const void *data _unused_, size_t size _unused_, size_t max _unused_,
	   archive_sink sink _unused_, void *userdata _unused_)
{
	return -EOPNOTSUPP;
}

#endif
