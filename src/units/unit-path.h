/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Where a manager looks for units, and what a name in there is (src/shared/unit-file.c and
 * path-lookup.c of systemd). Nothing is cached but the open directories, so memory does not
 * grow with the number of unit files.
 */

#include "base/macro.h"
#include "units/unit-name.h"

#include <sys/types.h>

struct root;

/* more search directories than any manager has */
enum { UNIT_PATH_MAX = 32 };

struct unit_dir {
	char *path;	/* inside the root, as systemd spells it */
	char *resolved; /* without links */
	int fd;
	dev_t dev;
	ino_t ino;
};

/* Initialise with {}. Only directories that exist, each once, highest priority first. */
struct unit_path {
	const struct root *root;
	struct unit_dir *dirs;
	size_t n;
	bool whole_reads; /* all on file systems where only a file's end makes a read short */
	const char
		*unreadable; /* of spelt: the first that this process may not read, or NULL */
	char **spelt;	     /* the whole list, also of what does not exist */
	size_t n_spelt;
	/* units that generators make stand before dirs[generated] */
	size_t generated;
};

/* Whose units. */
struct unit_owner {
	bool user;	     /* a user manager */
	const char *home;    /* of that user; NULL: what every user manager sees */
	uid_t uid;	     /* likewise, where home is given */
	const char *runtime; /* $XDG_RUNTIME_DIR, or NULL */
};

/* version is systemd's, 0 when unknown. */
int unit_path_open(const struct root *root, const struct unit_owner *owner, unsigned version,
		   struct unit_path *ret) _must_check_;
/* The directories named, as $SYSTEMD_UNIT_PATH would have it. */
int unit_path_open_list(const struct root *root, const char *const *dirs, size_t n,
			struct unit_path *ret) _must_check_;
void unit_path_done(struct unit_path *path);
#define _cleanup_unit_path_ _cleanup_(unit_path_done)

enum unit_entry {
	UNIT_ENTRY_NONE,  /* nothing there, or nothing that systemd accepts */
	UNIT_ENTRY_FILE,  /* a unit file, or a link to one outside the search path, or a mask */
	UNIT_ENTRY_ALIAS, /* a link to another name: in alias */
};

/* What the name is in one directory; type is what getdents(2) said, or DT_UNKNOWN. */
int unit_path_entry(const struct unit_path *path, size_t dir, const char *name,
		    unsigned char type, enum unit_entry *ret_entry,
		    char ret_alias[static UNIT_NAME_MAX]) _must_check_;

/*
 * The file that a name leads to, following aliases: its directory and its name there. -ENOENT
 * when there is none (also for a broken alias), -ELOOP after 8 steps.
 */
int unit_path_fragment(const struct unit_path *path, const char *name, size_t *ret_dir,
		       char ret_name[static UNIT_NAME_MAX]) _must_check_;

/*
 * Calls a function for every entry of every search directory, the highest first; type is what
 * getdents(2) says. buf has UNIT_LISTING_SIZE bytes, *budget is lowered by what was seen. It
 * returns 0 or a negative errno, which ends the walk.
 */
int unit_path_walk(const struct unit_path *path, char *buf, size_t *budget,
		   int (*function)(void *data, size_t dir, const char *name,
				   unsigned char type),
		   void *data) _must_check_;

/*
 * Opens the directory of that name ("foo.service.d", "bar.target.wants") for reading; a link is
 * followed as the manager does. -ENOENT when there is none.
 */
int unit_path_open_subdir(const struct unit_path *path, size_t dir, const char *name,
			  int *ret_fd) _must_check_;
