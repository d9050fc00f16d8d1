#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The recipes of docs/INSTALLERS.md against targets as installers leave them: from outside and from
inside a chroot, with and without /proc, with GRUB, with boot loader entries, without any boot loader;
Debian's own are put on a disk, and the disk boots.

  installers.py [--no-boots] [PACKAGE.deb]     built from the tree when not given
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "test/vm"))

import deb  # noqa: E402
import disk  # noqa: E402
import rawdisk  # noqa: E402
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

    def write(self, files):
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

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

    def curtin(self):
        """Subiquity: curtin has left its own drop-in, GRUB is installed, the menu is there."""
        self.write({"etc/default/grub.d/50-curtin-settings.cfg": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"\n'})
        self.inside("memcg-policy set --root=/ desktop", proc=True)
        self.expect_off()
        self.take_back(proc=True)
        (self.root / "etc/default/grub.d/50-curtin-settings.cfg").unlink()

    def mkosi(self):
        """mkosi.postinst.chroot: mkosi says that it is a container."""
        self.inside("export container=mkosi; memcg-policy set --root=/ desktop", proc=True)
        self.expect_off()
        self.take_back(proc=True)

    def kickstart(self):
        """%post of Anaconda on Fedora: entries, /etc/kernel/cmdline and GRUB's defaults are there, with /proc."""
        line = "root=UUID=4f1e ro rootflags=subvol=root rhgb quiet"
        entry = "boot/loader/entries/0123456789abcdef0123456789abcdef-6.11.4-301.fc41.x86_64.conf"
        before = {
            entry: "title Fedora Linux (6.11.4-301.fc41.x86_64) 41\nversion 6.11.4-301.fc41.x86_64\n"
            "linux /vmlinuz-6.11.4-301.fc41.x86_64\ninitrd /initramfs-6.11.4-301.fc41.x86_64.img\n"
            f"options {line}\ngrub_users $grub_users\ngrub_class fedora\n",
            "etc/kernel/cmdline": f"{line}\n",
            "etc/default/grub": 'GRUB_CMDLINE_LINUX="rhgb quiet"\nGRUB_ENABLE_BLSCFG=true\n',
            "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
            "boot/grub2/grub.cfg": "insmod blscfg\nblscfg\n",
            "boot/vmlinuz-6.11.4-301.fc41.x86_64": "",
            "usr/sbin/grub2-mkconfig": "#!/bin/sh\n",
        }
        self.unpack(deb.CLEAN)
        self.write(before)
        (self.root / "lib/modules/6.11.4-301.fc41.x86_64").mkdir(parents=True)
        self.inside("memcg-policy set --root=/ desktop", proc=True)
        for name in (entry, "etc/kernel/cmdline", "etc/default/grub"):
            expect(WORD in (self.root / name).read_text(), f"{name} does not have the word")
        self.inside("memcg-policy unset --root=/", proc=True)
        for name, text in before.items():
            expect((self.root / name).read_text() == text, f"unset did not bring {name} back")

    def without_loader(self):
        """The target has no boot loader yet: the policy is stored, and that is success."""
        self.unpack(deb.CLEAN)
        self.inside("memcg-policy set --root=/ desktop", proc=False)
        expect((self.root / POLICY).exists(), "the policy is not stored")
        expect(not (self.root / deb.DROPIN).exists(), "a GRUB drop-in without GRUB")
        self.inside("memcg-policy apply --hook", proc=False)


class Booted:
    """Debian's recipes, to the kernel's own word in the machine that they made."""

    def __init__(self, work, package):
        self.work = pathlib.Path(work)
        self.package = package

    def _tree(self):
        shutil.rmtree(self.work / "tree", ignore_errors=True)
        root = rawdisk.tree(self.work / "tree")
        shutil.copy(self.package, root / "tmp/p.deb")
        disk.run(["chroot", root, "dpkg", "-i", "/tmp/p.deb"])
        return root

    def _expect_off(self, raw, name):
        lines = [line for line in raw.menu().decode().splitlines() if line.startswith("\tlinux\t")]
        expect(lines and all(line.split().count(WORD) == 1 for line in lines), f"the menu has {lines}")
        with raw.machine(name) as machine:
            machine.start()
            controllers = machine.run("cat /sys/fs/cgroup/cgroup.controllers").output.split()
            line = machine.run("cat /proc/cmdline").output
            expect("memory" not in controllers, f"controllers: {controllers}; booted with {line}")
            expect("preseed" not in line, f"the installer's own words in the target: {line}")
            # the policy came along, and the machine is what it says
            machine.run("memcg-policy check")
            said = machine.run("memcg-policy --json=short status").output
            expect('"role":"desktop"' in said.replace(" ", ""), f"status: {said}")

    def debian_installer(self):
        """late_command: GRUB and its menu are there; in-target has /proc, /sys, /dev of the installer."""
        raw = rawdisk.RawDisk("ext4", self.work / "di.img")
        raw.make(self._tree())
        script = self.work / "late-command"
        script.write_text("set -e\nupdate-grub\nmemcg-policy set --root=/ desktop\nupdate-grub\n")
        raw.uml("install", script, words=("preseed/url=x", "cgroup_disable=pids"))
        self._expect_off(raw, "debian-installer")

    def mmdebstrap(self):
        """--customize-hook: nothing mounted, no menu yet; whoever makes the disk makes the menu."""
        root = self._tree()
        disk.run(["chroot", root, "memcg-policy", "set", "--root=/", "desktop"])
        raw = rawdisk.RawDisk("ext4", self.work / "mmdebstrap.img")
        raw.make(root)
        script = self.work / "update-grub"
        script.write_text("update-grub\n")
        raw.uml("install", script)
        self._expect_off(raw, "mmdebstrap")


STEPS = [
    ("a target with GRUB", Target.with_grub),
    ("from outside", Target.from_outside),
    ("in the target, with /proc", Target.in_target),
    ("in the target, without /proc", Target.without_proc),
    ("Subiquity: curtin's target", Target.curtin),
    ("mkosi's chroot", Target.mkosi),
    ("Anaconda's %post: entries", Target.kickstart),
    ("no boot loader yet", Target.without_loader),
]
BOOTED = [
    ("debian-installer: boots", Booted.debian_installer),
    ("mmdebstrap: boots", Booted.mmdebstrap),
]


def main(arguments):
    if os.geteuid() != 0:
        print("SKIP installers: not root")
        return 77
    report = vm.Report()
    with tempfile.TemporaryDirectory(prefix="target-", dir=vm.cache_dir()) as work:
        named = [a for a in arguments if not a.startswith("--")]
        if named:
            package = pathlib.Path(named[0])
        else:
            built = deb.Packages("bookworm", work)
            env = dict(os.environ, DEB_BUILD_OPTIONS="nocheck")
            disk.run([TREE / "packaging/deb/build.sh", built.out], env=env)
            package = built.deb()
        report.run("bookworm", STEPS, Target(work, package))
        if "--no-boots" not in arguments:
            report.run("disk", BOOTED, Booted(work, package))
    return report.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
