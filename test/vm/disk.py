# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bootable Debian disks, made without a loop device or a mount, and cached.

mmdebstrap makes a tar, `mke2fs -d` a file system at an offset, sgdisk the partitions around it.
The first boot, with kernel and initrd given, installs GRUB; from then on the disk boots by its own.
As root: the tar holds files of root and device nodes.
"""

import hashlib
import pathlib
import shutil
import subprocess
import tempfile

import vm

HERE = pathlib.Path(__file__).resolve().parent
SUITES = ("bookworm", "trixie", "sid")

PACKAGES = [
    "linux-image-amd64",
    "grub-pc",
    "initramfs-tools",
    "systemd-sysv",
    "udev",
    "dbus",
    "kmod",
    "zstd",
    # what memcg-policy links or opens; the machine has no network
    "libjson-c5",
    "?name(^libarchive13t?6?4?$)",
    "?name(^libcgroup[0-9]t?6?4?$)",
    "?name(^libcryptsetup12$)",
]

# The initrd holds what this disk needs and no more: a third of the boot's time otherwise.
INITRAMFS = """
mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list >"$1/etc/initramfs-tools/conf.d/vm"
printf '%s\\n' virtio_pci virtio_blk ext4 >"$1/etc/initramfs-tools/modules"
"""

# A second kernel for the test of a kernel upgrade; its packages wait in /var/cache/vm. After trixie a
# kernel is an image and the parts that it depends on.
SECOND_KERNEL = """
mkdir -p "$1/var/cache/vm"
chroot "$1" sh -ec 'cd /var/cache/vm
	image=$(apt-cache depends linux-image-cloud-amd64 |
		sed -n "s/.*Depends: \\(linux-image-[0-9].*\\)/\\1/p")
	apt-get download $image $(apt-cache depends $image |
		sed -n "s/.*Depends: \\(linux-[a-z]*-[0-9].*\\)/\\1/p")'
rm "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"
"""

FILES = {
    # emulated on a loaded machine, all takes long and nothing is broken for that
    "etc/systemd/system.conf.d/vm.conf": """[Manager]
DefaultTimeoutStartSec=1h
DefaultTimeoutStopSec=1h
DefaultEnvironment=SYSTEMD_BUS_TIMEOUT=3600
LogColor=no
""",
    "etc/systemd/system/memcg-policy-warn.service.d/vm.conf": "[Service]\nTimeoutStartSec=1h\n",
    "etc/fstab": "/dev/vda2 / ext4 errors=remount-ro 0 1\n",
    "etc/hostname": "vm\n",
    "etc/hosts": "127.0.0.1 localhost vm\n",
    "etc/systemd/system/vm-agent.service": """[Unit]
Description=Runs scripts that come in on the second serial line

[Service]
ExecStart=/bin/sh /usr/local/lib/vm-agent
Environment=LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive
StandardOutput=null
""",
}
LINKS = {
    "etc/systemd/system/multi-user.target.wants/vm-agent.service": "../vm-agent.service",
    # its hang-up kills others that write to the line
    "etc/systemd/system/serial-getty@ttyS0.service": "/dev/null",
    "etc/systemd/system/getty@tty1.service": "/dev/null",
    # nothing may change the machine behind a test's back, nor cost time in each boot
    "etc/systemd/system/apt-daily.timer": "/dev/null",
    "etc/systemd/system/apt-daily-upgrade.timer": "/dev/null",
    "etc/systemd/system/dpkg-db-backup.timer": "/dev/null",
    "etc/systemd/system/e2scrub_all.timer": "/dev/null",
    "etc/systemd/system/e2scrub_reap.service": "/dev/null",
    "etc/systemd/system/fstrim.timer": "/dev/null",
}
GRUB_SED = [
    "s/^GRUB_TIMEOUT=.*/GRUB_TIMEOUT=1/",
    's/^GRUB_CMDLINE_LINUX_DEFAULT=.*/GRUB_CMDLINE_LINUX_DEFAULT=""/',
    's/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX="console=ttyS0 systemd.service_watchdogs=no"/',
    "$aGRUB_TERMINAL=serial",
]
FIRST_BOOT = """set -e
grub-install /dev/vda
update-grub
mkdir -p /var/log/journal
rm -f /etc/machine-id && : >/etc/machine-id
sync
"""
SIZE = 3 << 30
ROOT_OFFSET = 2 << 20


def key(*parts):
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def bootstrap(suite, packages, *hooks, variant="minbase"):
    """The path of a cached tar of a Debian system. hooks: mmdebstrap's arguments for hooks.

    variant "extract": the packages are unpacked only, and none of their scripts has run.
    """
    vm.need("mmdebstrap")
    recipe = (packages, hooks) if variant == "minbase" else (packages, hooks, variant)
    path = vm.cache_dir() / f"{suite}-{key(*recipe)}.tar"
    with vm.lock(path.name):
        if path.exists():
            return path
        print(f"{suite}: bootstrapping ({len(packages)} packages and what they need)", flush=True)
        new = path.with_suffix(".new.tar")
        command = ["mmdebstrap", "--quiet", f"--variant={variant}", "--mode=root"]
        # the Release files of sid, and at times of others, are past their date
        command += ["--aptopt=Acquire::Check-Valid-Until \"false\""]
        command += ["--aptopt=APT::Install-Recommends \"false\""]
        if variant != "extract":  # there it is a filter in Python for each package, which takes minutes
            command += [f"--dpkgopt=path-exclude=/usr/share/{d}/*" for d in ("doc", "man", "locale")]
        command += [f"--include={','.join(packages)}", *hooks, suite, str(new)]
        run(command)
        new.rename(path)
    return path


def run(command, **kwargs):
    done = subprocess.run(
        [str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs
    )
    if done.returncode:
        raise vm.Failed(f"{command[0]} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


def unpack(tar, root):
    run(["tar", "-C", root, "--numeric-owner", "--xattrs", "-xf", tar])


class Disk:
    """The cached disk of a suite, with its kernel and initrd for boots without GRUB."""

    def __init__(self, suite):
        vm.need("mmdebstrap", "mke2fs", "sgdisk", "qemu-img")
        self.suite = suite
        self._tar = bootstrap(
            suite, PACKAGES, f"--essential-hook={INITRAMFS}", f"--customize-hook={SECOND_KERNEL}"
        )
        agent = (HERE / "agent.sh").read_text()
        recipe = key(self._tar.name, FILES, LINKS, GRUB_SED, FIRST_BOOT, SIZE, agent)
        self._base = vm.cache_dir() / f"disk-{suite}-{recipe}"
        self.image = self._base.with_suffix(".img")
        self.kernel = self._base.with_suffix(".vmlinuz")
        self.initrd = self._base.with_suffix(".initrd")
        with vm.lock(self._base.name):
            if not self.image.exists():
                self._build()

    def _build(self):
        print(f"{self.suite}: building a disk", flush=True)
        new = self._base.with_suffix(".new")
        with tempfile.TemporaryDirectory(prefix="vm-root-", dir=vm.cache_dir()) as root:
            root = pathlib.Path(root)
            root.chmod(0o755)
            unpack(self._tar, root)
            self._prepare(root)
            with open(new, "wb") as f:
                f.truncate(SIZE)
            size = f"{(SIZE - ROOT_OFFSET - (1 << 20)) >> 10}k"
            run(["mke2fs", "-q", "-t", "ext4", "-d", root, "-E", f"offset={ROOT_OFFSET}", new, size])
        run(["sgdisk", "-n1:2048:4095", "-t1:ef02", f"-n2:{ROOT_OFFSET // 512}:0", "-t2:8300", new])
        with vm.Machine(
            f"{self.suite}-build",
            [f"file={new},format=raw,cache=unsafe"],
            self.kernel,
            self.initrd,
            "root=/dev/vda2 console=ttyS0",
        ) as machine:
            machine.start()
            machine.run(FIRST_BOOT)
            machine.power_off()
        new.rename(self.image)

    def _prepare(self, root):
        for path, text in FILES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        for path, target in LINKS.items():
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).symlink_to(target)
        (root / "usr/local/lib").mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "agent.sh", root / "usr/local/lib/vm-agent")
        run(["sed", "-i", *(f"-e{e}" for e in GRUB_SED), root / "etc/default/grub"])
        for name, path in (("vmlinuz", self.kernel), ("initrd.img", self.initrd)):
            found = sorted((root / "boot").glob(f"{name}-*"))
            if not found:
                raise vm.Failed(f"{self.suite}: no {name} in /boot")
            shutil.copy(found[-1], path)

    def overlay(self, path):
        """A copy-on-write disk over the cached one, as a drive for vm.Machine."""
        run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", self.image, "-F", "raw", path])
        return f"file={path},format=qcow2,cache=unsafe"


def input_drive(path, files):
    """Files for the guest, as a tar on a raw disk: {path in the guest: path here}.

    It is the drive after the system's: `tar -xf /dev/vdb -C /` takes it in. Folders are not in it:
    the guest's own, / first of all, would get the mode and owner of those made here.
    """
    with tempfile.TemporaryDirectory() as tree:
        names = [name.lstrip("/") for name in files]
        for name, source in zip(names, files.values()):
            target = pathlib.Path(tree, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        run(["tar", "-C", tree, "--owner=0", "--group=0", "-cf", path, *names])
    return f"file={path},format=raw,readonly=on"
