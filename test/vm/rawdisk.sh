#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The side of rawdisk.py that runs in user-mode Linux: /dev/ubda is the disk, /dev/ubdb takes the log.
#
#   rawdisk.sh make DISK TREE     file systems on the empty disk, filled with TREE
#   rawdisk.sh run DISK FILE      runs FILE in the disk's system
#   rawdisk.sh record DISK FILE   the same; every write and flush of the disk is logged
#   rawdisk.sh install DISK FILE  runs FILE in a chroot of the mounted disk, as an installer does
#
# DISK: "TYPE" is a root of that file system with /boot in it, "/boot=TYPE" a root of ext4 and a
# /boot of that file system. Partitions are cut by device mapper: this kernel knows no tables.
set -eu

modules=/usr/lib/uml/modules/$(uname -r)/kernel
top=/run/top
export DM_DISABLE_UDEV=1 PATH=/usr/sbin:/usr/bin:/sbin:/bin

for name in drivers/md/dm-mod drivers/md/dm-log-writes fs/fat/fat fs/fat/vfat fs/nls/nls_iso8859-1 \
	fs/nls/nls_cp437; do
	busybox insmod "$modules/$name.ko" 2>/dev/null || : # it may be built in
done

word=$1
boot=
root=${2#/boot=}
[ "$root" = "$2" ] || { boot=$root root=ext4; }
file=$3

# cut NAME NODE START SECTORS DEVICE: GRUB's own tools find a device by the name it was mounted by,
# and take one called vdz for a whole disk
cut() {
	echo "0 $4 linear $5 $3" | dmsetup create "$1"
	numbers=$(dmsetup info -c --noheadings --separator ' ' -o major,minor "$1")
	# shellcheck disable=SC2086 # two numbers
	mknod "/dev/$2" b $numbers
}

# devices DISK: the places are those of rawdisk.py
devices() {
	[ ! "$boot" ] || cut boot vdy "$BOOT_START" "$BOOT_SECTORS" "$1"
	cut root vdz "$ROOT_START" "$ROOT_SECTORS" "$1"
}

format() {
	case $1 in
	ext4) mkfs.ext4 -qF "$2" ;;
	xfs | btrfs) "mkfs.$1" -qf "$2" ;;
	vfat) mkfs.vfat -F 32 "$2" >/dev/null ;;
	esac
}

mounts() {
	mkdir -p $top
	mount -t "$root" /dev/vdz $top
	if [ "$boot" ]; then
		mkdir -p $top/boot
		mount -t "$boot" /dev/vdy $top/boot
	fi
}

unmounts() {
	if [ "$boot" ]; then
		umount $top/boot
	fi
	umount $top
}

uuid() {
	blkid -s UUID -o value "/dev/$1"
}

# furnish FILE: what a running system has; FILE becomes /run/entered
furnish() {
	cp "$1" /run/entered
	mount -t tmpfs dev $top/dev
	mkdir -p $top/dev/disk/by-uuid
	: >$top/dev/mapper # no directory: GRUB's tools shall not ask device mapper
	for name in null zero full random urandom tty vdz vdy; do
		[ ! -e "/dev/$name" ] || cp -a "/dev/$name" "$top/dev/"
	done
	ln -s ../../vdz "$top/dev/disk/by-uuid/$(uuid vdz)"
	[ ! "$boot" ] || ln -s ../../vdy "$top/dev/disk/by-uuid/$(uuid vdy)"
	mount -t sysfs sys $top/sys
	mount -t cgroup2 cgroup2 $top/sys/fs/cgroup
	mount -t tmpfs run $top/run
	cp /run/entered $top/run/entered
}

strip() {
	umount $top/run $top/sys/fs/cgroup $top/sys $top/dev
}

# enter FILE: in a mount and process namespace where the disk's system is all there is
enter() {
	furnish "$1"
	status=0
	unshare --mount --pid --fork sh -c "
		mount --make-rprivate /
		mount -t proc proc $top/proc
		cd $top
		pivot_root . mnt
		exec chroot . sh -c 'umount -l /mnt && export LC_ALL=C.UTF-8 && sh /run/entered'" </dev/null || status=$?
	strip
	return $status
}

case $word in
make)
	devices /dev/ubda
	format "$root" /dev/vdz
	[ ! "$boot" ] || format "$boot" /dev/vdy
	mounts
	tar -C "$file" --exclude=./boot -cf - . | tar -C $top -xf -
	mkdir -p $top/boot
	cp -rL "$file/boot/." $top/boot/
	{
		echo "UUID=$(uuid vdz) / $root defaults 0 0"
		[ ! "$boot" ] || echo "UUID=$(uuid vdy) /boot $boot defaults 0 0"
	} >$top/etc/fstab
	unmounts
	;;
record)
	echo "0 $(blockdev --getsz /dev/ubda) log-writes /dev/ubda /dev/ubdb" | dmsetup create disk
	devices /dev/mapper/disk
	mounts
	sync
	dmsetup message disk 0 mark begin
	status=0
	enter "$file" || status=$?
	dmsetup message disk 0 mark end
	unmounts
	[ ! "$boot" ] || dmsetup remove boot
	dmsetup remove root
	dmsetup remove disk
	exit $status
	;;
run)
	devices /dev/ubda
	mounts
	status=0
	enter "$file" || status=$?
	unmounts
	exit $status
	;;
install)
	devices /dev/ubda
	mounts
	furnish "$file"
	mount -t proc proc $top/proc
	status=0
	chroot $top sh /run/entered </dev/null || status=$?
	umount $top/proc
	strip
	unmounts
	exit $status
	;;
esac
