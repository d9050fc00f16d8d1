# SPDX-License-Identifier: LGPL-2.1-or-later
"""An initramfs of busybox, the agent and chosen programs: a machine that is up in 10 s."""

import pathlib
import re
import shutil
import subprocess
import tempfile

import vm

HERE = pathlib.Path(__file__).resolve().parent
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
sh /agent
poweroff -f
"""


def libraries(program, *opened):
    """The shared objects that the dynamic linker would load, the linker itself included; and those
    that the program opens on demand, by soname, with theirs, where this system has them."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    found = re.findall(r"(/\S+) \(0x", text)
    for soname in opened:
        path = next(pathlib.Path("/usr/lib").glob(f"*-linux-gnu/{soname}"), None)
        found += [str(path), *libraries(path)] if path else []
    return list(dict.fromkeys(found))


def build(path, programs=(), files=None):
    """Writes an initramfs. programs: executables with their libraries, in their own places;
    files: {path in the guest: path here}."""
    vm.need("busybox", "cpio")
    with tempfile.TemporaryDirectory() as tree:
        tree = pathlib.Path(tree)
        for d in ("bin", "proc", "sys", "dev", "run", "tmp", "etc"):
            (tree / d).mkdir()
        shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
        listed = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True)
        for applet in listed.stdout.split():
            if applet != "busybox":
                (tree / "bin" / applet).symlink_to("busybox")
        (tree / "init").write_text(INIT)
        (tree / "init").chmod(0o755)
        shutil.copy(HERE / "agent.sh", tree / "agent")
        wanted = dict(files or {})
        for program in ("busybox", *programs):
            program = shutil.which(program) or program
            for source in (program, *libraries(program)):
                wanted.setdefault(source, source)
        for target, source in wanted.items():
            target = tree / target.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        with open(path, "wb") as f:
            names = subprocess.run(["find", "."], cwd=tree, capture_output=True, check=True).stdout
            subprocess.run(
                ["cpio", "--quiet", "-o", "-H", "newc"], cwd=tree, input=names, stdout=f, check=True
            )
    return path
