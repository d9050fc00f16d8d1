#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/deb/build.sh [OUTDIR]: builds source and binary packages in a scratch copy of the tree,
# the same bytes each time. DEB_BUILD_OPTIONS means what Debian policy says.
set -eu
umask 022

top=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${1:-.}"
out=$(cd "${1:-.}" && pwd)
version=$(sed -n "s/^    version: '\(.*\)',$/\1/p" "$top/meson.build")
packaged=$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' "$top/packaging/deb/changelog")
if [ "$version" != "$packaged" ]; then
	echo "packaging/deb/changelog is for version $packaged, meson.build says $version" >&2
	exit 1
fi
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$top/packaging/deb/changelog" -S Timestamp)
export SOURCE_DATE_EPOCH

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
name=memcg-policy-$version
orig=$scratch/memcg-policy_$version.orig.tar.xz
sh "$top/packaging/source.sh" "$orig" "$name" "$SOURCE_DATE_EPOCH"

cd "$scratch"
tar -xf "$orig"
cd "$name"
cp -R packaging/deb debian
dpkg-buildpackage --no-sign
cd ..
cp memcg-policy*_* "$out"
