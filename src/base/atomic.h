/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Replacing, creating and deleting files below a root so that a reader, a crash or a SIGKILL at
 * any instruction sees the old bytes or the new ones and nothing between. Links are followed
 * inside the root and the file they lead to is replaced, the link stays.
 */

#include "base/content.h"
#include "base/root.h"

/* The former bytes are kept under this name on FAT, which has no journal. */
#define ATOMIC_FAT_COPY_SUFFIX ".memcg-bak"

enum atomic_flags {
	/*
	 * A boot loader reads the file: it must be on the disk itself and not in a journal,
	 * because GRUB and the like do not replay one.
	 */
	ATOMIC_BOOT = 1 << 0,
	/* Where old and new are of one size: atomic_overwrite(), never a rename. */
	ATOMIC_IN_PLACE = 1 << 1,
	/* Its time means something: it becomes now, also where the bytes are right already. */
	ATOMIC_TOUCH = 1 << 2,
};

/*
 * Makes the file at path hold wanted (no data: deletes it), provided that it holds expected.
 * Owner, mode, ACL, extended attributes and the SELinux label of an existing file are kept;
 * mode is for a new one. 1 when it was changed, 0 when it holds wanted already (nothing is
 * touched), -ESTALE when it holds something else than both, or a negative errno with the old
 * file intact.
 */
int atomic_put(const struct root *root, const char *path, const struct content *expected,
	       const struct content *wanted, mode_t mode, unsigned flags) _must_check_;

/* One file to put; the bytes are borrowed. See atomic_put(). */
struct atomic_change {
	const char *path;
	const struct content *expected;
	const struct content *wanted;
	mode_t mode;
	unsigned flags;
};

/*
 * Puts many files, each as atomic_put() does, in their order: all temporaries are
 * written and on the disk before the first name moves, so the disk is waited for once and not
 * once a file. ATOMIC_BOOT is the only flag that counts, and no file is deleted. On a failure
 * *ret_at is the file it failed at; any of them holds its old or its new bytes.
 */
int atomic_put_all(const struct root *root, const struct atomic_change *changes, size_t n,
		   size_t *ret_at) _must_check_;

/*
 * Overwrites bytes in place by one write of the whole file, whose size must not change: for
 * GRUB's environment block, whose blocks GRUB itself writes, so that it must never be renamed
 * over. At most 4096 bytes.
 */
int atomic_overwrite(const struct root *root, const char *path, const struct content *expected,
		     const struct content *wanted) _must_check_;

/*
 * Puts a file that a program wrote beside path into its place: name is in the same directory
 * and takes over owner, mode and attributes. Too large for memory, hence without comparing. As
 * with ATOMIC_BOOT it is on the disk itself.
 */
int atomic_take(const struct root *root, const char *path, const char *name) _must_check_;

/*
 * Makes a directory and those above it, adding what was made to *made (outermost first) when it
 * is not NULL. 1 when something was made.
 */
struct strv;
int atomic_mkdir(const struct root *root, const char *path, mode_t mode,
		 struct strv *made) _must_check_;
/* Removes an empty directory; one that is not empty or not there is fine. */
int atomic_rmdir(const struct root *root, const char *path) _must_check_;

/*
 * Removes temporaries that a killed run left beside path. Only under the lock that keeps other
 * runs away.
 */
int atomic_clean(const struct root *root, const char *path) _must_check_;

/*
 * Removes the copy of its former bytes beside path, where there is one. For a file that is
 * taken back: the copy has nothing but what we wrote.
 */
int atomic_forget_copy(const struct root *root, const char *path) _must_check_;
