#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kills memcg-policy wherever it can be killed, and looks at what is left.

kill.py BUILD [calls] [writes] [--every=N]

  calls    every system call of memcg-policy, with a stub in place of grub-mkconfig
  writes   every open for writing, rename, unlink, truncate and fsync of memcg-policy and of
           Debian's grub-mkconfig; what is left is read on the raw disk, as GRUB does it

After each kill every file must hold its old or its new bytes and the menu be whole; the next run
must finish or take back the change, and leave nothing behind.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "grub"))

import machine  # noqa: E402
from machine import vm  # noqa: E402

STATE = "var/lib/memcg-policy"
TEMPORARY = ".memcg-policy."
DROPIN = "etc/default/grub.d/zz-memcg-policy.cfg"
POLICY = "etc/memcg-policy/policy.conf.d/50-set.conf"
MENU = "boot/grub/grub.cfg"

STUB = """#!/bin/sh
# reads default/grub.d
set -e
[ "$1" = -o ]
. /etc/default/grub
for x in /etc/default/grub.d/*.cfg; do
	if [ -e "$x" ]; then . "$x"; fi
done
exec >"$2.new"
echo "### BEGIN /etc/grub.d/10_linux ###"
for k in 6.1.0-20-amd64 6.1.0-18-amd64; do
	echo "menuentry 'Linux $k' --id '$k' {"
	echo "	linux /boot/vmlinuz-$k root=/dev/sda1 ro $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT"
	echo "}"
done
echo "### END /etc/grub.d/10_linux ###"
cat "$2.new" >"$2"
rm "$2.new"
"""


class Killer:
    def __init__(self, build, scratch):
        self.program = pathlib.Path(scratch, "killer")
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", self.program, HERE / "killer.c"], check=True)
        self.memcg_policy = pathlib.Path(build, "memcg-policy").resolve()
        self.out = pathlib.Path(scratch, "out")
        self.log = pathlib.Path(scratch, "log")

    def run(self, n, mode, *arguments):
        """Kills at stop n. True when it was killed, else its exit status and number of stops."""
        with open(self.log, "wb") as log:
            subprocess.run([self.program, self.out, str(n), mode, self.memcg_policy, *arguments],
                           stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=True)
        words = self.out.read_text().split()
        return True if words == ["killed"] else (int(words[1]), int(words[2]))


def fail(text):
    raise vm.Failed(text)


def read_tree(root):
    """Every file below /etc and /boot with its bytes; directories too."""
    tree = {}
    for top in ("etc", "boot"):
        for directory, _, files in os.walk(os.path.join(root, top)):
            tree[os.path.relpath(directory, root)] = None
            for name in files:
                path = os.path.join(directory, name)
                if not os.path.islink(path):
                    tree[os.path.relpath(path, root)] = pathlib.Path(path).read_bytes()
    return tree


def check_tree(tree, old, new):
    """Each file is as before or as after; only our temporaries may be there besides."""
    for path, data in tree.items():
        if TEMPORARY in path or data is None:
            continue
        if data not in (old.get(path), new.get(path)) or (path not in old and path not in new):
            fail(f"{path} is neither old nor new")
    for path, data in old.items():
        if path not in tree and path in new:
            fail(f"{path} is missing")


def leftovers(root):
    left = [str(p) for top in ("etc", "boot", STATE)
            for p in pathlib.Path(root, top).rglob(TEMPORARY + "*")]
    if pathlib.Path(root, STATE, "pending.json").exists():
        left.append("pending.json")
    return left


def tool(killer, root, *arguments, status=0):
    refresh = [] if arguments[0] == "history" else ["--refresh"]
    done = subprocess.run([killer.memcg_policy, f"--root={root}", *refresh, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != status:
        fail(f"memcg-policy {' '.join(arguments)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def make_stub_root(root):
    """A root in which busybox is the shell and a script makes the menu."""
    root = pathlib.Path(root)
    for d in ("bin", "dev", "proc", "sys", "usr/sbin", "boot/grub", "etc/default/grub.d", "var/lib"):
        (root / d).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for name in ("sh", "cat", "rm"):
        (root / "bin" / name).symlink_to("busybox")
    stub = root / "usr/sbin/grub-mkconfig"
    stub.write_text(STUB)
    stub.chmod(0o755)
    for release in machine.KERNELS:
        (root / f"boot/vmlinuz-{release}").write_text("a kernel\n")
        (root / f"boot/config-{release}").write_text(machine.KERNEL_CONFIG)
    (root / "etc/default/grub").write_text(machine.DEFAULTS)
    subprocess.run(["chroot", root, "/usr/sbin/grub-mkconfig", "-o", "/boot/grub/grub.cfg"], check=True)


def signature(root):
    """What the next run will find, without what differs by chance: names of temporaries, times."""
    found = []
    for top in ("etc", "boot", STATE):
        for path in sorted(pathlib.Path(root, top).rglob("*")):
            name = re.sub(r"(\.memcg-policy\.)\w+", r"\1X", os.path.relpath(path, root))
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found.append((name, re.sub(rb'"time":\d+', b"", data)))
    return found


class Hunt:
    """One verb, killed at each of its stops. look() is called after each kill and each recovery."""

    def __init__(self, killer, mode, root, reset, look, every):
        self.killer, self.mode, self.root = killer, mode, root
        self.reset, self.look, self.every = reset, look, every

    def start(self, before):
        self.reset()
        for step in before:
            tool(self.killer, self.root, *step)

    def examine(self, verb, after, old, new):
        """The system was killed: what is there, and where does the next run end?"""
        check_tree(read_tree(self.root), old, new)
        self.look()
        tool(self.killer, self.root, "history")
        tool(self.killer, self.root, *after)
        now = read_tree(self.root)
        if now != new:
            fail("the next run does not end where an unharmed one does: "
                 + ", ".join(sorted(p for p in now.keys() | new.keys()
                                    if now.get(p, 0) != new.get(p, 0))))
        if leftovers(self.root):
            fail(f"left behind: {leftovers(self.root)}")
        self.look()

    def run(self, before, verb, after):
        self.start(before)
        old = read_tree(self.root)
        start = signature(self.root)
        tool(self.killer, self.root, *verb)
        new = read_tree(self.root)
        seen, n, fresh = [], 0, False
        while True:
            n += self.every
            if not fresh:
                self.start(before)
            result = self.killer.run(n, self.mode, f"--root={self.root}", "--refresh", *verb)
            if result is not True:
                if result[0] != 0:
                    fail(f"{verb}, not killed: exit status {result[0]}\n{self.killer.log.read_text()}")
                print(f"  {' '.join(verb)}: killed at {(n - 1) // self.every} of {result[1]} stops, "
                      f"{len(seen)} different states", flush=True)
                return
            now = signature(self.root)
            fresh = now == start
            # calls that only read leave the state of the call before, whose future is known
            if now in seen:
                continue
            seen.append(now)
            try:
                self.examine(verb, after, old, new)
            except vm.Failed as e:
                fail(f"{' '.join(verb)} killed at stop {n}: {e}\n--- it had printed\n{self.killer.log.read_text()}")
            fresh = False


VERBS = [
    ([], ["set", "off"], ["set", "off"]),
    ([["set", "off"]], ["set", "on"], ["set", "on"]),
    ([["set", "off"]], ["unset"], ["unset"]),
]


def calls(build, every):
    # a process that is killed loses nothing of a tmpfs either, and it is ten times as fast
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="kill-", dir=shm) as scratch:
        killer = Killer(build, scratch)
        pristine, root = os.path.join(scratch, "pristine"), os.path.join(scratch, "root")
        make_stub_root(pristine)

        def reset():
            shutil.rmtree(root, ignore_errors=True)
            subprocess.run(["cp", "-a", pristine, root], check=True)

        def look():
            menu = pathlib.Path(root, MENU).read_text()
            if any(f"vmlinuz-{k}" not in menu for k in machine.KERNELS):
                fail("the menu does not list every kernel")

        for verb in VERBS:
            Hunt(killer, "calls", root, reset, look, every).run(*verb)


def writes(build, every):
    """Runs itself in the machine's namespace, beside the mounted disk."""
    with machine.Machine() as m:
        command = m.command(f"exec {sys.executable} {HERE / 'kill.py'} {build} inside={m.image} --every={every}",
                            outside=True)
        if subprocess.run(command, check=False).returncode:
            fail("see above")


def writes_inside(build, image, every):
    with tempfile.TemporaryDirectory(prefix="kill-") as scratch:
        killer = Killer(build, scratch)
        copy = os.path.join(scratch, "menu")

        def reset():
            tool(killer, "/mnt", "unset")

        def look():
            # what a power cut now would leave to GRUB
            menu = subprocess.run(["grub-fstest", image, "cat", f"(loop0)/{MENU}"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if menu.returncode:
                fail(f"GRUB cannot read its menu on the raw disk: {menu.stderr.decode()}")
            pathlib.Path(copy).write_bytes(menu.stdout)
            checked = subprocess.run(["grub-script-check", copy], stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
            if checked.returncode:
                fail(f"the menu on the raw disk is broken: {checked.stdout}")
            for release in machine.KERNELS:
                if menu.stdout.count(f"/boot/vmlinuz-{release} ".encode()) < 2:
                    fail(f"the menu on the raw disk does not list {release}")

        for verb in VERBS:
            Hunt(killer, "writes", "/mnt", reset, look, every).run(*verb)


def main():
    build, *words = sys.argv[1:]
    every, steps = 1, []
    for word in words:
        if word.startswith("--every="):
            every = int(word[8:])
        elif word.startswith("inside="):
            try:
                writes_inside(build, word[7:], every)
            except vm.Failed as e:
                print(f"FAIL {e}", flush=True)
                return 1
            return 0
        else:
            steps.append(word)
    build = os.path.abspath(build)
    os.environ["MEMCG_POLICY"] = os.path.join(build, "memcg-policy")
    machine.PROGRAM = pathlib.Path(build, "memcg-policy")
    try:
        machine.need_root()
        if not os.path.exists("/bin/busybox"):
            raise vm.Skipped("busybox-static is not installed")
    except vm.Skipped as e:
        print(f"SKIP kill: {e}")
        return 77
    failed = False
    for name, step in (("calls", calls), ("writes", writes)):
        if steps and name not in steps:
            continue
        start = time.monotonic()
        try:
            step(build, every)
            print(f"ok   {name} ({time.monotonic() - start:.0f} s)", flush=True)
        except vm.Failed as e:
            failed = True
            print(f"FAIL {name}: {e}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
