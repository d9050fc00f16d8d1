#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# dracut hook, sourced before the root is mounted: does the running kernel agree with the decision
# baked into this initrd? What is seen is left in /run/memcg-policy/initrd for the main system.
# Functions are subshells, so that nothing of dracut's own shell is touched.

# What the tree at $1 says: on, off, or unknown when it is not the whole tree's root.
memcg_policy_controllers() (
	if [ -e "$1/cgroup.type" ] || ! [ -r "$1/cgroup.controllers" ]; then
		echo unknown
		exit
	fi
	read -r controllers < "$1/cgroup.controllers" || :
	case " $controllers " in
	*' memory '*) echo on ;;
	*) echo off ;;
	esac
)

# on, off, or unknown. /proc/cgroups is not asked: it does not list memory on kernels without
# cgroup v1 memory, whether it is on or off, and reading it logs a line.
memcg_policy_state() (
	tree=
	while read -r _ where type options _; do
		case $type,$options, in
		cgroup,*,memory,*)
			echo on
			exit
			;;
		cgroup2,*) tree=${tree:-$where} ;;
		esac
	done < /proc/mounts
	# a second mount would clear the options of the first one (nsdelegate and so on), hence
	# only where there is none, as in an initrd without systemd
	if [ "$tree" ]; then
		memcg_policy_controllers "$tree"
	else
		tree=/run/memcg-policy/cgroup
		mkdir -p $tree
		if mount -t cgroup2 cgroup2 $tree 2> /dev/null; then
			memcg_policy_controllers $tree
			umount $tree
		else
			echo unknown
		fi
		rmdir $tree
	fi
)

# The word that turned it off, in parentheses, or nothing.
memcg_policy_cause() (
	read -r line < /proc/cmdline || :
	set -f
	# shellcheck disable=SC2086 # split into words
	set -- $line
	for word; do
		case $word in
		--) break ;;
		cgroup[-_]disable=*)
			case ,${word#*=}, in
			*,memory,*) printf ' (%s)' "$word" && break ;;
			esac
			;;
		esac
	done
)

# One line for the console and the journal: printk shows it unless the console is to be calmer.
memcg_policy_say() (
	printf '<4>memcg-policy: %s\n' "$1" > /dev/kmsg
	read -r level _ < /proc/sys/kernel/printk || :
	[ "${level:-0}" -gt 4 ] || printf 'memcg-policy: %s\n' "$1" > /dev/console
)

memcg_policy_compare() (
	# a crash kernel runs without memcg to save memory, whatever the policy
	[ ! -e /proc/vmcore ] || exit 0
	decision=unknown required=no
	while IFS='=' read -r key value; do
		case $key in
		decision) decision=$value ;;
		required) required=$value ;;
		esac
	done < /usr/lib/memcg-policy/initrd
	memcg=$(memcg_policy_state)
	mkdir -p /run/memcg-policy
	printf '%s\n' "memcg=$memcg" "decision=$decision" "required=$required" \
		> /run/memcg-policy/initrd
	case $memcg,$decision in
	off,on)
		memcg_policy_say "the memory controller is off$(memcg_policy_cause), this host's policy wants it on: memory limits will not hold. After the boot: memcg-policy status"
		[ "$required" = no ] || exit 1
		;;
	on,off)
		memcg_policy_say "the memory controller is on, this host's policy wants it off. After the boot: memcg-policy status"
		;;
	esac
)

if ! memcg_policy_compare && [ "$(getarg rd.memcg_policy=)" = halt ]; then
	die "memcg-policy: the memory controller is required and off, and rd.memcg_policy=halt is set"
fi
