#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds and runs the unit tests for other word sizes and byte orders: i386 (32 bit, runs as it is)
# and s390x (big endian, by qemu-user), in a cached Debian root. Needs root.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/memcg-policy
root=$cache/cross-bookworm
libraries="libjson-c-dev libsmartcols-dev libcmocka-dev libmount-dev libsystemd-dev libkmod-dev
	libcgroup-dev libarchive-dev libcryptsetup-dev zlib1g-dev libc6-dev"

if [ ! -e "$root/.complete" ]; then
	mkdir -p "$cache"
	rm -rf "$root"
	include=gcc-i686-linux-gnu,gcc-s390x-linux-gnu,meson,ninja-build,pkgconf,qemu-user,python3
	for library in $libraries; do
		include="$include,$library:i386,$library:s390x"
	done
	# one mirror, as this system uses it: security updates are not built for all at once
	# shellcheck disable=SC2016 # apt's own variable
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		'Codename: bookworm' | head -n 1)
	mmdebstrap --variant=apt --architectures=amd64,i386,s390x --include="$include" \
		--aptopt='Acquire::Check-Valid-Until "false"' bookworm "$root" ${mirror:+"$mirror"}
	touch "$root/.complete"
fi

cross_file() {
	cat <<END
[binaries]
c = '$2-gcc'
ar = '$2-ar'
strip = '$2-strip'
pkgconfig = '/src/$2-pkg-config'
$4
[host_machine]
system = 'linux'
cpu_family = '$1'
cpu = '$1'
endian = '$3'
END
}

failed=
rm -rf "$root/src"
mkdir -p "$root/src"
(cd "$source" && git ls-files -co --exclude-standard -z | tar --null -T - -cf -) | tar -xf - -C "$root/src"
cross_file x86 i686-linux-gnu little "" >"$root/src/i386.cross"
cross_file s390x s390x-linux-gnu big "exe_wrapper = ['qemu-s390x']" \
	>"$root/src/s390x.cross"
for triplet in i386-linux-gnu:i686-linux-gnu s390x-linux-gnu:s390x-linux-gnu; do
	cat >"$root/src/${triplet#*:}-pkg-config" <<END
#!/bin/sh
PKG_CONFIG_LIBDIR=/usr/lib/${triplet%:*}/pkgconfig:/usr/share/pkgconfig exec pkg-config "\$@"
END
	chmod +x "$root/src/${triplet#*:}-pkg-config"
done
for arch in i386 s390x; do
	echo "== $arch"
	chroot "$root" sh -eu -c "
		cd /src
		mount -t proc proc /proc 2>/dev/null || true
		meson setup build-$arch --cross-file $arch.cross -Dwerror=true >/tmp/setup.log || { cat /tmp/setup.log; exit 1; }
		ninja -C build-$arch >/tmp/build.log || { grep -A5 -E 'error|FAILED' /tmp/build.log; exit 1; }
		meson test -C build-$arch --suite unit --print-errorlogs" || failed=1
done
umount "$root/proc" 2>/dev/null || true
[ ! "$failed" ]
