/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What is in an initramfs image: cpio archives one after the other, the last of them mostly
 * compressed (Linux, Documentation/driver-api/early-userspace/buffer-format.rst).
 */

#include "base/macro.h"

enum {
	INITRAMFS_MAX = 1024 * 1024 * 1024, /* of the image, and of what is in it */
	INITRAMFS_MAX_MEMBER = 64 * 1024,   /* larger ones are told without their bytes */
};

/*
 * One member: its name without a leading "./" or "/"; data is NUL-terminated, NULL when it is
 * larger than INITRAMFS_MAX_MEMBER. Not 0 stops, and is what initramfs_walk() returns.
 */
typedef int initramfs_member_fn(void *userdata, const char *name, const char *data,
				size_t size);

/*
 * Tells fn of every member. 0 at the end, or what fn returned; -EBADMSG when it is no image or
 * is cut, -EOPNOTSUPP when it is compressed and libarchive is not there.
 */
int initramfs_walk(const void *image, size_t size, initramfs_member_fn *fn,
		   void *userdata) _must_check_;
