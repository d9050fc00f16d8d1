#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/rpm/build.sh [OUTDIR] [RPMBUILD-ARGUMENT...]: builds source and binary packages from a
# scratch copy of the tree. On Debian, where dependencies are not rpm packages, they are not checked.
set -eu
umask 022

top=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${1:-.}"
out=$(cd "${1:-.}" && pwd)
[ $# = 0 ] || shift
version=$(sed -n "s/^    version: '\(.*\)',$/\1/p" "$top/meson.build")
packaged=$(sed -n 's/^Version: *//p' "$top/packaging/rpm/memcg-policy.spec")
if [ "$version" != "$packaged" ]; then
	echo "packaging/rpm/memcg-policy.spec is for version $packaged, meson.build says $version" >&2
	exit 1
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$scratch/SOURCES"
sh "$top/packaging/source.sh" "$scratch/SOURCES/memcg-policy-$version.tar.xz" "memcg-policy-$version" 1
if [ -e /etc/debian_version ]; then
	set -- --nodeps --load "$top/packaging/rpm/debian.macros" "$@"
fi
rpmbuild -ba --define "_topdir $scratch" "$@" "$top/packaging/rpm/memcg-policy.spec"
find "$scratch/RPMS" "$scratch/SRPMS" -name '*.rpm' -exec cp {} "$out" \;
