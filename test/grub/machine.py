# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Debian root with the real GRUB tools on a disk image of its own, without booting it.

The image is a bare ext4 file system, mounted through a loop device in a mount and PID namespace
whose /dev holds that device as /dev/vdz: grub-probe does not take a loop device for what it is.
Needs root. The bootstrapped system and the image made of it are cached (XDG_CACHE_HOME).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "vm"))

import disk  # noqa: E402
import vm  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("MEMCG_POLICY", HERE.parent.parent / "build/memcg-policy"))
PACKAGES = ["grub-common", "grub2-common", "libjson-c5"]
KERNELS = ["6.1.0-18-amd64", "6.1.0-20-amd64"]
SIZE = "600M"

KERNEL_CONFIG = "# Linux/x86 6.1.90 Kernel Configuration\nCONFIG_CGROUPS=y\nCONFIG_MEMCG=y\n"
DEFAULTS = """# If you change this file, run 'update-grub' afterwards.
GRUB_DEFAULT=0
GRUB_TIMEOUT=5
GRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX=""
"""


def need_root():
    if os.geteuid() != 0:
        raise vm.Skipped("needs root")
    vm.need("mmdebstrap", "mke2fs", "losetup", "unshare", "grub-fstest", "grub-script-check")


def populate(root):
    """What a Debian with two kernels has, as far as GRUB's scripts look at it."""
    for release in KERNELS:
        (root / f"boot/vmlinuz-{release}").write_text("a kernel\n")
        (root / f"boot/initrd.img-{release}").write_text("an initrd\n")
        (root / f"boot/config-{release}").write_text(KERNEL_CONFIG)
        modules = root / f"usr/lib/modules/{release}"
        modules.mkdir(parents=True)
        (modules / "modules.order").touch()
    (root / "boot/grub").mkdir()
    (root / "etc/default/grub").write_text(DEFAULTS)
    (root / "etc/fstab").write_text("/dev/vdz / ext4 defaults 0 1\n")
    (root / "mnt/test").mkdir()
    (root / "mnt/old").mkdir()


def base_image():
    """The cached image, with a menu as update-grub makes it."""
    tar = disk.bootstrap("bookworm", PACKAGES)
    recipe = disk.key(tar.name, SIZE, populate.__code__.co_code, DEFAULTS, KERNELS, KERNEL_CONFIG)
    path = vm.cache_dir() / f"grub-{recipe}.img"
    with vm.lock(path.name):
        if path.exists():
            return path
        new = path.with_suffix(".new.img")
        with tempfile.TemporaryDirectory(prefix="grub-root-", dir=vm.cache_dir()) as root:
            disk.unpack(tar, root)
            populate(pathlib.Path(root))
            disk.run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", root, new, SIZE])
        machine = Machine(new)
        try:
            machine.must("update-grub")
        finally:
            machine.close()
        new.rename(path)
    return path


class Machine:
    """The image, mounted for one command at a time. Use with "with"."""

    def __init__(self, image=None):
        self._dir = None
        if image is None:
            self._dir = tempfile.mkdtemp(prefix="grub-", dir=os.environ.get("TMPDIR", "/var/tmp"))
            image = pathlib.Path(self._dir, "disk.img")
            disk.run(["cp", "--sparse=always", "--reflink=auto", base_image(), image])
        self.image = pathlib.Path(image)
        self._loop = disk.run(["losetup", "--find", "--show", self.image]).strip()

    def close(self):
        disk.run(["losetup", "--detach", self._loop])
        if self._dir:
            shutil.rmtree(self._dir)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def command(self, script, outside=False):
        """argv that runs a shell script in the machine, or beside it with it on /mnt."""
        where = "outside" if outside else "inside"
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation=private",
                "sh", str(HERE / "enter.sh"), self._loop, where, str(PROGRAM.parent), script]

    def run(self, script, outside=False):
        """Runs a shell script; memcg-policy is in its PATH. Status and output."""
        done = subprocess.run(self.command(script, outside), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout

    def must(self, script, outside=False):
        status, output = self.run(script, outside)
        if status:
            raise vm.Failed(f"exit status {status} of: {script}\n{output}")
        return output

    def raw(self, path):
        """A file as GRUB reads it on the disk: no journal is replayed."""
        done = subprocess.run(["grub-fstest", self.image, "cat", f"(loop0){path}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise vm.Failed(f"GRUB cannot read {path}: {done.stderr.decode()}")
        return done.stdout
