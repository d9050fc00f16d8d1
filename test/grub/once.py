#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`trial` on booted disks: GRUB boots with the other setting once, and then as before.

once.py [DISK...]   DISK as for test/vm/cuts.py: ext4 (the default), xfs, /boot=vfat, btrfs, ...

A Debian 12 on a disk with its own GRUB boots in an emulated machine, with our agent instead of
systemd. The trial's boot is ended by pulling the plug: whatever happens during it, the boot behind
it is as before. On Btrfs GRUB cannot forget the choice, so that the program must refuse.
"""

import json
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "vm"))

import disk  # noqa: E402
import initramfs  # noqa: E402
import machine  # noqa: E402
import rawdisk  # noqa: E402
import vm  # noqa: E402

OFF = "cgroup_disable=memory"
ENV = b"# GRUB Environment Block\n"
# there is neither systemd nor busybox
REBOOT = ("sync; ! mountpoint -q /boot || umount /boot || exit; mount -o remount,ro / && "
          "echo b >/proc/sysrq-trigger")
# libraries of its own: the disk's system is older than what this may be built on
WRAPPER = '#!/bin/sh\nexec /opt/memcg/{0} --library-path /opt/memcg /opt/memcg/program "$@"\n'


def check(condition, text):
    if not condition:
        raise vm.Failed(text)


def base_disk(name):
    """The cached disk: a menu as update-grub makes it, and an empty environment block."""
    recipe = disk.key(name, rawdisk.PACKAGES, rawdisk.INITRAMFS, rawdisk.INIT, rawdisk.SIZE,
                      (rawdisk.HERE / "agent.sh").read_text(), 1)
    path = vm.cache_dir() / f"once-{recipe}.img"
    with vm.lock(path.name):
        if path.exists():
            return rawdisk.RawDisk(name, path)
        with tempfile.TemporaryDirectory(prefix="once-", dir=vm.cache_dir()) as work:
            work = pathlib.Path(work)
            root = rawdisk.tree(work / "root")
            (root / "boot/grub/grubenv").write_bytes(ENV.ljust(1024, b"#"))
            new = rawdisk.RawDisk(name, work / "new.img")
            new.make(root)
            script = work / "script"
            script.write_text("grub-mkconfig -o /boot/grub/grub.cfg\n")
            new.uml("run", script)
            new.path.rename(path)
    return rawdisk.RawDisk(name, path)


def program_drive(path):
    files = {"/opt/memcg/program": machine.PROGRAM}
    for library in initramfs.libraries(machine.PROGRAM, "libjson-c.so.5"):
        files[f"/opt/memcg/{pathlib.Path(library).name}"] = library
    linker = next(name for name in files if "/ld-linux" in name)
    with tempfile.NamedTemporaryFile("w") as wrapper:
        wrapper.write(WRAPPER.format(pathlib.Path(linker).name))
        wrapper.flush()
        pathlib.Path(wrapper.name).chmod(0o755)
        files["/usr/sbin/memcg-policy"] = wrapper.name
        return disk.input_drive(path, files)


class Booted:
    def __init__(self, image, guest):
        self.image, self.guest = image, guest

    def run(self, script, expect=0):
        return self.guest.run(f"export ASAN_OPTIONS=detect_leaks=0\n{script}", expect).output

    def status(self):
        return json.loads(self.run("memcg-policy status --json"))

    def is_on(self):
        """By the kernel itself, and by its line."""
        controllers = self.run("cat /sys/fs/cgroup/cgroup.controllers").split()
        line = self.run("cat /proc/cmdline").split()
        check(("memory" in controllers) == (OFF not in line), f"{controllers} with {line}")
        return "memory" in controllers

    def next_entry(self):
        """As GRUB reads it on the disk: no journal is replayed."""
        block = self.image.read("/boot/grub/grubenv")
        check(len(block) == 1024, f"the environment block has {len(block)} bytes")
        found = re.search(rb"^next_entry=(.*)$", block, re.M)
        return found[1].decode() if found else ""

    def reboot(self):
        self.guest.reboot(command=REBOOT)

    def pull_the_plug(self):
        self.guest.kill()
        self.guest.start()


def refused(m):
    said = m.run("memcg-policy trial off", expect=5)
    check("a choice for one boot would stay for good" in said, said)
    check(m.next_entry() == "", "refused, and chosen all the same")
    print(f"refused: {said.splitlines()[0]}")


def tried(m):
    before = m.run("find /boot/grub /etc/grub.d -type f -exec md5sum {} ';' | sort")
    said = m.run("memcg-policy trial off")
    check("the next boot has memcg off; those behind it are as before" in said, said)
    check(m.next_entry() == "memcg-policy-trial", "GRUB would not find its choice on the disk")
    now = m.status()["boot"]
    check(now["next"] == "off" and now["after"] == "on", f"armed: {now}")
    check(now["trial"] == {"memcg": "off", "armed": True, "running": False}, f"armed: {now}")
    check("nothing to do" in m.run("memcg-policy trial off"), "a trial twice does something")
    m.run("grub-script-check /boot/grub/grub.cfg")

    m.reboot()
    check(not m.is_on(), "the trial's boot has memcg on")
    check(m.next_entry() == "", "GRUB did not forget its choice")
    now = m.status()
    check(now["boot"]["trial"] == {"memcg": "off", "armed": False, "running": True}, f"{now}")
    check(now["boot"]["next"] == "on", f"during the trial: {now['boot']}")
    check(now["running"]["entry"] == "memcg-policy-trial", f"during the trial: {now['running']}")
    m.pull_the_plug()
    check(m.is_on(), "the boot behind the trial has memcg off")
    print("off once, then on after the plug was pulled")

    # again, and taken back before it boots
    m.run("memcg-policy trial off")
    check(m.next_entry() == "memcg-policy-trial", "armed again: not on the disk")
    m.run("memcg-policy undo")
    check(m.next_entry() == "", "undo leaves the choice")
    m.run("memcg-policy undo")
    # GRUB itself left an empty variable in its block
    after = m.run("find /boot/grub /etc/grub.d -type f -exec md5sum {} ';' | sort")
    differ = {line.split()[1] for line in set(before.splitlines()) ^ set(after.splitlines())}
    check(differ <= {"/boot/grub/grubenv"}, f"undo leaves {differ}")
    # the other way round, with the menu made anew meanwhile
    m.run("memcg-policy set off")
    m.run("memcg-policy trial on")
    m.run("grub-mkconfig -o /boot/grub/grub.cfg 2>&1")
    now = m.status()["boot"]
    check(now["next"] == "on" and now["after"] == "off", f"trial on: {now}")
    check("reboot-required" in m.run("memcg-policy check", expect=4), "the trial hides the decision")
    m.reboot()
    check(m.is_on(), "trial on: off")
    check("this boot is a trial with memcg on" in m.run("memcg-policy check", expect=4), "trial on")
    m.reboot()
    check(not m.is_on(), "the boot behind trial on has memcg on")
    m.run("memcg-policy check")
    m.run("memcg-policy unset")
    left = m.run("ls /etc/grub.d /etc/default/grub.d 2>&1 | grep memcg || :")
    check(left == "" and "memcg" not in m.run("cat /boot/grub/grub.cfg"), f"unset leaves {left}")
    print("on once on a system that is off, with a new menu in between")


def try_disk(name):
    vm.need("grub-fstest", "sgdisk", "qemu-system-x86_64", "mmdebstrap")
    base = base_disk(name)
    with tempfile.TemporaryDirectory(prefix="once-") as work:
        work = pathlib.Path(work)
        image = base.copy(work / "disk.img")
        drives = [f"file={image.path},format=raw,cache=writethrough", program_drive(work / "program.tar")]
        with vm.Machine(f"once-{name.strip('/').replace('=', '-')}", drives) as guest:
            m = Booted(image, guest)
            guest.start()
            m.run("tar -xf /dev/vdb -C / && memcg-policy --version")
            check(m.is_on(), "memcg is off to begin with")
            (refused if "btrfs" in name else tried)(m)


def main():
    try:
        machine.need_root()
    except vm.Skipped as reason:
        print(f"SKIP once: {reason}")
        return 77
    report = vm.Report()
    for name in sys.argv[1:] or ["ext4"]:
        report.run(name, [("trial", try_disk)], name)
    return report.close()


sys.exit(main())
