#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs a command as root in user-mode Linux, with this host's file system read-only as its own:
# a real kernel in two or three seconds, without KVM and without root.
#
#   uml.sh [-m MEM] [-t SECONDS] [-w DIR] [-k WORDS]... [--] COMMAND [ARG...]
#
#   -k WORDS  goes to the end of the kernel's command line as it is; may be given again
#   -w DIR    is writable inside too, at the same path
#   -m MEM    memory (256M); -t SECONDS  until it is given up (60)
#
# UML_KERNEL is another kernel than linux.uml, as test/uml/kernels.py makes them.
#
# Inside: /proc, /sys, /dev and a tmpfs on /run with TMPDIR=/run/tmp; no cgroup tree, mount the one
# you need. Prints what the command printed and exits as it did; 125: no such kernel, or it died.
set -eu

usage() {
	echo "usage: uml.sh [-m MEM] [-t SECONDS] [-w DIR] [-k WORDS]... [--] COMMAND [ARG...]" >&2
	exit 2
}

mem=256M
limit=60
writable=
words=
while getopts m:t:w:k: option; do
	case $option in
	m) mem=$OPTARG ;;
	t) limit=$OPTARG ;;
	w) writable=$(cd "$OPTARG" && pwd) ;;
	k) words="$words${words:+ }$OPTARG" ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage

start=${0%/*}/linux-uml.sh
command -v "${UML_KERNEL:-linux.uml}" >/dev/null || {
	echo "uml.sh: no linux.uml (Debian package user-mode-linux)" >&2
	exit 125
}
dir=$(mktemp -d "${TMPDIR:-/tmp}/uml.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 125' HUP INT TERM

quote() {
	for word; do
		printf "'%s' " "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")"
	done
}
quote "$@" >"$dir/command"
cat >"$dir/init" <<END
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
export TMPDIR=/run/tmp LC_ALL=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmpfs /run
mkdir /run/tmp /run/uml
mount -t hostfs none /run/uml -o $(quote "$dir")
END
if [ "$writable" ]; then
	printf 'mount -t hostfs none %s -o %s\n' "$(quote "$writable")" "$(quote "$writable")" \
		>>"$dir/init"
fi
cat >>"$dir/init" <<'END'
cd /
code=0
sh /run/uml/command </dev/null >/run/uml/output 2>&1 || code=$?
echo $code >/run/uml/code
sync
echo o >/proc/sysrq-trigger
sleep 5
END
chmod +x "$dir/init"

# console= is said, or the kernel would add it behind our words
TMPDIR=$dir timeout "$limit" "$start" "mem=$mem" root=/dev/root rootfstype=hostfs rootflags=/ ro \
	con=null con0=null,fd:1 console=tty0 "uml_dir=$dir" "init=$dir/init" ${words:+"$words"} \
	</dev/null >"$dir/console" 2>&1 || true
if ! [ -s "$dir/code" ]; then
	echo "uml.sh: the machine ended without an answer:" >&2
	tail -n 20 "$dir/console" >&2
	exit 125
fi
cat "$dir/output"
exit "$(cat "$dir/code")"
