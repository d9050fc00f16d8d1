#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dracut module in initrds made by a distribution's dracut, booted to a real Debian root.

For each suite: the initrd carries the baked decision; with memcg off the console has one line
before the root is mounted, with memcg on it has none; rd.memcg_policy=halt halts only with a
baked "required"; after "set off" and a rebuilt initrd the machine boots. The observation is in
/run/memcg-policy/initrd of the main system.
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "vm"))
import disk  # noqa: E402
import vm  # noqa: E402

PACKAGES = [*disk.PACKAGES, "dracut-core"]
LINE = re.compile(r"memcg-policy: the memory controller is .*")
ROOT_MOUNTED = re.compile(r"EXT4-fs \(vda2\): mounted filesystem")
DRIVERS = "virtio_pci virtio_blk ext4"

ON = '{"schema":1,"decision":{"memcg":"on","required":true,"reasons":[]}}'
WANTED = '{"schema":1,"decision":{"memcg":"on","required":false,"reasons":[]}}'
OFF = '{"schema":1,"decision":{"memcg":"off","required":false,"reasons":[]}}'


class Initrds:
    """Builds initrds in a root that has the suite's own dracut and kernel."""

    def __init__(self, suite, root):
        self.suite, self.root = suite, root
        disk.unpack(disk.bootstrap(suite, PACKAGES), root)
        modules = root / "usr/lib/dracut/modules.d/50memcg-policy"
        shutil.copytree(SOURCE / "dracut/50memcg-policy", modules)
        self.release = sorted(p.name for p in (root / "usr/lib/modules").iterdir())[-1]
        self.kernel = root / "boot" / f"vmlinuz-{self.release}"
        # what dracut looks at while it builds
        for name in ("null", "random", "urandom"):
            (root / "dev" / name).unlink(missing_ok=True)
        disk.run(["mknod", root / "dev/null", "c", "1", "3"])
        disk.run(["mknod", root / "dev/random", "c", "1", "8"])
        disk.run(["mknod", root / "dev/urandom", "c", "1", "9"])

    def decide(self, answer):
        """What memcg-policy explain says while the initrd is built."""
        path = self.root / "usr/bin/memcg-policy"
        path.write_text(f"#!/bin/sh\necho '{answer}'\n" if answer else "#!/bin/sh\nexit 1\n")
        path.chmod(0o755)

    def build(self, name, *options):
        path = f"/boot/{name}.img"
        said = disk.run(
            ["chroot", self.root, "dracut", "--force", "--no-hostonly", "--no-hostonly-cmdline"]
            + ["--kver", self.release, "--drivers", DRIVERS, "--gzip", *options, path],
        )
        return self.root / path.lstrip("/"), said

    def members(self, image):
        return disk.run(["chroot", self.root, "lsinitrd", f"/boot/{image.name}"])

    def member(self, image, path):
        return disk.run(["chroot", self.root, "lsinitrd", "-f", path, f"/boot/{image.name}"])


SMALL = ["--omit", "crypt dm dmraid lvm mdraid multipath network nfs iscsi plymouth resume i18n"]


def check_build(initrds):
    def carries(image):
        return "50-memcg-policy-early.sh" in initrds.members(image)

    def expect(condition, what):
        if not condition:
            raise vm.Failed(what)

    initrds.decide(ON)
    image, _ = initrds.build("required", *SMALL)
    expect(carries(image), "required: the initrd does not carry the module")
    baked = initrds.member(image, "usr/lib/memcg-policy/initrd")
    expect(baked == "decision=on\nrequired=yes\n", f"baked: {baked!r}")
    initrds.decide(WANTED)
    image, _ = initrds.build("unasked", *SMALL)
    expect(not carries(image), "not required and not asked for: the initrd carries the module")
    image, _ = initrds.build("wanted", *SMALL, "--add", "memcg-policy")
    baked = initrds.member(image, "usr/lib/memcg-policy/initrd")
    expect(baked == "decision=on\nrequired=no\n", f"baked: {baked!r}")
    initrds.decide(None)
    image, said = initrds.build("unknown", *SMALL, "--add", "memcg-policy")
    expect("the decision cannot be had" in said, f"no warning for an unknown decision: {said}")
    baked = initrds.member(image, "usr/lib/memcg-policy/initrd")
    expect(baked == "decision=unknown\nrequired=no\n", f"baked: {baked!r}")
    initrds.decide(OFF)
    initrds.build("off", *SMALL, "--add", "memcg-policy")


def boot(initrds, name, words, halts=False, lines=1, state=None, tries=3):
    """Boots the suite's disk with that initrd and checks the console and what is left in /run."""
    machine_name = f"{initrds.suite}-dracut"
    system = disk.Disk(initrds.suite)
    with tempfile.TemporaryDirectory(prefix="vm-dracut-") as tmp:
        drive = system.overlay(pathlib.Path(tmp, "disk.qcow2"))
        append = f"root=/dev/vda2 ro console=ttyS0 rd.shell=0 {words}"
        image = initrds.root / "boot" / f"{name}.img"
        with vm.Machine(machine_name, [drive], initrds.kernel, image, append, tries=tries) as machine:
            if halts:
                expect_halt(machine)
                return
            machine.start()
            console = machine.console()
            found = LINE.findall(console)
            if len(found) != lines:
                raise vm.Failed(f"{len(found)} lines on the console, expected {lines}: {found}")
            mounted = ROOT_MOUNTED.search(console)
            if lines and mounted and mounted.start() < console.index(found[0]):
                raise vm.Failed("the line came after the root was mounted")
            left = machine.run("cat /run/memcg-policy/initrd").output
            if left != state:
                raise vm.Failed(f"/run/memcg-policy/initrd: {left!r}, expected {state!r}")
            mounts = machine.run("cat /proc/mounts").output
            if "memcg-policy" in mounts:
                raise vm.Failed(f"a mount is left: {mounts}")
            options = re.search(r"^\S+ /sys/fs/cgroup cgroup2 (\S+)", mounts, re.M)
            if not options or "nsdelegate" not in options[1]:
                raise vm.Failed(f"the options of /sys/fs/cgroup are lost: {mounts}")
            for line in found:
                print(f"    {line.strip()}")


def expect_halt(machine, timeout=400):
    """The reason on the console, and no root afterwards. The agent never comes up."""
    machine._spawn()
    deadline = time.monotonic() + timeout
    while "rd.memcg_policy=halt is set" not in machine.console():
        if time.monotonic() > deadline:
            raise vm.Failed(f"no reason on the console:\n{machine.console()[-2000:]}")
        time.sleep(1)
    time.sleep(20)
    if ROOT_MOUNTED.search(machine.console()):
        raise vm.Failed("the root was mounted all the same")


OFF_WORD = "cgroup_disable=memory"
HALT = "rd.memcg_policy=halt"


def state(memcg, decision, required):
    return f"memcg={memcg}\ndecision={decision}\nrequired={required}\n"


STEPS = [
    ("dracut: what is baked", lambda i: check_build(i)),
    (
        "memcg off, required: one line",
        lambda i: boot(i, "required", OFF_WORD, state=state("off", "on", "yes")),
    ),
    (
        "memcg on: no line, halt has no effect",
        lambda i: boot(i, "required", HALT, lines=0, state=state("on", "on", "yes")),
    ),
    (
        "memcg off, required, halt: stops",
        lambda i: boot(i, "required", f"{OFF_WORD} {HALT}", halts=True, tries=1),
    ),
    (
        "memcg off, only wanted, halt: boots",
        lambda i: boot(i, "wanted", f"{OFF_WORD} {HALT} quiet", state=state("off", "on", "no")),
    ),
    (
        "after set off, halt left on the line: boots, no line",
        lambda i: boot(i, "off", f"{OFF_WORD} {HALT}", lines=0, state=state("off", "off", "no")),
    ),
    (
        "decision unknown: silent",
        lambda i: boot(i, "unknown", f"{OFF_WORD} {HALT}", lines=0, state=state("off", "unknown", "no")),
    ),
]


def main():
    report = vm.Report()
    for suite in sys.argv[1:] or ["bookworm"]:
        with tempfile.TemporaryDirectory(prefix="dracut-", dir=vm.cache_dir()) as tmp:
            root = pathlib.Path(tmp, "root")
            root.mkdir()
            try:
                initrds = Initrds(suite, root)
            except vm.Skipped as e:
                print(f"SKIP dracut {suite}: {e}")
                continue
            report.run(f"{suite}-dracut", STEPS, initrds)
    return report.close()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
