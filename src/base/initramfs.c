/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/initramfs.h"

#include "base/archive.h"
#include "base/str.h"

enum {
	HEADER_SIZE = 110, /* "070701" and 13 numbers of 8 hexadecimal digits */
	MAX_NAME = 4096,
};

/* Where the two numbers are that matter here. */
enum { FILE_SIZE_AT = 6 + 6 * 8, NAME_SIZE_AT = 6 + 11 * 8 };

enum step {
	STEP_PADDING, /* between archives: only NULs */
	STEP_HEADER,
	STEP_NAME,
	STEP_DATA,
};

struct reader {
	initramfs_member_fn *fn;
	void *userdata;
	enum step step;
	struct strbuf piece; /* what is there of this step */
	size_t want;	     /* bytes of it */
	uint64_t skip;	     /* bytes of a large member that are still to come */
	char *name;
	size_t file_size;
};

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static void next(struct reader *r, enum step step, size_t want)
{
	strbuf_truncate(&r->piece, 0);
	r->step = step;
	r->want = want;
}

static int hex(const char *digits, size_t *ret)
{
	size_t value = 0;

	for (size_t i = 0; i < 8; i++) {
		char c = digits[i];
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
							: 16;

		if (digit > 15)
			return -EBADMSG;
		value = value << 4 | digit;
	}
	*ret = value;
	return 0;
}

static bool is_cpio(const char *data, size_t size)
{
	return size >= 6 && memcmp(data, "07070", 5) == 0 && (data[5] == '1' || data[5] == '2');
}

static int take_header(struct reader *r)
{
	size_t name_size;

	if (!is_cpio(r->piece.data, r->piece.len) ||
	    hex(r->piece.data + FILE_SIZE_AT, &r->file_size) < 0 ||
	    hex(r->piece.data + NAME_SIZE_AT, &name_size) < 0 || name_size == 0 ||
	    name_size > MAX_NAME)
		return -EBADMSG;
	/* header and name are padded together */
	next(r, STEP_NAME, padded(HEADER_SIZE + name_size) - HEADER_SIZE);
	return 0;
}

static int take_name(struct reader *r)
{
	const char *name = r->piece.data;

	if (memchr(name, '\0', r->piece.len) == NULL)
		return -EBADMSG;
	if (streq(name, "TRAILER!!!")) {
		next(r, STEP_PADDING, 1);
		return 0;
	}
	while (*name == '/' || (*name == '.' && name[1] == '/'))
		name++;
	free(r->name);
	r->name = strdup(name);
	if (!r->name)
		return -ENOMEM;
	if (r->file_size <= INITRAMFS_MAX_MEMBER) {
		next(r, STEP_DATA, padded(r->file_size));
		return 0;
	}
	r->skip = padded(r->file_size);
	next(r, STEP_HEADER, HEADER_SIZE);
	return r->fn(r->userdata, r->name, NULL, r->file_size);
}

static int take_data(struct reader *r)
{
	int done;

	if (r->piece.data)
		r->piece.data[r->file_size] = '\0'; /* over the padding, or the NUL behind it */
	done = r->fn(r->userdata, r->name, r->piece.data ? r->piece.data : "", r->file_size);
	next(r, STEP_HEADER, HEADER_SIZE);
	return done;
}

static int take(struct reader *r)
{
	if (r->piece.failed)
		return -ENOMEM;
	switch (r->step) {
	case STEP_HEADER:
		return take_header(r);
	case STEP_NAME:
		return take_name(r);
	default:
		return take_data(r);
	}
}

/* Between archives only NULs and the next archive may come. *ret_used tells how far it got. */
static int read_bytes(struct reader *r, const char *data, size_t size, size_t *ret_used)
{
	size_t i = 0;
	int done = 0;

	while (i < size && done == 0) {
		size_t n = size - i;

		if (r->skip > 0) {
			n = MIN(n, (size_t)r->skip);
			r->skip -= n;
			i += n;
			continue;
		}
		if (r->step == STEP_PADDING) {
			if (data[i] == '\0') {
				i++;
				continue;
			}
			if (data[i] != '0')
				break;
			next(r, STEP_HEADER, HEADER_SIZE);
		}
		n = MIN(n, r->want - r->piece.len);
		strbuf_add(&r->piece, data + i, n);
		i += n;
		while (done == 0 && r->skip == 0 && r->step != STEP_PADDING &&
		       r->piece.len == r->want)
			done = take(r);
	}
	*ret_used = i;
	return done;
}

static int read_uncompressed(void *userdata, const void *data, size_t size)
{
	size_t used;
	int r = read_bytes(userdata, data, size, &used);

	return r != 0 ? r : used < size ? -EBADMSG : 0;
}

int initramfs_walk(const void *image, size_t size, initramfs_member_fn *fn, void *userdata)
{
	struct reader reader = { .fn = fn, .userdata = userdata };
	const char *data = image;
	size_t used = 0;
	int r = read_bytes(&reader, data, size, &used);

	if (r == 0 && used < size)
		r = archive_is_compressed(data + used, size - used)
			    ? archive_uncompress(data + used, size - used, INITRAMFS_MAX,
						 read_uncompressed, &reader)
			    : -EBADMSG;
	if (r == 0 && (reader.step != STEP_PADDING || reader.skip > 0 || size == 0))
		r = -EBADMSG; /* it ends before its trailer */
	free(reader.name);
	strbuf_done(&reader.piece);
	return r;
}
