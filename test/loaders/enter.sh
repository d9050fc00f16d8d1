#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# enter.sh ROOT PROGRAM SCRIPT
# In new mount and PID namespaces: makes the directory the root, a system like any other, whose
# EFI variables are the files in its /efivars (none: a machine without EFI), and runs SCRIPT there.
set -eu
root=$1 program=$2 script=$3

mount --bind "$root" "$root"
mount -t tmpfs tmpfs "$root/mnt"
mkdir "$root/mnt/test" "$root/mnt/old"
# the program under test, with its libraries, also the one that it opens on demand: it may be
# built with sanitizers
cp "$program" "$root/mnt/test/program"
{ ldd "$program"; /sbin/ldconfig -p | grep 'libjson-c\.so\.5 '; } |
	sed -n 's/.* => \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' |
	while read -r lib; do cp "$lib" "$root/mnt/test/"; done
linker=$(basename "$(ldd "$program" | sed -n 's/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' | head -n 1)")
cat >"$root/mnt/test/memcg-policy" <<END
#!/bin/sh
exec /mnt/test/$linker --library-path /mnt/test /mnt/test/program "\$@"
END
chmod +x "$root/mnt/test/memcg-policy"

mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/sys"
if [ -d "$root/efivars" ]; then
	mkdir -p "$root/sys/firmware/efi/efivars"
	cp "$root/efivars"/* "$root/sys/firmware/efi/efivars"
fi
mount -t tmpfs tmpfs "$root/run"
cd "$root"
pivot_root . mnt/old
umount -l /mnt/old
exec env -i PATH=/mnt/test:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C ASAN_OPTIONS=detect_leaks=0 sh -c "$script"
