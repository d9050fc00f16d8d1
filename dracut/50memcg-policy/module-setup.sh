#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# dracut module: bakes this host's decision about memcg into the initrd, where the hook compares
# it with the kernel that runs. It only looks; it never sets kernel_cmdline, which is for the
# initrd alone and replaces the whole command line of a unified kernel image.
# shellcheck disable=SC2154 # dracut sets moddir and initdir

# Sets memcg (on, off, leave, unknown) and required (yes, no) for the system the initrd is for.
memcg_policy_decision() {
	local json pattern

	memcg=unknown
	required=no
	json=$(memcg-policy explain --json=short ${dracutsysrootdir:+--root="$dracutsysrootdir"} \
		2> /dev/null) || return
	pattern='"decision":\{"memcg":"(on|off|leave)"(,"required":(true|false))?[,}]'
	[[ $json =~ $pattern ]] || return
	memcg=${BASH_REMATCH[1]}
	[[ ${BASH_REMATCH[3]} != true ]] || required=yes
}

# called by dracut: 255 is "only if asked for"
check() {
	local memcg required

	memcg_policy_decision
	[[ $memcg$required == onyes ]] || return 255
}

# called by dracut
depends() {
	echo base
}

# called by dracut
install() {
	local memcg required

	memcg_policy_decision
	[[ $memcg != unknown ]] ||
		dwarn "memcg-policy: the decision cannot be had (memcg-policy explain says why):" \
			"the early check will be silent"
	inst_multiple mkdir rmdir mount umount
	inst_hook cmdline 50 "$moddir/memcg-policy-early.sh"
	mkdir -p "$initdir/usr/lib/memcg-policy"
	printf 'decision=%s\nrequired=%s\n' "$memcg" "$required" \
		> "$initdir/usr/lib/memcg-policy/initrd"
}
