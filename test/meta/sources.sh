#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# House rules that a script can see: includes, format, shell, SPDX lines, length of sources.
set -eu
cd "$MEMCG_POLICY_SOURCE"
failed=

python3 tools/check-includes.py . || failed=1

# from a tarball there is no git: look at everything below the tree's own folders then
list() {
	if [ -d .git ] || [ -f .git ]; then
		git ls-files -co --exclude-standard "$@"
	else
		for pattern; do
			find . -path './build*' -prune -o -path "./$pattern" -print
		done | sed 's|^\./||'
	fi
}

if command -v clang-format >/dev/null; then
	list '*.c' '*.h' | xargs clang-format --dry-run -Werror || failed=1
else
	echo "SKIP sources format: clang-format is not installed"
fi

shells=$(list '*.sh' dev '.ci/run' 'systemd/*.install' 'packaging/deb/*.p*inst' 'packaging/deb/*.p*rm' \
	'packaging/deb/tests/[!c]*' | while read -r f; do
	[ ! -f "$f" ] || echo "$f"
done)
if command -v shellcheck >/dev/null; then
	# shellcheck disable=SC2086 # a list of files without blanks
	shellcheck $shells || failed=1
else
	echo "SKIP sources shellcheck: shellcheck is not installed"
fi

for f in $(list '*.c' '*.h' '*.sh' '*.py' 'meson.build' '*.conf' '*.scd'); do
	case $f in
	test/roots/* | test/fuzz/corpus/* | */fixtures/*) continue ;;
	esac
	head -3 "$f" | grep -q 'SPDX-License-Identifier: \(LGPL-2.1-or-later\|MIT-0\)' || {
		echo "$f: no SPDX line"
		failed=1
	}
done
[ ! "$failed" ]
