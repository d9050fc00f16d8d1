#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changing 1, 5 and 50 BLS entries, against the floor: temporary, fsync, rename of the same files.

usage: entries.py BUILD_DIR [ROUNDS]       target: at most twice the floor at 50 entries
"""

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

MID = "0123456789abcdef0123456789abcdef"
OPTIONS = "root=UUID=6d1c5a54-77b3-4e2e-8e05-0f2a4f8a1c11 ro rhgb quiet"


def make(root, n):
    def write(path, text):
        full = root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text)
    write("etc/machine-id", MID + "\n")
    write("usr/sbin/grub2-mkconfig", "#!/bin/sh\n# --no-grubenv-update\n")
    write("boot/grub2/grub.cfg", "blscfg\n")
    write("etc/default/grub", 'GRUB_CMDLINE_LINUX="rhgb quiet"\nGRUB_ENABLE_BLSCFG=true\n')
    write("etc/kernel/cmdline", OPTIONS + "\n")
    for i in range(n):
        release = f"6.17.{i}-300.fc43.x86_64"
        (root / "usr/lib/modules" / release).mkdir(parents=True)
        write(f"boot/loader/entries/{MID}-{release}.conf",
              f"title Fedora Linux ({release}) 43\nversion {release}\nlinux /vmlinuz-{release}\n"
              f"initrd /initramfs-{release}.img\noptions {OPTIONS}\ngrub_users $grub_users\n"
              "grub_arg --unrestricted\ngrub_class fedora\n")


def floor(root):
    """What a careful program does at least: every file replaced, then its directory synced."""
    start = time.perf_counter()
    for path in sorted((root / "boot/loader/entries").iterdir()):
        data = path.read_bytes().replace(b" quiet\n", b" quiet cgroup_disable=memory\n")
        temporary = path.with_name(".temporary")
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)
        directory = os.open(path.parent, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
    return time.perf_counter() - start


def ours(root, program):
    start = time.perf_counter()
    subprocess.run([program, f"--root={root}", "set", "off"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


@contextlib.contextmanager
def own_file_system():
    """ext4 with nothing else on it: syncfs(2) writes what everybody left unwritten."""
    with tempfile.TemporaryDirectory() as directory:
        if os.geteuid() != 0:
            print("not root: no file system of its own, so what others write counts too")
            yield directory
            return
        image, mount = (os.path.join(directory, name) for name in ("image", "mount"))
        os.mkdir(mount)
        with open(image, "wb") as file:
            file.truncate(256 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, mount], check=True)
        try:
            yield mount
        finally:
            subprocess.run(["umount", mount], check=True)


def main():
    with own_file_system() as base:
        measure_all(base)


def measure_all(base):
    program = os.path.join(os.path.abspath(sys.argv[1]), "memcg-policy")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    for n in (1, 5, 50):
        taken = {"floor": [], "ours": []}
        for _ in range(rounds):  # interleaved: the disk's mood hits both
            for name, measure in (("floor", floor), ("ours", lambda r: ours(r, program))):
                with tempfile.TemporaryDirectory(dir=base) as directory:
                    root = pathlib.Path(directory)
                    make(root, n)
                    os.sync()
                    taken[name].append(measure(root) * 1000)
        a, b = (statistics.median(taken[x]) for x in ("floor", "ours"))
        print(f"{n:3} entries: floor {a:7.1f} ms [{min(taken['floor']):.1f}.."
              f"{max(taken['floor']):.1f}], set off {b:7.1f} ms [{min(taken['ours']):.1f}.."
              f"{max(taken['ours']):.1f}], {b / a:.2f}x")


if __name__ == "__main__":
    main()
