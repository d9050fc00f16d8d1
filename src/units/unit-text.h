/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reading many small files into one buffer, and listing directories without allocating. */

#include "base/macro.h"

struct root;

/* The buffer; the text is valid until the next read. Initialise with {}. */
struct unit_text {
	char *data;
	size_t size;
	bool cut;	  /* the file goes on: it has more than unit files are read for */
	bool whole_reads; /* set by the owner: a short read of a regular file is its end */
	size_t *budget;	  /* set by the owner, or NULL: what may still be looked at (below) */
};

/*
 * What a whole tree may cost: an entry of a directory is one, and so are 4 KiB of a file.
 * ROOT_MAX_DIR_ENTRIES to begin with; at 0 nothing more is listed.
 */
enum { UNIT_TEXT_COST = 4096 };

/*
 * Reads a file below a directory that is dir_path inside the root. regular: getdents(2) said
 * that it is a regular file. -ENODATA when it masks (nothing in it, or a device); or the errno.
 */
int unit_text_read(struct unit_text *text, const struct root *root, int dir_fd,
		   const char *dir_path, const char *name, bool regular) _must_check_;
void unit_text_done(struct unit_text *text);

enum { UNIT_LISTING_SIZE = 32 * 1024 };

/* A walk over an open directory, which it takes over; listing_done() closes it. */
struct unit_listing {
	int fd;
	char *buf; /* UNIT_LISTING_SIZE bytes of the caller */
	ssize_t n;
	ssize_t pos;
	size_t *budget; /* lowered by what was listed; shared by many listings */
};

/* True with a name (valid until the next call) and its DT_ type; false at the end, on an error
 * and when the budget is used up. "." and ".." are left out. */
bool unit_listing_next(struct unit_listing *listing, const char **ret_name,
		       unsigned char *ret_type);
void unit_listing_done(struct unit_listing *listing);
