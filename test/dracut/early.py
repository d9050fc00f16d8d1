#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dracut hook in a chroot whose /proc, /sys and /dev are plain files, and module-setup.sh with
dracut's functions replaced. test/systemd-live/dracut.py has the real ones."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "dracut/50memcg-policy"
V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n"
V1 = (
    "tmpfs /sys/fs/cgroup tmpfs ro 0 0\n"
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid 0 0\n"
    "cgroup /sys/fs/cgroup/%s cgroup rw,nosuid,%s 0 0\n"
)
ROOT_FS = "rootfs / rootfs rw 0 0\n"
# the baked file, or None when there is none
REQUIRED = "decision=on\nrequired=yes\n"
WANTED = "decision=on\nrequired=no\n"
NOT_WANTED = "decision=off\nrequired=no\n"
LEAVE = "decision=leave\nrequired=no\n"
UNKNOWN = "decision=unknown\nrequired=no\n"
LINE_OFF = "the memory controller is off%s, this host's policy wants it on: memory limits will not hold"
LINE_ON = "the memory controller is on, this host's policy wants it off"

# (name, mounts, {controllers file: text}, command line, baked, state, line or None, dies)
CASES = [
    ("on, as wanted", V2, "cpu io memory pids\n", "root=/dev/vda", REQUIRED, "on", None, False),
    ("off", V2, "cpu io pids\n", "cgroup_disable=memory", REQUIRED, "off", LINE_OFF % " (cgroup_disable=memory)", False),
    ("off by a list", V2, "cpu\n", "a cgroup-disable=io,memory b", WANTED, "off", LINE_OFF % " (cgroup-disable=io,memory)", False),
    ("off, the word is for init", V2, "cpu\n", "a -- cgroup_disable=memory", WANTED, "off", LINE_OFF % "", False),
    ("off, another list", V2, "cpu\n", "cgroup_disable=pressure cgroup_enable=memory", WANTED, "off", LINE_OFF % "", False),
    ("off, no cause on the line", V2, "cpu\n", "*", REQUIRED, "off", LINE_OFF % "", False),
    ("no controllers at all", V2, "\n", "", WANTED, "off", LINE_OFF % "", False),
    ("empty file", V2, "", "", WANTED, "off", LINE_OFF % "", False),
    ("a longer name", V2, "cpu memory2 xmemory\n", "", WANTED, "off", LINE_OFF % "", False),
    ("last word", V2, "cpu memory\n", "", WANTED, "on", None, False),
    ("on, not wanted", V2, "memory\n", "", NOT_WANTED, "on", LINE_ON, False),
    ("off, not wanted", V2, "cpu\n", "cgroup_disable=memory rd.memcg_policy=halt", NOT_WANTED, "off", None, False),
    ("leave", V2, "cpu\n", "rd.memcg_policy=halt", LEAVE, "off", None, False),
    ("decision unknown", V2, "cpu\n", "rd.memcg_policy=halt", UNKNOWN, "off", None, False),
    ("nothing baked", V2, "cpu\n", "rd.memcg_policy=halt", None, "off", None, False),
    ("halt", V2, "cpu\n", "rd.memcg_policy=halt", REQUIRED, "off", LINE_OFF % "", True),
    ("halt, only wanted", V2, "cpu\n", "rd.memcg_policy=halt", WANTED, "off", LINE_OFF % "", False),
    ("halt, all well", V2, "memory\n", "rd.memcg_policy=halt", REQUIRED, "on", None, False),
    ("not halt", V2, "cpu\n", "rd.memcg_policy=warn", REQUIRED, "off", LINE_OFF % "", False),
    ("v1, on", V1 % ("memory", "memory"), None, "", NOT_WANTED, "on", LINE_ON, False),
    ("v1, with others", V1 % ("cpu,memory", "cpu,memory"), None, "", REQUIRED, "on", None, False),
    ("v1, off", V1 % ("cpu", "cpu"), ("/sys/fs/cgroup/unified", "\n"), "", REQUIRED, "off", LINE_OFF % "", False),
    ("not the root of the tree", V2, ("/sys/fs/cgroup", "cpu\n", "cgroup.type"), "", REQUIRED, "unknown", None, False),
    ("no cgroup2 file", V2, None, "", REQUIRED, "unknown", None, False),
    ("nothing mounted, mount fails", ROOT_FS, None, "rd.memcg_policy=halt", REQUIRED, "unknown", None, False),
    ("crash kernel", V2, ("/proc", "", "vmcore"), "rd.memcg_policy=halt", REQUIRED, None, None, False),
    ("nothing mounted, off", ROOT_FS, ("/mounted", "cpu\n"), "", REQUIRED, "off", LINE_OFF % "", False),
    ("nothing mounted, on", ROOT_FS, ("/mounted", "cpu memory\n"), "", REQUIRED, "on", None, False),
]
HARNESS = """#!/bin/dash
set -u
getarg() { for w in $(cat /proc/cmdline); do case $w in "$1"*) echo "${w#*=}"; return 0;; esac; done; return 1; }
die() { echo "$*" > /died; exit 1; }
keep=kept
. /hook
[ "$keep" = kept ] || echo "variables leak" > /died
[ -z "${memcg-}${decision-}${state-}${tree-}" ] || echo "variables leak" > /died
case $- in *f*) echo "options leak" > /died ;; esac
"""
# instead of the real ones, which would act on this machine
MOUNT = """#!/bin/dash
[ "$*" = "-t cgroup2 cgroup2 /run/memcg-policy/cgroup" ] && [ -d /mounted ] || exit 32
while read -r line; do echo "$line"; done < /mounted/cgroup.controllers > "$4/cgroup.controllers"
"""
UMOUNT = """#!/bin/dash
: > /unmounted
exec rm "$1/cgroup.controllers"
"""
failed = []


def check(condition, what):
    if not condition:
        failed.append(what)
        print(f"early: {what}", file=sys.stderr)


def install(program, root):
    """A program and its libraries."""
    program = pathlib.Path(shutil.which(program)).resolve()
    files = [program]
    said = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    files += [pathlib.Path(p) for p in re.findall(r"(/\S+)", said)]
    for f in files:
        target = root / str(f).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(f, target)
    (root / "bin").mkdir(exist_ok=True)
    if not (root / "bin" / program.name).exists():
        os.symlink(program, root / "bin" / program.name)


def write(root, path, text):
    path = root / path.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run_case(base, level, case):
    name, mounts, controllers, cmdline, baked, state, line, dies = case
    root = base / "root"
    for path in ("proc", "sys", "dev", "run", "usr/lib/memcg-policy", "died", "mounted", "unmounted"):
        path = root / path
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    write(root, "proc/mounts", ROOT_FS + mounts)
    write(root, "proc/cmdline", cmdline + "\n")
    write(root, "proc/sys/kernel/printk", f"{level}\t4\t1\t7\n")
    write(root, "run/.there", "")
    kmsg, console = write(root, "dev/kmsg", ""), write(root, "dev/console", "")
    if baked is not None:
        write(root, "usr/lib/memcg-policy/initrd", baked)
    if isinstance(controllers, str):
        controllers = ("/sys/fs/cgroup", controllers)
    if controllers:
        write(root, f"{controllers[0]}/cgroup.controllers", controllers[1])
        for other in controllers[2:]:
            write(root, f"{controllers[0]}/{other}", "")
    done = subprocess.run(["chroot", root, "/bin/dash", "/harness"], capture_output=True, text=True)
    what = f"{name} (console level {level})"
    if baked is not None:
        check(done.stderr == "" and done.stdout == "", f"{what}: said {done.stdout}{done.stderr}")
    died = root / "died"
    check(died.exists() == dies, f"{what}: {died.read_text() if died.exists() else 'went on'}")
    expected = f"<4>memcg-policy: {line}" if line else ""
    check(kmsg.read_text().startswith(expected), f"{what}: kmsg {kmsg.read_text()!r}")
    check(len(kmsg.read_text().splitlines()) == bool(line), f"{what}: kmsg {kmsg.read_text()!r}")
    on_console = bool(line) and level <= 4
    check(bool(console.read_text()) == on_console, f"{what}: console {console.read_text()!r}")
    seen = root / "run/memcg-policy/initrd"
    decision = baked or UNKNOWN
    check(
        not seen.exists() if state is None else seen.exists() and seen.read_text() == f"memcg={state}\n{decision}",
        f"{what}: left {seen.read_text() if seen.exists() else 'nothing'!r}",
    )
    check(not (root / "run/memcg-policy/cgroup").exists(), f"{what}: a directory is left")
    check((root / "unmounted").exists() == (root / "mounted").exists(), f"{what}: umount")


SETUP = r"""
. "$1/module-setup.sh"
moddir=$1 initdir=$2
inst_multiple() { :; }
inst_hook() { echo "hook $1"; }
dwarn() { echo "warning"; }
[ -z "${3-}" ] || dracutsysrootdir=$3
check
echo "check $?"
install
cat "$initdir/usr/lib/memcg-policy/initrd"
"""
DECISION = '{"schema":1,"version":"0","decision":{"memcg":"%s",%s"reasons":[{"text":"\\"memcg\\":\\"on\\""}]}}'
# (what memcg-policy says, its status, check's status, decision, required)
SETUPS = [
    (DECISION % ("on", '"required":true,'), 0, 0, "on", "yes"),
    (DECISION % ("on", '"required":false,'), 0, 255, "on", "no"),
    (DECISION % ("off", '"required":false,'), 0, 255, "off", "no"),
    (DECISION % ("leave", ""), 0, 255, "leave", "no"),
    ('{"schema":1,"error":{"text":"…"}}', 1, 255, "unknown", "no"),
    (DECISION % ("on", '"required":true,'), 1, 255, "unknown", "no"),
    ("", 0, 255, "unknown", "no"),
]


def run_setup(base, said, status, checked, decision, required):
    write(base, "bin/memcg-policy", f"#!/bin/sh\necho \"$*\" >> {base}/called\necho '{said}'\nexit {status}\n")
    (base / "bin/memcg-policy").chmod(0o755)
    (base / "called").unlink(missing_ok=True)
    env = {**os.environ, "PATH": f"{base}/bin:{os.environ['PATH']}"}
    for sysroot in ("", "/some where"):
        done = subprocess.run(
            ["bash", "-c", SETUP, "setup", SOURCE, base / "initrd", sysroot],
            capture_output=True, text=True, env=env,
        )
        warning = "warning\n" if decision == "unknown" else ""
        expected = f"check {checked}\n{warning}hook cmdline\ndecision={decision}\nrequired={required}\n"
        check(done.stdout == expected, f"setup: {said!r} {status}: {done.stdout!r} {done.stderr}")
    calls = (base / "called").read_text().splitlines()
    check(calls[0] == "explain --json=short", f"setup: called with {calls[0]}")
    check(calls[-1] == "explain --json=short --root=/some where", f"setup: called with {calls[-1]}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        base = pathlib.Path(tmp)
        for setup in SETUPS:
            run_setup(base, *setup)
        if os.geteuid() != 0 or not shutil.which("dash"):
            print("SKIP early: not root, or no dash: the hook was not run")
            return 77
        root = base / "root"
        root.mkdir()
        for program in ("dash", "cat", "mkdir", "rmdir", "rm"):
            install(program, root)
        for name, text in (("mount", MOUNT), ("umount", UMOUNT)):
            write(root, f"bin/{name}", text).chmod(0o755)
        shutil.copy(SOURCE / "memcg-policy-early.sh", root / "hook")
        write(root, "harness", HARNESS)
        for case in CASES:
            for level in (3, 4, 7):
                run_case(base, level, case)
    print(f"early: {len(CASES) * 3} boots and {len(SETUPS)} builds, {len(failed)} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
