#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# systemd accepts our units and the catalog, the sandbox is tight, and the records' MESSAGE_IDs
# are those of the catalog.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() {
	echo "systemd: $*" >&2
	exit 1
}

catalog=$MEMCG_POLICY_SOURCE/systemd/memcg-policy.catalog
sed -n 's/^#define MESSAGE_[A-Z_]* "\([0-9a-f]\{32\}\)"$/\1/p' \
	"$MEMCG_POLICY_SOURCE/src/message-ids.h" | sort >"$tmp/header"
sed -n 's/^-- \([0-9a-f]\{32\}\)$/\1/p' "$catalog" | sort >"$tmp/catalog"
[ -s "$tmp/header" ] || fail "no MESSAGE_ID found"
[ "$(uniq -d <"$tmp/header")" = "" ] || fail "a MESSAGE_ID occurs twice"
cmp "$tmp/header" "$tmp/catalog" || fail "the MESSAGE_IDs of header and catalog differ"
wide=$(awk 'length($0) > 76' "$catalog")
[ ! "$wide" ] || fail "catalog: wider than 76 columns: $wide"

if ! command -v systemd-analyze >/dev/null || ! command -v journalctl >/dev/null; then
	echo "SKIP systemd: systemd-analyze or journalctl is not installed"
	exit 77
fi
mkdir -p "$tmp/root/usr/lib/systemd/catalog" "$tmp/root/var/lib/systemd/catalog"
cp "$catalog" "$tmp/root/usr/lib/systemd/catalog"
journalctl --update-catalog --root="$tmp/root"
[ "$(journalctl --list-catalog --root="$tmp/root" | wc -l)" = "$(wc -l <"$tmp/header")" ] ||
	fail "the catalog's database lacks an entry"

# with a program that is there, and manual pages looked for elsewhere
sed -e 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' -e '/^Documentation=/d' \
	"$MEMCG_POLICY_BUILD/systemd/memcg-policy-warn.service" >"$tmp/memcg-policy-warn.service"
said=$(systemd-analyze verify "$tmp/memcg-policy-warn.service" 2>&1) ||
	fail "systemd-analyze verify: $said"
[ ! "$said" ] || fail "systemd-analyze verify: $said"
# threshold in tenths
said=$(systemd-analyze security --offline=true --threshold=20 --no-pager \
	"$tmp/memcg-policy-warn.service" 2>&1) || fail "the sandbox is open: $said"
