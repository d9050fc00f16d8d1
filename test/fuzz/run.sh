#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh BUILD_DIR [SECONDS [TARGET...]]: libFuzzer on every target, new inputs in a cache outside
# the tree. A crash ends it and names the input: keep that in test/fuzz/corpus with the fix.
set -eu
build=$1
seconds=${2:-60}
shift
[ $# = 0 ] || shift
corpus=$(dirname "$0")/corpus
cache=${XDG_CACHE_HOME:-$HOME/.cache}/memcg-policy/fuzz
targets=$*
for target in ${targets:-$(ls "$corpus")}; do
	mkdir -p "$cache/$target"
	echo "== $target"
	"$build/test/fuzz/fuzz-$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
		-print_final_stats=1 "$cache/$target" "$corpus/$target"
done
