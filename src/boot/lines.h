/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kernel command lines inside a configuration file. A parser of a file's format finds them as
 * pieces of text; changing what they ask for is the same for all, and touches no other byte.
 */

#include "base/macro.h"
#include "facts/cmdline.h"

struct content;
struct diag;

/* The bytes [offset, offset + size) of the file. */
struct line_piece {
	size_t offset;
	size_t size;
	size_t group;  /* pieces of one group are one command line, read in order */
	unsigned line; /* from 1 */
};

/* In order of their offsets; the pieces of one group need not lie together. Initialise with {}.
 */
struct lines {
	struct line_piece *pieces;
	size_t n;
	size_t alloc;
	size_t n_groups; /* one more than the greatest group */
	bool first_only; /* the reader takes the first piece of a group and no other */
};

int lines_add(struct lines *lines, size_t group, size_t offset, size_t size,
	      unsigned line) _must_check_;
void lines_done(struct lines *lines);
#define _cleanup_lines_ _cleanup_(lines_done)

/* What the reader makes of a group: its pieces with a blank between. Owned by the caller. */
int lines_join(const char *text, const struct lines *lines, size_t group,
	       char **ret) _must_check_;

/*
 * cmdline_edit() for every group. A word that has to be added goes into the first piece.
 * 1 if something changed, 0 if not, -EINVAL with an error in diag when a line ends inside a
 * quote, -EBADMSG for a NUL byte. path is for messages.
 */
int lines_edit(const char *text, size_t size, const struct lines *lines, enum memcg_state want,
	       unsigned flags, const char *path, char **ret, size_t *ret_size,
	       struct diag *diag) _must_check_;

/* Finds the command lines of a text: 0, or a negative errno with an error in diag. */
typedef int (*lines_find_t)(const char *text, size_t size, const char *path, struct lines *ret,
			    struct diag *diag);

/*
 * Takes back what an edit did to a file that was changed since: written is what we made of
 * before, now is what is there. Words that we added go, words that we took out come back, all
 * else stays. -ENOTSUP with an error in diag when it cannot be told which words were ours.
 */
int lines_take_back(lines_find_t find, const char *path, const struct content *before,
		    const struct content *written, const struct content *now,
		    struct content *ret, struct diag *diag) _must_check_;
