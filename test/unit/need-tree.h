/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A root with a catalogue of one need, x.conf, and what is found of it. */

#include "tree.h"

#include "needs/needs.h"

#define CATALOGUE "usr/lib/memcg-policy/needs.d/"
#define NEED	  "[Need]\nTitle=X\nLevel=limits\nEffect=it breaks\n"
#define UNIT	  "[Service]\nExecStart=/bin/x\n"

/* where units are */
#define ETC   "etc/systemd/system/"
#define LIB   "usr/lib/systemd/system/"
#define WANTS ETC "multi-user.target.wants/"

struct need_file {
	const char *path;
	const char *text; /* "->TARGET" is a link, "/" a directory, "|" a FIFO */
};

void need_tree_make(const struct tree *tree, const struct need_file *file);
/* Makes x.conf: NEED and behind it the rules. */
void need_write_catalogue(const struct tree *tree, const char *rules);

/*
 * A line for each need, "installed in_use limits: path:line text; ...", or "none"; to be freed.
 */
char *need_summary(const struct needs *needs);

struct need_case {
	const char *rules; /* behind NEED in x.conf */
	struct need_file files[6];
	const char *want;    /* the summary */
	const char *warning; /* "path: text" of the first, or NULL for none */
};

/* Fails the test, by the name and number of the case, unless it comes out as it wants. */
void need_check(const char *name, size_t i, enum root_mode mode, const struct need_case *c);
