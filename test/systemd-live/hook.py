#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What packages call, "memcg-policy apply --hook" and "memcg-policy warn", on a real systemd in every
state a host may be in while packages are installed: bounded time, the documented exit status, and
nobody's package fails.

usage: hook.py [BUILD-DIR]      as root; BUILD-DIR: without sanitizers
"""

import os
import pathlib
import shutil
import sys
import tempfile

import space
import uml
import vm
from uml import link, write

SUITE = "bookworm"
# name, what is done before, status of apply --hook, of warn, milliseconds allowed for both together
CASES = [
    ("well", ":", 0, 0, 1000),
    ("no policy at all", "mount -t tmpfs tmpfs /etc/memcg-policy && mount -t tmpfs tmpfs /usr/lib/memcg-policy", 0, 0, 1000),
    ("a policy with an error", "printf \"[Policy]\\nMemcg=maybe\\n\" >/etc/memcg-policy/policy.conf", 0, 0, 1000),
    ("root file system read-only", "mount -o remount,bind,ro /", 0, 0, 1000),
    ("no space in /run", "mount -t tmpfs -o size=4k tmpfs /run/memcg-policy && ! head -c 8k /dev/zero >/run/memcg-policy/x", 0, 0, 1000),
    ("no bus", ": >/none; mount --bind /none /run/systemd/private && mount --bind /none /run/dbus/system_bus_socket", 0, 0, 1000),
    ("both buses hang", "hang /run/systemd/private; hang /run/dbus/system_bus_socket", 0, 0, 8000),
    ("the manager's socket closes at once", "hang /run/systemd/private close", 0, 0, 1000),
    ("another init", "mount -t tmpfs tmpfs /run/systemd", 0, 0, 1000),
    ("no /proc", "umount -l /proc", 0, 0, 1000),
    ("no cgroups", "umount -l /sys/fs/cgroup", 0, 0, 1000),
    ("a chroot", "chroot=1", 0, 0, 1000),
    ("not root", "user=65534", 0, 1, 1000),
]
# a socket at $1 that takes connections and says nothing, or closes them
HANG = """
use Socket;
unlink $ARGV[0];
socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die;
bind($s, sockaddr_un($ARGV[0])) or die "$ARGV[0]: $!";
listen($s, 128);
open(my $f, ">", $ARGV[1]); close $f;
for (;;) { accept(my $c, $s); if ($ARGV[2]) { close $c } else { push @kept, $c } }
"""
ONE = r"""#!/bin/bash
# one case: its number and what is done before; in a mount namespace of its own
name=$1 n=0
mount --bind /live /live # stays writable
hang() {
	rm -f /ready
	n=$((n + 1))
	perl /live/hang.pl /hang$n /ready ${2-} &
	until [ -e /ready ]; do sleep 0.05; done
	mount --bind /hang$n $1
}
chroot= user=
eval "$2" || echo "the case cannot be made" >"/live/$name.broken"
run() {
	if [ "$chroot" ]; then
		mkdir -p /inner && mount --bind / /inner && chroot /inner "$@"
	elif [ "$user" ]; then
		setpriv --reuid $user --regid $user --clear-groups "$@"
	else
		"$@"
	fi
}
start=${EPOCHREALTIME/./}
run timeout 60 memcg-policy apply --hook >"/run/out" 2>&1
hook=$?
middle=${EPOCHREALTIME/./}
run timeout 60 memcg-policy warn --json >"/run/records" 2>"/run/err"
warn=$?
end=${EPOCHREALTIME/./}
kill $(jobs -p) 2>/dev/null
echo "$hook $warn $(((middle - start) / 1000)) $(((end - middle) / 1000))" >"/live/$name"
cat /run/out /run/err >"/live/$name.said"
cat /run/records >"/live/$name.records" 2>/dev/null
"""
ALL = """#!/bin/bash
exec >/live/log 2>&1
set -x
cp -a /etc/memcg-policy /run/policy
%s
: >/live/done
"""
EACH = """unshare --mount --propagation private bash /live/one %s '%s'
rm -rf /etc/memcg-policy/*; cp -a /run/policy/* /etc/memcg-policy/; rm -rf /run/memcg-policy/* /run/out /run/err /run/records
"""


def make_root(build, root):
    uml.disk.unpack(uml.disk.bootstrap(SUITE, uml.PACKAGES), root)
    uml.install(build, root)
    units = root / "etc/systemd/system"
    wants = units / "hook.target.wants"
    write(units / "hook.target", "[Unit]\nRequires=basic.target\nAfter=basic.target\n")
    write(units / "max.service", f"{uml.SLEEP}MemoryMax=64M\n")
    write(units / "measure.service", "[Unit]\nAfter=hook.target max.service dbus.service\n"
          "[Service]\nType=oneshot\nExecStart=/live/all\n")
    for name in ("max.service", "measure.service"):
        link(wants / name, f"../{name}")
    link(wants / "dbus.service", "/lib/systemd/system/dbus.service")
    for name in ("systemd-udevd.service", "systemd-oomd.service", "systemd-logind.service"):
        link(units / name, "/dev/null")
    write(root / "etc/memcg-policy/policy.conf", "[Policy]\nMemcg=leave\n")
    write(root / "etc/fstab", "")
    (root / "run").mkdir(exist_ok=True)
    write(root / "live/hang.pl", HANG)
    write(root / "live/one", ONE)
    steps = "".join(EACH % (i, case[1]) for i, case in enumerate(CASES))
    write(root / "live/all", ALL % f"mkdir -p /run/memcg-policy\n{steps}").chmod(0o755)


def judge(root):
    wrong = 0
    print(f"{'':38}{'apply --hook':>14}{'warn':>10}")
    for i, (name, _, hook, warn, allowed) in enumerate(CASES):
        path = root / "live" / str(i)
        if not path.exists() or path.with_suffix(".broken").exists():
            print(f"{name}: did not run: {(root / 'live/log').read_text(errors='replace')[-800:]}")
            wrong += 1
            continue
        said = path.with_suffix(".said").read_text(errors="replace").strip()
        got = [int(x) for x in path.read_text().split()]
        print(f"{name:38}{got[2]:>11} ms{got[3]:>7} ms")
        if said:
            print(f"    {said[:400]}")
        if got[:2] != [hook, warn]:
            wrong += 1
            print(f"    WRONG: exit status {got[0]} and {got[1]}, expected {hook} and {warn}")
        if got[2] + got[3] > allowed * 4:  # a loaded machine is no reason to fail
            wrong += 1
            print(f"    WRONG: more than {allowed * 4} ms")
        records = path.with_suffix(".records").read_text(errors="replace")
        # in this container only the manager and its cgroups know; elsewhere there is nobody to tell
        expected = name in ("well", "no policy at all", "a policy with an error", "root file system read-only",
                            "no space in /run")
        # these two may be told by the bus, or by the kernel's own file
        either = name in ("the manager's socket closes at once", "no /proc")
        if not either and ("max.service: MemoryMax=64M" in records) != expected:
            wrong += 1
            print(f"    WRONG: records: {records[:300]}")
    return wrong


def main():
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        print("SKIP hook: not root, or no mmdebstrap")
        return 77
    build = pathlib.Path((sys.argv[1:] or [os.environ["MEMCG_POLICY_BUILD"]])[0]).resolve()
    with tempfile.TemporaryDirectory(prefix="hook-", dir=vm.cache_dir()) as tmp:
        root = pathlib.Path(tmp, "root")
        root.mkdir()
        root.chmod(0o755)
        make_root(build, root)
        space.run(root, "hook.target", 600)
        if "KEEP" in os.environ:
            shutil.copytree(root / "live", os.environ["KEEP"], dirs_exist_ok=True)
        wrong = judge(root)
    print(f"hook: {len(CASES)} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
