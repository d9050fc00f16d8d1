#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The side of fat.py that runs in user-mode Linux.
#   fat.sh PROGRAM TREE PLACE OPTIONS SCRIPT
# TREE becomes the root $R, in memory; the partition /dev/ubda is mounted at $R/PLACE; SCRIPT runs with "policy"
# for the program and "fat" for a list of the partition's files with their sums.
set -eu
program=$1 tree=$2 place=$3 options=$4 script=$5

modules=/usr/lib/uml/modules/$(uname -r)/kernel
for name in fat/fat fat/vfat nls/nls_iso8859-1 nls/nls_cp437 nls/nls_ascii nls/nls_utf8; do
	busybox insmod "$modules/fs/$name.ko" 2>/dev/null || : # it may be built in
done
R=/run/root
mkdir $R
cp -a "$tree/." $R/
mkdir -p "$R/$place"
mount -t vfat -o "umask=0077,$options" /dev/ubda "$R/$place"

policy() {
	"$program" --root=$R "$@"
}

fat() {
	(cd "$R/$place" && find . -type f -exec sha256sum {} + | sort -k 2 && find . -type d | sort)
}

fail() {
	echo "FAILED: $*"
	exit 1
}

# must STATUS COMMAND...
must() {
	wanted=$1
	shift
	code=0
	"$@" >/run/said 2>&1 || code=$?
	[ "$code" = "$wanted" ] || {
		cat /run/said
		fail "exit status $code and not $wanted of: $*"
	}
}

# shellcheck source=/dev/null
. "$script"
cd /
umount "$R/$place"
