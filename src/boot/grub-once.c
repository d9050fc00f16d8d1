/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/grub-once.h"

#include "base/diag.h"
#include "base/durable.h"
#include "base/root.h"
#include "base/str.h"
#include "facts/running.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

enum { MAX_OPTIONS = 16 * 1024 };

static int never(struct diag *diag, const char *path, const char *why)
{
	diag_error(diag,
		   &(struct diag_where){
			   .path = path,
			   .hint = "memcg-policy set on|off, and memcg-policy undo later",
		   },
		   "a choice for one boot would stay for good: %s", why);
	return -ENOTSUP;
}

/* The header of 00_header that takes the choice and forgets it. Without it nothing is chosen.
 */
static bool header_forgets(const char *cfg)
{
	return strstr(cfg, "load_env") && strstr(cfg, "set next_entry=\n") &&
	       strstr(cfg, "save_env next_entry");
}

/* The kernel's name for a disk or partition, "vda1"; NULL when it cannot be told. */
static char *disk_name(const struct root *root, dev_t device)
{
	_cleanup_free_ char *path = NULL, *link = NULL;
	const char *slash;

	if (str_printf(&path, "/sys/dev/block/%u:%u", major(device), minor(device)) < 0 ||
	    root_readlink(root, path, &link) < 0)
		return NULL;
	slash = strrchr(link, '/');
	return strdup(slash ? slash + 1 : link);
}

/* What the kernel calls otherwise is LVM, RAID, encrypted, a file, or not known to be what GRUB
 * sees. */
static const char *check_disk(const char *name)
{
	static const char *const disks[] = { "sd", "vd", "nvme", "mmcblk", "xvd", "hd" };

	if (!name)
		return "what disk it is on cannot be told";
	for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
		if (str_skip_prefix(name, disks[i]))
			return NULL;
	if (str_skip_prefix(name, "dm-"))
		return "GRUB does not write to LVM and other mapped disks";
	if (str_skip_prefix(name, "md"))
		return "GRUB does not write to RAID";
	return "that GRUB writes to such a disk is not known";
}

/* ext4 may keep data in its journal, which GRUB neither reads nor empties. */
static const char *check_journal(const struct root *root, const char *name)
{
	_cleanup_free_ char *options = NULL, *file = NULL;

	if (!name || str_printf(&file, "/proc/fs/ext4/%s/options", name) < 0 ||
	    root_read(root, file, MAX_OPTIONS, &options, NULL) < 0)
		return NULL; /* it is not the default */
	return strstr(options, "data=journal") ? "the file system keeps its data in a journal"
					       : NULL;
}

static const char *check_file_system(const struct root *root, int fd, const char *disk)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return "what file system it is on cannot be told";
	/* compared unsigned: f_type is signed on 32 bit */
	switch ((uint32_t)fs.f_type) {
	case EXT4_SUPER_MAGIC:
		return check_journal(root, disk);
	case DURABLE_XFS_MAGIC:
	case MSDOS_SUPER_MAGIC:
		return NULL;
	case BTRFS_SUPER_MAGIC:
		return "GRUB does not write to files on Btrfs";
	default:
		return "that GRUB writes to files on this file system is not known";
	}
}

/* Blocks of its own, and all of them on the disk. */
static const char *check_blocks(int fd)
{
	enum {
		BAD = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED |
		      FIEMAP_EXTENT_DATA_ENCRYPTED | FIEMAP_EXTENT_NOT_ALIGNED |
		      FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL |
		      FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_SHARED
	};
	union {
		struct fiemap map;
		char space[sizeof(struct fiemap) + 4 * sizeof(struct fiemap_extent)];
	} u = { .map = { .fm_length = FIEMAP_MAX_OFFSET,
			 .fm_flags = FIEMAP_FLAG_SYNC,
			 .fm_extent_count = 4 } };

	/* FAT has no such list, and no such blocks */
	if (ioctl(fd, FS_IOC_FIEMAP, &u.map) < 0)
		return NULL;
	if (u.map.fm_mapped_extents != 1 || u.map.fm_extents[0].fe_flags & BAD)
		return "it does not have its own blocks on the disk";
	return NULL;
}

int grub_once_check(const struct root *root, const struct running *running,
		    const char *env_path, const char *cfg, struct diag *diag)
{
	_cleanup_fd_ int fd = -EBADF;
	_cleanup_free_ char *disk = NULL;
	const char *why = NULL, *machine = running->machine;
	struct stat st;
	int r = root_open_file(root, env_path, &fd, &st);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		_cleanup_free_ char *hint = NULL;

		if (str_printf(&hint, "grub-editenv %s create", env_path) < 0)
			return -ENOMEM;
		diag_error(diag, &(struct diag_where){ .path = env_path, .hint = hint },
			   "GRUB's environment block is what a choice for one boot is kept in, "
			   "and it %s",
			   r == -ENOENT ? "is missing" : "cannot be read");
		return -ENOTSUP;
	}
	disk = disk_name(root, st.st_dev);
	/* GRUB writes by BIOS and EFI only (its manual, "Environment block") */
	if (!root_exists(root, "/sys/firmware/efi") &&
	    !(machine && (streq(machine, "x86_64") || str_has_suffix(machine, "86"))))
		why = "that GRUB writes to disks on this machine is not known";
	if (!why)
		why = check_file_system(root, fd, disk);
	if (!why)
		why = check_disk(disk);
	if (!why)
		why = check_blocks(fd);
	if (!why && !header_forgets(cfg))
		why = "the menu was not made with the lines that forget it";
	return why ? never(diag, env_path, why) : 0;
}
