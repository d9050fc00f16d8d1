#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPU time of the systemd generator among 500 services: target under 5 ms.

usage: generator.py BUILD_DIR [ROUNDS]

It is run in a chroot whose /sys/fs/cgroup is a plain directory without memory; a preloaded fstatfs()
says cgroup2 of it. The first row is what any program costs there. As root.
"""

import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHIM = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/vfs.h>
int fstatfs64(int fd, struct statfs64 *buf)
{
	int (*real)(int, struct statfs64 *) = (int (*)(int, struct statfs64 *))dlsym(RTLD_NEXT, "fstatfs64");
	struct stat a, b;
	int r = real(fd, buf);
	if (r == 0 && fstat(fd, &a) == 0 && stat("/sys/fs/cgroup", &b) == 0 &&
	    a.st_ino == b.st_ino && a.st_dev == b.st_dev)
		buf->f_type = 0x63677270; /* cgroup2 */
	return r;
}
"""
FLOOR = "int main(void) { return 0; }\n"
# what FailClosed= says, and how many services that makes
CASES = [("nothing to close", "", 0), ("one name", "app-007.service", 1), ("a glob over 50 of 500", "app-*.service", 50),
         ("a glob over all, 50 the site's", "*-*.service", 50)]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def libraries(program):
    said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return re.findall(r"(?:=> )?(/\S+)", said)


def build(root, name, text, *options):
    source = root / f"{name}.c"
    source.write_text(text)
    subprocess.run(["cc", "-O2", "-o", root / name, source, *options], check=True)


def make(root, generator):
    build(root, "floor", FLOOR)
    build(root, "shim.so", SHIM, "-shared", "-fPIC")
    subprocess.run(["cc", "-O2", "-o", root / "once", HERE / "once.c"], check=True)
    shutil.copy(generator, root / "generator")
    for path in {p for x in ("generator", "once", "shim.so") for p in libraries(root / x)}:
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path[1:])
    units = root / "usr/lib/systemd/system"
    # like those of packages: half of a page, a few with drop-ins
    body = "[Unit]\nDescription=Something\nAfter=network.target\n" + "# a comment line\n" * 40
    for i in range(450):
        write(units / f"vendor-{i:03}.service", f"{body}[Service]\nExecStart=/bin/true\nRestart=always\n")
    for i in range(50):
        text = f"{body}[Service]\nExecStart=/bin/true\nMemoryMax={i + 1}G\n"
        write(root / f"etc/systemd/system/app-{i:03}.service", text)
        if i % 10 == 0:
            write(root / f"etc/systemd/system/app-{i:03}.service.d/10-more.conf", "[Service]\nMemoryHigh=1G\n")
    for name in ("multi-user.target.wants", "timers.target.wants"):
        (units / name).mkdir()
    write(root / "usr/lib/systemd/libsystemd-shared-252.so", "")
    write(root / "sys/fs/cgroup/cgroup.controllers", "cpuset cpu io pids\n")
    write(root / "proc/self/cgroup", "0::/init.scope\n")
    write(root / "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    # the real one for descriptors alone: this system's own cgroups are not to be seen
    (root / "descriptors").mkdir()
    subprocess.run(["mount", "-t", "proc", "proc", root / "descriptors"], check=True)
    (root / "proc/self/fd").symlink_to("/descriptors/self/fd")
    # generators write below /run
    (root / "out").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", root / "out"], check=True)
    (root / "dev").mkdir()
    (root / "dev/null").touch()


def once(root, argv):
    """CPU time in ms of one run inside."""
    for path in (root / "out").iterdir():
        shutil.rmtree(path)
    said = subprocess.run(
        ["chroot", root, "/once", "/output", *argv], check=True, capture_output=True,
        env={"LD_PRELOAD": "/shim.so", "SYSTEMD_SCOPE": "system", "PATH": os.environ["PATH"]},
    )
    _, cpu, _, status = map(int, said.stdout.split())
    if status:
        raise SystemExit(f"{argv[0]}: exit status {status}")
    return cpu / 1e6, len(list((root / "out").glob("*/50-memcg-policy.conf")))


def measure(build, root, rounds):
    make(root, build / "memcg-policy-generator")
    rows = [("an empty program", None, 0)] + CASES
    taken = {name: [] for name, _, _ in rows}
    for _ in range(rounds):
        for name, closed, wanted in random.sample(rows, len(rows)):
            write(root / "etc/memcg-policy/policy.conf", f"[Policy]\nFailClosed={closed or ''}\n")
            argv = ["/generator", "/out", "/out", "/out"] if closed is not None else ["/floor"]
            cpu, made = once(root, argv)
            if made != wanted:
                sys.exit(f"{name}: {made} drop-ins, expected {wanted}")
            taken[name].append(cpu)
    print(f"\ngenerator, 500 services, CPU: target under 5 ms ({rounds} rounds)")
    for name, times in taken.items():
        edges = statistics.quantiles(times, n=20)
        print(f"  {name:30} {statistics.median(times):6.2f} ms  [{edges[0]:.2f}..{edges[-1]:.2f}]")


def main():
    if os.geteuid() != 0:
        print("SKIP bench generator: not root")
        return 0
    if len(sys.argv) == 4:  # in a mount namespace of our own: /proc goes with it
        return measure(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3]), int(sys.argv[2]))
    rounds = sys.argv[2] if len(sys.argv) > 2 else "101"
    with tempfile.TemporaryDirectory(prefix="memcg-generator-") as root:
        command = ["unshare", "--mount", sys.executable, sys.argv[0], sys.argv[1], rounds, root]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
