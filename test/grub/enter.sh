#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# enter.sh LOOP inside|outside BUILD SCRIPT
# In new mount and PID namespaces: mounts the disk and runs SCRIPT in it (inside: it is the root,
# a system like any other), or beside it with the disk on /mnt (outside).
set -eu
loop=$1 where=$2 build=$3 script=$4

root=/mnt
mount -t tmpfs -o mode=755 dev /dev
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
	IFS=: read -r name major minor <<END
$node
END
	mknod -m 666 "/dev/$name" c "$major" "$minor"
done
# grub-probe knows disks by their names; the numbers are the loop device's
IFS=: read -r major minor <"/sys/class/block/${loop##*/}/dev"
mknod -m 600 /dev/vdz b "$major" "$minor"
mount /dev/vdz "$root"
mount -t proc proc /proc

# the program under test, with its libraries, also the one that it opens on demand: it may be
# built with sanitizers
mount -t tmpfs tmpfs "$root/mnt/test"
cp "$build/memcg-policy" "$root/mnt/test/program"
{ ldd "$build/memcg-policy"; /sbin/ldconfig -p | grep 'libjson-c\.so\.5 '; } |
	sed -n 's/.* => \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' |
	while read -r lib; do cp "$lib" "$root/mnt/test/"; done
linker=$(basename "$(ldd "$build/memcg-policy" | sed -n 's/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' | head -n 1)")
cat >"$root/mnt/test/memcg-policy" <<END
#!/bin/sh
exec \${TEST_PREFIX-}/mnt/test/$linker --library-path \${TEST_PREFIX-}/mnt/test \${TEST_PREFIX-}/mnt/test/program "\$@"
END
chmod +x "$root/mnt/test/memcg-policy"

if [ "$where" = outside ]; then
	PATH=/mnt/mnt/test:$PATH TEST_PREFIX=/mnt exec sh -c "$script"
fi
mount --move /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
cd "$root"
pivot_root . mnt/old
umount -l /mnt/old
exec env -i PATH=/mnt/test:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C ASAN_OPTIONS=detect_leaks=0 sh -c "$script"
