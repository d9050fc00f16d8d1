#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Booted kernels (user-mode Linux): limits in force on cgroup v2, and captures of two machines.

With memcg on live.py runs inside. Then, with memcg on and with it off, the machine answers, is
captured, and the archive must answer the same outside. Last, what the catalogue says of
libcgroup's tools with memcg off, if they are here.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
program = pathlib.Path(os.environ.get("MEMCG_POLICY", "build/memcg-policy")).resolve()
VERBS = ("status", "needs", "units", "entries")
MOUNT = """mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
"""


def uml(script, directory, *words):
    command = [str(here.parent / "vm/uml.sh"), "-w", directory, "-t", "180", "-m", "512M"]
    for word in words:
        command += ["-k", word]
    run = subprocess.run([*command, "--", "sh", "-ec", script], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def captured(work, name, *words):
    """Answers of a machine and of its archive."""
    place = pathlib.Path(work) / name
    (place / "live").mkdir(parents=True)
    script = MOUNT + """if mkdir /sys/fs/cgroup/job && [ -e /sys/fs/cgroup/job/memory.max ]; then
	echo 64M >/sys/fs/cgroup/job/memory.max
fi
"""
    script += "".join(f"{program} {v} --json >{place}/live/{v}.json\n" for v in VERBS)
    code, output = uml(f"{script}{program} capture -q {place}/tar >/dev/null", str(place), *words)
    if code:
        return [f"{name}: exit status {code}: {output}"]
    os.mkdir(place / "tree")
    subprocess.run(["tar", "-xf", place / "tar", "-C", place / "tree"], check=True)
    (place / "names").write_text(" ".join(["(none)", *os.listdir("/home")]))
    run = subprocess.run([sys.executable, here / "capture.py", "--compare", place], capture_output=True,
                         text=True, check=False)
    live = (place / "live/needs.json").read_text()
    failed = [] if run.returncode == 0 else [f"{name}: {run.stdout}{run.stderr}"]
    if ("memory.max = 67108864 of cgroup job" in live) == ("cgroup_disable=memory" in words):
        failed.append(f"{name}: {live}")
    return failed


def libcgroup(work):
    """cgconfigparser with a memory block, memcg off."""
    if not shutil.which("cgconfigparser"):
        print("SKIP booted/libcgroup: no cgconfigparser (Debian package cgroup-tools)")
        return []
    conf = pathlib.Path(work) / "cgconfig.conf"
    conf.write_text("group one {\n\tmemory {\n\t\tmemory.max = 1G;\n\t}\n}\n")
    code, output = uml(f"{MOUNT}! cgconfigparser -l {conf}\n! [ -e /sys/fs/cgroup/one/memory.max ]", work,
                       "cgroup_disable=memory")
    return [f"cgconfigparser: {code}: {output}"] if code else []


if not shutil.which("linux.uml"):
    print("SKIP booted: no linux.uml (Debian package user-mode-linux)")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="memcg-booted-") as top:
    status, text = uml(f"{MOUNT}MEMCG_POLICY={program} python3 {here}/live.py", top)
    problems = [] if status == 0 and "memory.max seen" in text else [f"live.py: {status}: {text}"]
    problems += captured(top, "on") + captured(top, "off", "cgroup_disable=memory") + libcgroup(top)
for problem in problems:
    print(f"FAIL {problem}")
print(f"{len(problems)} failures")
sys.exit(1 if problems else 0)
