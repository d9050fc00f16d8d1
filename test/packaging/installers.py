#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The recipes of docs/INSTALLERS.md against targets as installers leave them: from outside and from
inside a chroot, with and without /proc, with GRUB and without any boot loader.

  installers.py [PACKAGE.deb]     built from the tree when not given
"""

import os
import pathlib
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "test/vm"))

import deb  # noqa: E402
import disk  # noqa: E402
import vm  # noqa: E402

WORD = "cgroup_disable=memory"
POLICY = "etc/memcg-policy/policy.conf.d/50-set.conf"
expect = deb.expect


class Target:
    """An installer's target; packages that are in it are installed before the boot loader's menu is made."""

    def __init__(self, work, package):
        self.root = pathlib.Path(work) / "target"
        self.package = package

    def unpack(self, packages, hooks=()):
        disk.run(["rm", "-rf", self.root])
        self.root.mkdir()
        disk.unpack(disk.bootstrap("bookworm", packages, *hooks), self.root)
        (self.root / "tmp/package.deb").write_bytes(self.package.read_bytes())
        self.inside("dpkg -i /tmp/package.deb", proc=False)

    def inside(self, script, proc, status=0):
        """In a chroot, as in-target, chroot-setup or %post do; with /proc or without."""
        command = ["chroot", str(self.root), "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-c", script]
        if proc:
            mount = f'mount --bind /proc "{self.root}/proc" && mount --bind /dev "{self.root}/dev" && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", mount, "sh", *command]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        expect(done.returncode == status, f"exit status {done.returncode}, expected {status}: {script}\n{done.stdout}")
        return done.stdout

    def words(self):
        """What GRUB's generator would get from the defaults, as /bin/sh of the target reads them."""
        script = 'GRUB_CMDLINE_LINUX=; for f in /etc/default/grub /etc/default/grub.d/*.cfg; do . "$f"; done; echo "$GRUB_CMDLINE_LINUX"'
        return self.inside(f"set -e; {script}", proc=False).split()

    def expect_off(self):
        expect(self.words() == [WORD], f"the target's arguments: {self.words()}")
        expect("desktop" in (self.root / POLICY).read_text(), "the role is not in the target's policy")

    def take_back(self, proc):
        self.inside("memcg-policy unset --root=/", proc)
        expect(not self.words() and not (self.root / POLICY).exists(), "unset left something in the target")

    # --- steps ---

    def with_grub(self):
        self.unpack(
            disk.PACKAGES, (f"--essential-hook={disk.INITRAMFS}", f"--customize-hook={disk.SECOND_KERNEL}")
        )

    def from_outside(self):
        """mmdebstrap's --customize-hook, mkosi.postinst: the builder's program, the target as root."""
        program = self.root / "usr/bin/memcg-policy"
        disk.run([program, f"--root={self.root}", "set", "desktop"])
        self.expect_off()
        again = disk.run([program, f"--root={self.root}", "--json=short", "set", "desktop"])
        expect('"result":"unchanged"' in again, f"a second time: {again}")
        self.take_back(proc=False)

    def in_target(self):
        """debian-installer's in-target, Subiquity's curtin in-target, Calamares: /proc and /dev are there."""
        self.inside("memcg-policy set --root=/ desktop", proc=True)
        self.expect_off()
        own = set(pathlib.Path("/proc/cmdline").read_text().split())
        written = (self.root / deb.DROPIN).read_text() + (self.root / POLICY).read_text()
        leaked = [w for w in own if len(w) > 8 and w in written]
        expect(not leaked, f"words of the installer's own kernel in the target: {leaked}")
        self.take_back(proc=True)

    def without_proc(self):
        """mmdebstrap and image builders that mount nothing."""
        self.inside("memcg-policy set --root=/ desktop", proc=False)
        self.expect_off()
        self.take_back(proc=False)

    def without_loader(self):
        """The target has no boot loader yet: the policy is stored, and that is success."""
        self.unpack(deb.CLEAN)
        self.inside("memcg-policy set --root=/ desktop", proc=False)
        expect((self.root / POLICY).exists(), "the policy is not stored")
        expect(not (self.root / deb.DROPIN).exists(), "a GRUB drop-in without GRUB")
        self.inside("memcg-policy apply --hook", proc=False)


STEPS = [
    ("a target with GRUB", Target.with_grub),
    ("from outside", Target.from_outside),
    ("in the target, with /proc", Target.in_target),
    ("in the target, without /proc", Target.without_proc),
    ("no boot loader yet", Target.without_loader),
]


def main(arguments):
    if os.geteuid() != 0:
        print("SKIP installers: not root")
        return 77
    report = vm.Report()
    with tempfile.TemporaryDirectory(prefix="target-", dir=vm.cache_dir()) as work:
        if arguments:
            package = pathlib.Path(arguments[0])
        else:
            built = deb.Packages("bookworm", work)
            env = dict(os.environ, DEB_BUILD_OPTIONS="nocheck")
            disk.run([TREE / "packaging/deb/build.sh", built.out], env=env)
            package = built.deb()
        report.run("bookworm", STEPS, Target(work, package))
    return report.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
