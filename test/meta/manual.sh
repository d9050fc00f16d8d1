#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The tables of src/ui/cli.c, the exit statuses and the manual say the same.
set -eu
page=$MEMCG_POLICY_SOURCE/man/memcg-policy.8.scd
failed=

names() {
	"$MEMCG_POLICY" --dump-table | python3 -c '
import json, sys
for row in json.load(sys.stdin)[sys.argv[1]]:
    print(row["name"], ",".join(row.get("verbs", [])))' "$1"
}

names verbs | while read -r verb _; do
	grep -q "^\*$verb\*" "$page" || echo "man: no entry for the command $verb"
done >"${TMPDIR:-/tmp}/manual.$$"
names options | while read -r option verbs; do
	# options of bench alone are in its own page
	case $verbs in
	bench) other=$MEMCG_POLICY_SOURCE/man/memcg-policy-bench.8.scd ;;
	*) other=$page ;;
	esac
	[ -f "$other" ] || continue
	grep -q -e "\*--$option\*" -e "\*--$option=" -e "\*--$option\[" "$other" ||
		echo "man: no entry for --$option in ${other##*/}"
done >>"${TMPDIR:-/tmp}/manual.$$"
sed -n 's/^\tEXIT_[A-Z_]* = \([0-9]*\),.*/\1/p' "$MEMCG_POLICY_SOURCE/src/exit-codes.h" |
	while read -r code; do
		grep -q "^|[ :] *$code$" "$page" || echo "man: exit status $code is missing"
	done >>"${TMPDIR:-/tmp}/manual.$$"
if [ -s "${TMPDIR:-/tmp}/manual.$$" ]; then
	cat "${TMPDIR:-/tmp}/manual.$$"
	failed=1
fi
rm -f "${TMPDIR:-/tmp}/manual.$$"

if command -v scdoc >/dev/null && command -v man >/dev/null; then
	for f in "$MEMCG_POLICY_SOURCE"/man/*.scd; do
		scdoc <"$f" >"${TMPDIR:-/tmp}/manual.$$" || failed=1
		warnings=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "${TMPDIR:-/tmp}/manual.$$" 2>&1 >/dev/null)
		if [ "$warnings" ]; then
			echo "$f: $warnings"
			failed=1
		fi
		rm -f "${TMPDIR:-/tmp}/manual.$$"
	done
else
	echo "SKIP manual rendering: scdoc or man is not installed"
fi
[ ! "$failed" ]
