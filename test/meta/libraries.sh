#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Without a library that is opened on demand: a mount namespace in which it is an empty file. The
# program says what it cannot do and why, and changes nothing that it could not take back.
set -eu

if [ "${1-}" != inside ]; then
	# as root, or as root of a user namespace
	for map in "" -r; do
		# shellcheck disable=SC2086 # an option or nothing
		if unshare -m $map true 2>/dev/null; then
			exec unshare -m $map sh "$0" inside
		fi
	done
	echo "SKIP libraries: no mount namespaces here"
	exit 77
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
root=$tmp/root
mkdir -p "$root/etc/systemd/system" "$root/boot" "$root/usr/sbin"
printf '[Service]\nExecStart=/bin/true\nMemoryMax=1G\n' >"$root/etc/systemd/system/a.service"

fail() {
	echo "$*" >&2
	cat "$tmp/out" >&2
	exit 1
}

# expect STATUS TEXT ARGUMENT...: how a run ends, and what it says
expect() {
	want=$1
	text=$2
	shift 2
	status=0
	"$MEMCG_POLICY" "--root=$root" "$@" >"$tmp/out" 2>&1 || status=$?
	[ "$status" = "$want" ] || fail "$* ended with $status, not $want"
	grep -qF -e "$text" "$tmp/out" || fail "$* does not say: $text"
}

# hide SONAME: false where it is not installed
hide() {
	found=
	for file in $(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk -v name="$1" '$1 == name { print $NF }'); do
		mount --bind /dev/null "$(readlink -f "$file")" || fail "$file cannot be hidden"
		found=1
	done
	[ "$found" ]
}

# with all of them: a change that can be taken back
expect 0 '"memcg":' status --json
expect 0 50-set.conf set on

if ! hide libjson-c.so.5; then
	echo "SKIP libraries: ldconfig does not know libjson-c.so.5"
	exit 77
fi
expect 0 "1 memory setting" status
expect 0 MemoryMax units a.service
expect 1 "--json needs libjson-c, which is not installed" units --json
expect 1 "--json needs libjson-c, which is not installed" set off --json
before=$(cd "$root" && find . -type f -exec cksum {} + | sort)
expect 1 "needed shared library" set leave
expect 1 "needed shared library" undo
expect 1 "needed shared library" history
[ "$before" = "$(cd "$root" && find . -type f -exec cksum {} + | sort)" ] || fail "files were changed"

# the others are not missed before something needs them; libmount last, as mount needs it
for soname in libsmartcols.so.1 libsystemd.so.0 libkmod.so.2 libarchive.so.13 \
	libcryptsetup.so.12 libz.so.1 libmount.so.1; do
	hide "$soname" || echo "$soname is not installed"
done
expect 0 "1 memory setting" status
expect 0 MemoryMax units a.service
