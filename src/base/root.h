/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Every file this tool reads is below a struct root. Paths are written as inside that root
 * ("/etc/default/grub"); links, also absolute ones, and ".." are resolved inside it, as after
 * chroot(2), by openat2(2) RESOLVE_IN_ROOT or by a walker that gives the same answers.
 *
 * All functions return 0 (or more) or a negative errno. A path that an offline root must not
 * show (its /proc, /sys and /run belong to a kernel that is not ours to ask) is -ENOENT.
 */

#include "base/macro.h"

#include <sys/stat.h>
#include <sys/types.h>

/* Caps on what is read of one file (DESIGN: each one named constant). */
enum {
	ROOT_MAX_POLICY = 64 * 1024,
	ROOT_MAX_UNIT = 1024 * 1024,
	ROOT_MAX_GRUB_DEFAULT = 1024 * 1024,
	ROOT_MAX_CMDLINE = 64 * 1024,
	ROOT_MAX_JSON = 16 * 1024 * 1024,
	ROOT_MAX_GRUB_CFG = 16 * 1024 * 1024,
	ROOT_MAX_KCONFIG = 2 * 1024 * 1024,
	ROOT_MAX_PROC = 4 * 1024 * 1024,
	ROOT_MAX_DIR_ENTRIES = 1000000,
};

enum root_mode {
	ROOT_LIVE,     /* this system: / with its /proc, /sys and /run */
	ROOT_OFFLINE,  /* --root: another system's files; no kernel state at all */
	ROOT_SNAPSHOT, /* --snapshot: a captured machine, /proc and /sys captured with it */
};

struct root;

/* Opens the directory. ret is owned by the caller. */
int root_open(const char *path, enum root_mode mode, struct root **ret) _must_check_;
struct root *root_free(struct root *root);
DEFINE_CLEANUP(struct root *, root_free);
#define _cleanup_root_ _cleanup_(root_freep)

enum root_mode root_mode(const struct root *root) _pure_;
/* The directory as given to root_open(), for messages. */
const char *root_path(const struct root *root) _pure_;
int root_fd(const struct root *root) _pure_;

/*
 * Tells fn of everything that is asked of the root from now on, also what is not there: for
 * "capture". What is opened by its name in an open directory is noted by whoever does so.
 */
enum root_access {
	ROOT_ACCESS_PATH, /* that there is something, its kind, where a link leads */
	ROOT_ACCESS_FILE, /* opened for reading */
	ROOT_ACCESS_DIR,  /* listed */
};
typedef void root_record_fn(void *userdata, enum root_access access, const char *path);
void root_record(struct root *root, root_record_fn *fn, void *userdata);
bool root_is_recorded(const struct root *root) _pure_;
/* name may be NULL: dir is the path. */
void root_note(const struct root *root, enum root_access access, const char *dir,
	       const char *name);

/* Forces the walker instead of openat2(2), so that tests can compare the two. */
void root_set_walker(struct root *root, bool walker);

/* O_PATH descriptor of whatever is at path; a link as last component is followed. */
int root_open_path(const struct root *root, const char *path, int *ret_fd) _must_check_;
/* The same, but a link as last component is opened itself. */
int root_open_path_nofollow(const struct root *root, const char *path,
			    int *ret_fd) _must_check_;

/*
 * Opens a regular file for reading: O_PATH first, then re-opened through that descriptor, so no
 * device, FIFO or socket is ever opened. -EBADFD when it is something else (-EISDIR for a
 * directory). ret_st may be NULL.
 */
int root_open_file(const struct root *root, const char *path, int *ret_fd,
		   struct stat *ret_st) _must_check_;
/* The same for an entry of an open directory whose path inside the root is dir_path. */
int root_open_file_at(const struct root *root, int dir_fd, const char *dir_path,
		      const char *name, int *ret_fd, struct stat *ret_st) _must_check_;

/* Opens a directory for reading. */
int root_open_dir(const struct root *root, const char *path, int *ret_fd) _must_check_;

/*
 * Reads a whole regular file (size need not be known: /proc). -EFBIG when it has more than max
 * bytes; nothing is cut. ret is NUL-terminated behind its size; ret_size may be NULL.
 */
int root_read(const struct root *root, const char *path, size_t max, char **ret,
	      size_t *ret_size) _must_check_;
/* What is wrong with a file that could not be read, as the end of a sentence about it. */
const char *root_read_error(int r) _pure_;
/* Reads what is left of an open file. */
int root_read_fd(int fd, size_t max, char **ret, size_t *ret_size) _must_check_;

int root_stat(const struct root *root, const char *path, struct stat *ret) _must_check_;
int root_lstat(const struct root *root, const char *path, struct stat *ret) _must_check_;
/* Whether anything is at path (following links); false also when it cannot be told. */
bool root_exists(const struct root *root, const char *path);
int root_readlink(const struct root *root, const char *path, char **ret) _must_check_;
/*
 * The path inside the root with all links resolved ("/etc/../lib" -> "/usr/lib"); the last
 * component need not exist.
 */
int root_resolve(const struct root *root, const char *path, char **ret) _must_check_;

/* Names in a directory in byte order, without "." and "..". -EFBIG above the cap. */
struct strv;
int root_list(const struct root *root, const char *path, struct strv *ret) _must_check_;

/*
 * Paths that match a glob pattern (*, ? and [...] per component; leading dots are matched only
 * by a literal dot), in byte order. At most max paths and ROOT_MAX_DIR_ENTRIES entries looked
 * at: beyond that -EFBIG with what was found so far. A directory that may not be read is passed
 * over: -EACCES with what was found elsewhere.
 */
int root_glob(const struct root *root, const char *pattern, size_t max,
	      struct strv *ret) _must_check_;
/*
 * The same with the caller's budget of entries, lowered by what was looked at. With check unset
 * a path whose last component has no wildcard need not exist: the caller opens it anyway.
 */
int root_glob_budget(const struct root *root, const char *pattern, bool check, size_t max,
		     size_t *budget, struct strv *ret) _must_check_;
