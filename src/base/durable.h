/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Getting changes of a directory onto the disk, as far as their reader needs it. */

#include "base/macro.h"

/* linux/magic.h has it since 5.15 only */
#define DURABLE_XFS_MAGIC 0x58465342

enum durable_level {
	DURABLE_DIRECTORY,   /* fsync(2): a mount that replays the journal finds the change */
	DURABLE_FILE_SYSTEM, /* also syncfs(2) */
	/*
	 * A boot loader that does not replay journals finds it: syncfs(2), and on XFS and where
	 * the directory is on a boot file system of its own also a freeze, which empties the
	 * journal (ostree does the same). Measured on ext4: without syncfs GRUB read another
	 * file's bytes after a power cut.
	 */
	DURABLE_BOOT,
};

/* root_fd is the root directory that dir_fd is below: how a /boot of its own is told. */
int durable_sync(int dir_fd, int root_fd, enum durable_level level) _must_check_;

/* FAT: no journal, no owners, no links. */
bool durable_is_fat(int fd);
