#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The guest's side of vm.py: shell scripts come in on the second serial line, each base64 in
# lines and closed by an empty one; status and output go back. Also runs under busybox.

line=/dev/ttyS1
dir=${VM_AGENT_DIR:-/run/vm-agent}

mkdir -p "$dir"
exec <>"$line" >&0
stty raw -echo clocal
echo "@ready $(cat /proc/sys/kernel/random/boot_id)"
while :; do
	script=
	while IFS= read -r part && [ -n "$part" ]; do
		script=$script$part
	done
	[ -n "$script" ] || exit 0 # the line was closed
	printf '%s' "$script" | base64 -d >"$dir/script"
	sh "$dir/script" </dev/null >"$dir/output" 2>&1
	status=$?
	base64 "$dir/output"
	echo "@answer $status"
done
