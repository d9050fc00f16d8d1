/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What was asked of a root, turned into the files that answer the same: each file that was read
 * with its bytes, each that was only looked for with its name, the links on the way, the names
 * in the directories that were listed.
 */

#include "base/archive.h"
#include "base/scrub.h"

struct root;

struct capture_item {
	char *path; /* "/etc/default/grub" */
	enum tar_type type;
	bool read; /* a file whose bytes count; of others only that they are not empty does */
	char *target;
};

/* Initialise with {}; then root_record(root, capture_note, &capture). */
struct capture {
	struct strv paths, files, dirs; /* as asked, with repetitions */
	struct capture_item *items;	/* by path */
	size_t n;
	size_t alloc;
	struct strv unreadable; /* scrubbed, for the user */
};

enum root_access;
void capture_note(void *userdata, enum root_access access, const char *path);

/* Makes the items of what was noted. 0, -ENOMEM, or -EFBIG when there are absurdly many. */
int capture_collect(struct capture *capture, const struct root *root) _must_check_;

/* The bytes of a file item as they go into the archive; scrubbed. -ENODATA: unreadable. */
int capture_read(const struct root *root, struct scrub *scrub, const struct capture_item *item,
		 char **ret, size_t *ret_size) _must_check_;

void capture_done(struct capture *capture);
#define _cleanup_capture_ _cleanup_(capture_done)
