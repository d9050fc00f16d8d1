#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/source.sh FILE.tar.xz NAME EPOCH: the tree as it is here, committed or not, below NAME in
# a tarball of the same bytes each time. For building packages; releases are made by "meson dist".
set -eu

cd "$(dirname "$0")/.."
list=$(mktemp)
trap 'rm -f "$list"' EXIT
if git rev-parse --git-dir > /dev/null 2>&1; then
	git ls-files -z --cached --others --exclude-standard
else # a tarball, or no git here
	find . \( -path "./build*" -o -name .git -o -name __pycache__ \) -prune -o ! -type d -print0
fi | sed -z 's|^\./||' | LC_ALL=C sort -z > "$list"
tar --null -T "$list" --ignore-failed-read --mtime="@$3" \
	--owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --pax-option=delete=atime,delete=ctime \
	--transform="s|^|$2/|S" -cf - | xz -T1 > "$1"
