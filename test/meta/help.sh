#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# --help: standard output only, 80 columns, -h is the same; wrong use: one line and a hint on
# standard error, nothing on standard output, exit status 2.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() {
	echo "help: $*" >&2
	exit 1
}

verbs=$("$MEMCG_POLICY" --dump-table | sed -n '/^ *"options"/q; s/^ *"name": *"\([a-z]*\)",$/\1/p')
for verb in "" $verbs; do
	# shellcheck disable=SC2086 # no verb at all is a case too
	"$MEMCG_POLICY" $verb --help >"$tmp/out" 2>"$tmp/err" || fail "$verb --help: status $?"
	[ -s "$tmp/out" ] || fail "$verb --help printed nothing"
	[ ! -s "$tmp/err" ] || fail "$verb --help wrote to standard error"
	wide=$(awk 'length($0) > 80' "$tmp/out")
	[ ! "$wide" ] || fail "wider than 80 columns: $wide"
	# shellcheck disable=SC2086
	"$MEMCG_POLICY" $verb -h | cmp -s - "$tmp/out" || fail "$verb -h differs from --help"
done

wrong() {
	status=0
	"$MEMCG_POLICY" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	[ "$status" = 2 ] || fail "$*: exit status $status, not 2"
	[ ! -s "$tmp/out" ] || fail "$*: wrote to standard output"
	[ "$(wc -l <"$tmp/err")" -le 2 ] || fail "$*: more than two lines"
	grep -q 'hint:' "$tmp/err" || fail "$*: no hint"
}
wrong --no-such-option
wrong statsu
wrong sta
wrong set
wrong set on off
wrong status --dry-run
wrong status --root
wrong status --root=/ --snapshot=/
wrong --color=blue
wrong status --quiet=yes
"$MEMCG_POLICY" statsu 2>&1 | grep -q 'did you mean memcg-policy status?' || fail "no suggestion"
"$MEMCG_POLICY" --version | head -1 | grep -q '^memcg-policy [0-9]' || fail "--version"
"$MEMCG_POLICY" --version | sed -n 2p | grep -q '[+-]LIBMOUNT' || fail "--version features"
if [ -w /dev/full ]; then
	if "$MEMCG_POLICY" --help >/dev/full 2>/dev/null; then
		fail "a full disk was not noticed"
	fi
fi
