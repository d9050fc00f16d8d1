#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every source compiles against musl's headers. Only the compiler looks: Debian has no libraries
# for musl to link with.
set -eu
if ! command -v musl-gcc >/dev/null; then
	echo "SKIP musl: musl-gcc is not installed"
	exit 77
fi
cd "$MEMCG_POLICY_SOURCE"
failed=
# kernel and library headers come after musl's own
after="-idirafter /usr/include -idirafter /usr/include/$(cc -print-multiarch)"
for f in $(find src -name '*.c' | sort); do
	# shellcheck disable=SC2086 # options
	musl-gcc -fsyntax-only -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Werror \
		-Isrc -include "$MEMCG_POLICY_BUILD/config.h" $after -I/usr/include/json-c \
		-I/usr/include/libsmartcols -I/usr/include/libmount -I/usr/include/blkid "$f" || failed=1
done
[ ! "$failed" ]
