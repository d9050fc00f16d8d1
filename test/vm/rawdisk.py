# SPDX-License-Identifier: LGPL-2.1-or-later
"""Raw disks of Debian 12 on any file system, filled and used in user-mode Linux (rawdisk.sh), read by
grub-fstest and booted by their own GRUB in an emulated machine. As root; no loop device, no mount.

A disk's name says its file systems: "xfs" holds all, "/boot=xfs" has a root of ext4 beside it.
"""

import os
import pathlib
import shutil
import struct
import subprocess

import disk
import vm

HERE = pathlib.Path(__file__).resolve().parent

PACKAGES = ["linux-image-cloud-amd64", "grub-pc", "initramfs-tools", "udev", "kmod", "zstd", "libjson-c5"]
INITRAMFS = disk.INITRAMFS.replace(
    "virtio_pci virtio_blk ext4", "virtio_pci virtio_blk ext4 xfs btrfs crc32c_generic"
)
# the agent instead of systemd: a machine that GRUB has booted in half a minute
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
mount -o remount,rw /
mount -a
mount -t cgroup2 cgroup2 /sys/fs/cgroup
sh /usr/local/lib/vm-agent
"""
MIB = 1 << 20
START = 2 * MIB  # of the first file system; GRUB's own code is before it
BOOT_SIZE = 320 * MIB
SIZE = 1400 * MIB


def tree(root, *hooks):
    """A Debian as a directory to fill disks from; hooks are mmdebstrap's."""
    root.mkdir()
    disk.unpack(disk.bootstrap("bookworm", PACKAGES, f"--essential-hook={INITRAMFS}", *hooks), root)
    (root / "usr/local/lib").mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "agent.sh", root / "usr/local/lib/vm-agent")
    (root / "usr/local/lib/vm-init").write_text(INIT)
    (root / "usr/local/lib/vm-init").chmod(0o755)
    line = 's|^GRUB_CMDLINE_LINUX=.*|GRUB_CMDLINE_LINUX="console=ttyS0 init=/usr/local/lib/vm-init"|'
    edits = [f"-e{e}" for e in (disk.GRUB_SED[0], disk.GRUB_SED[1], line, disk.GRUB_SED[3])]
    disk.run(["sed", "-i", *edits, root / "etc/default/grub"])
    modules = root / "boot/grub/i386-pc"
    modules.mkdir(parents=True, exist_ok=True)
    for module in (root / "usr/lib/grub/i386-pc").glob("*.[ml][os][dt]"):
        shutil.copy(module, modules)
    return root


class RawDisk:
    def __init__(self, name, path):
        self.name, self.path = name, path
        self.separate = name.startswith("/boot=")

    def make(self, root):
        """Partitions, file systems with what is in root, and GRUB; no boot menu yet."""
        vm.need("linux.uml", "grub-fstest", "grub-mkimage", "dmsetup", "busybox", "sgdisk")
        vm.need("mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mkfs.vfat")
        with open(self.path, "wb") as f:
            f.truncate(SIZE)
        end = (SIZE - MIB) // 512 - 1
        if self.separate:
            middle = (START + BOOT_SIZE) // 512
            places = [f"-n2:{START // 512}:{middle - 1}", f"-n3:{middle}:{end}"]
        else:
            places = [f"-n2:{START // 512}:{end}"]
        disk.run(["sgdisk", "-a1", "-n1:2048:4095", "-t1:ef02", *places, self.path])
        self.uml("make", root)
        self._embed_grub(root / "usr/lib/grub/i386-pc")

    def _embed_grub(self, modules):
        """What grub-install writes into the first sector and GRUB's own partition, without its probing."""
        core = self.path.with_suffix(".core")
        prefix = "(,gpt2)/grub" if self.separate else "(,gpt2)/boot/grub"
        disk.run(["grub-mkimage", "-O", "i386-pc", "-d", modules, "-o", core, "-p", prefix,
                  "biosdisk", "part_gpt", "ext2", "xfs", "btrfs", "fat"])  # fmt: skip
        first = bytearray((modules / "boot.img").read_bytes()[:440])
        struct.pack_into("<Q", first, 0x5C, 2048)  # where the core begins
        first[0x66:0x68] = b"\x90\x90"  # as on a hard disk: the firmware's drive number holds
        rest = bytearray(core.read_bytes())
        struct.pack_into("<Q", rest, 500, 2049)  # where the rest of the core begins
        with open(self.path, "r+b") as f:
            f.write(first)
            f.seek(2048 * 512)
            f.write(rest)

    def uml(self, word, argument, *disks, words=()):
        """Runs a word of rawdisk.sh; words are for the kernel's command line."""
        start = START + (BOOT_SIZE if self.separate else 0)
        places = f"BOOT_START={START // 512} BOOT_SECTORS={BOOT_SIZE // 512}"
        places += f" ROOT_START={start // 512} ROOT_SECTORS={(SIZE - start - MIB) // 512}"
        command = [HERE / "uml.sh", "-m", "512M", "-t", "1800"]
        for n, path in enumerate((self.path, *disks)):
            command += ["-k", f"ubd{n}={path}"]
        for word_ in words:
            command += ["-k", word_]
        script = f"{places} exec sh {HERE}/rawdisk.sh {word} {self.name} {argument}"
        return disk.run([*command, "sh", "-c", script], env=dict(os.environ, TMPDIR="/tmp"))

    def copy(self, path):
        disk.run(["cp", "--sparse=always", self.path, path])
        return RawDisk(self.name, path)

    def read(self, path):
        """A file below /boot as GRUB reads it from the raw image."""
        path = path.removeprefix("/boot") if self.separate else path
        done = subprocess.run(["grub-fstest", self.path, "cat", f"(loop0,gpt2){path}"], capture_output=True)
        if done.returncode:
            raise vm.Failed(f"GRUB cannot read {path}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def menu(self):
        return self.read("/boot/grub/grub.cfg")

    def machine(self, name):
        return vm.Machine(name, [f"file={self.path},format=raw,cache=unsafe"])
