# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs "memcg-policy bench" in an emulated machine whose clock counts instructions.

QEMU's TCG with -icount shift=0: one instruction is one nanosecond of the guest, its TSC and its
clocks follow, and nothing of the host leaks in. So what bench reports as ns is instructions, and
two boots of the same kernel and initramfs give the same numbers to the last digit. No KVM needed.
Instructions are not time: caches, atomics and contention cost nothing here.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "vm"))
import initramfs  # noqa: E402
import vm  # noqa: E402

# A freshly booted kernel is up to four times as slow for a while (deferred work): let it settle.
INIT = """#!/bin/sh
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
sleep 30
@PROGRAM@ bench run @OPTIONS@ --watch=0 --seed=1 --json=short >/tmp/result 2>/tmp/errors
echo "exit status $?" >>/tmp/errors
cat /tmp/errors >/dev/ttyS0
cat /tmp/result >/dev/ttyS1
poweroff -f
"""
# -cpu qemu64 clears a page by "rep stosq"; TCG counts each of its steps
MACHINE = ["qemu-system-x86_64", "-machine", "pc", "-accel", "tcg,thread=single", "-cpu", "qemu64",
           "-icount", "shift=0,sleep=off", "-smp", "1", "-m", "512", "-display", "none",
           "-monitor", "none", "-nic", "none", "-no-reboot", "-rtc", "base=2024-01-01,clock=vm"]
APPEND = ("console=ttyS0 quiet nokaslr norandmaps transparent_hugepage=never panic=-1 "
          "tsc=reliable")
OFF = " cgroup_disable=memory"


def build(path, program, options):
    """An initramfs with the program, for any number of boots."""
    program = pathlib.Path(program).resolve()
    with tempfile.NamedTemporaryFile("w", suffix=".init") as init:
        init.write(INIT.replace("@PROGRAM@", "/usr/bin/memcg-policy")
                   .replace("@OPTIONS@", " ".join(options)))
        init.flush()
        pathlib.Path(init.name).chmod(0o755)
        files = {"/init": init.name, "/usr/bin/memcg-policy": str(program)}
        for library in initramfs.libraries(str(program), "libjson-c.so.5"):
            files[library] = library
        initramfs.build(path, files=files)
    return path


def build_reference(path):
    """An initramfs whose init is reference.c."""
    vm.need("cc")
    with tempfile.TemporaryDirectory() as top:
        program = pathlib.Path(top, "init")
        subprocess.run(["cc", "-O2", "-static", "-o", program, HERE / "reference.c"], check=True)
        initramfs.build(path, files={"/init": str(program)})
    return path


def boot_text(kernel, initrd, off=False, timeout=900):
    """One boot: (what came on the second serial line, the console)."""
    vm.need("qemu-system-x86_64")
    with tempfile.TemporaryDirectory(prefix="memcg-tcg-") as top:
        console, result = pathlib.Path(top, "console"), pathlib.Path(top, "result")
        command = [*MACHINE, "-serial", f"file:{console}", "-serial", f"file:{result}",
                   "-kernel", str(kernel), "-initrd", str(initrd),
                   "-append", APPEND + (OFF if off else "")]
        with vm.take_slot():
            try:
                subprocess.run(command, timeout=timeout, check=True, stdin=subprocess.DEVNULL,
                               capture_output=True)
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as e:
                said = console.read_text(errors="replace") if console.exists() else ""
                raise vm.Failed(f"{e}\n{said[-2000:]}") from None
        return result.read_text(errors="replace"), console.read_text(errors="replace")


def boot(kernel, initrd, off=False):
    """The parsed result of bench. vm.Failed with the console when there is none."""
    text, said = boot_text(kernel, initrd, off)
    try:
        return json.loads(text)
    except ValueError:
        raise vm.Failed(f"no result: {text[:200]!r}\n{said[-2000:]}") from None


def boot_reference(kernel, initrd, off=False):
    """{workload: {place: instructions per page}} of the second pass."""
    text, said = boot_text(kernel, initrd, off)
    table = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) != 4 or words[0] not in ("1", "2"):
            raise vm.Failed(f"the reference says {line!r}\n{said[-2000:]}")
        if words[0] == "2":
            table.setdefault(words[1], {})["off" if off else words[2]] = float(words[3])
    if not table:
        raise vm.Failed(f"the reference says nothing\n{said[-2000:]}")
    return table
