/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A file beside the one whose place it takes: ".memcg-policy.XXXXXX", since no loader, shell or
 * package tool globs a leading dot.
 */

#include "base/content.h"

#include <sys/stat.h>

#define TEMPORARY_PREFIX ".memcg-policy."

/* Initialise with { .fd = -EBADF }. */
struct temporary {
	int fd;
	char name[32]; /* empty: there is none, or it has moved */
};

/* Writes one into dir: the bytes, and the metadata of old_fd, or mode where that is negative.
 * Not on the disk yet. */
int temporary_write(int dir, const struct content *content, int old_fd, mode_t mode,
		    struct temporary *ret) _must_check_;
/* fsync(2), and the bytes read back. */
int temporary_settle(const struct temporary *temporary,
		     const struct content *content) _must_check_;
/* Gives it its name in dir; create: -ESTALE when something has that name by now. */
int temporary_move(int dir, struct temporary *temporary, const char *to,
		   bool create) _must_check_;
/* Removes it, unless it has moved. */
void temporary_done(int dir, struct temporary *temporary);

/* Owner, mode, ACL, extended attributes and the SELinux label of an open file to another. */
int temporary_copy_metadata(int from, int to) _must_check_;
