#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench where systemd manages the tree: real systemd with cgroup v2 only, under user-mode Linux.

usage: scope.py PROGRAM     without sanitizers

Samples are taken in the root and in a child below a scope that systemd delegated, workers are born in
their cgroup, and neither scope nor group is left, however the run ends. Faults cost a hundred times
as much there, so no number is looked at.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "vm"))
import disk  # noqa: E402
import initramfs  # noqa: E402
import vm  # noqa: E402

PACKAGES = ["systemd-sysv", "dbus", "libjson-c5", "systemd-oomd"]  # those of systemd-live: one tar for both
SCRIPT = r"""exec >/live/log 2>&1
run="memcg-policy bench run --watch=0 --rounds=3 --workload=kmem-pipe"
long="memcg-policy bench run --watch=0 --rounds=90000 --workload=kmem-pipe"
left() {
	sleep 1
	systemctl list-units --all --no-legend 'memcg-policy-bench-*' >/live/$1.units
	find /sys/fs/cgroup -name 'memcg-policy-bench-*' >/live/$1.groups
}
$run --json=short >/live/result 2>/live/errors
echo $? >/live/status
left whole
strace -f -o /live/trace -e trace=clone3 $run -q >/dev/null 2>/live/trace-errors
left traced
memcg-policy bench run --where=root,depth=1 --rounds=1 --workload=kmem-pipe 2>/live/shallow
echo $? >>/live/shallow
for signal in TERM INT KILL; do
	$long >/dev/null 2>/live/$signal.errors &
	for i in $(seq 100); do
		scope=$(systemctl list-units --no-legend --plain 'memcg-policy-bench-*.scope' | cut -d' ' -f1)
		[ "$scope" ] && find /sys/fs/cgroup/$scope -path '*bench-*-2*' -name cgroup.procs | grep -q . && break
		sleep 0.2
	done
	systemctl show -p Delegate -p Slice -p MemoryAccounting "$scope" >/live/$signal.scope
	cat /proc/$!/cgroup >/live/$signal.own
	kill -$signal $!
	wait $!
	echo $? >/live/$signal.status
	left $signal
done
touch /live/done
"""
UNIT = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh /live/script
ExecStopPost=/bin/systemctl poweroff -ff
"""


def make_root(program, root):
    disk.unpack(disk.bootstrap("bookworm", PACKAGES), root)
    shutil.copy(program, root / "usr/bin/memcg-policy")
    strace = shutil.which("strace")
    for source in (strace, *initramfs.libraries(strace)):
        target = root / source.lstrip("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    units = root / "etc/systemd/system"
    wants = units / "multi-user.target.wants"
    wants.mkdir(parents=True, exist_ok=True)
    (units / "live.service").write_text(UNIT)
    (wants / "live.service").symlink_to("../live.service")
    for name in ("systemd-udevd.service", "getty@tty1.service", "serial-getty@ttyS0.service"):
        (units / name).unlink(missing_ok=True)
        (units / name).symlink_to("/dev/null")
    (root / "etc/fstab").write_text("")
    (root / "live").mkdir()
    (root / "live/script").write_text(SCRIPT)


def boot(root):
    with tempfile.TemporaryDirectory() as tmp:
        command = [HERE.parent / "vm/linux-uml.sh", "root=/dev/root", "rootfstype=hostfs", f"rootflags={root}", "rw", "mem=512M",
                   "con=null", "con0=null,fd:1", "console=tty0", f"uml_dir={tmp}",
                   "init=/lib/systemd/systemd", "systemd.unified_cgroup_hierarchy=1"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=500,
                                  env={**os.environ, "TMPDIR": tmp}, check=False)
        except subprocess.TimeoutExpired as e:
            said = (e.stdout or b"")[-1500:].decode(errors="replace")
            raise vm.Failed(f"no power-off: {said}\n{(root / 'live/log').read_text()[-1500:]}") from None
    if not (root / "live/done").exists():
        raise vm.Failed(f"the script did not end:\n{done.stdout[-1500:].decode(errors='replace')}")


def check(root):
    def text(name):
        return (root / "live" / name).read_text()

    def expect(condition, what):
        if not condition:
            raise vm.Failed(what)

    expect(text("status").strip() in ("0", "8"), f"status {text('status')}: {text('errors')}")
    result = json.loads(text("result"))
    arms = [(a["name"], a["kind"], a["depth"]) for a in result["arms"]]
    expect(result["context"]["hierarchy"] == "v2", f"cgroup {result['context']['hierarchy']}")
    expect(arms[0][1] == "root" and arms[2][1] == "child" and arms[2][2] >= 2, f"arms {arms}")
    failed = [s for s in result["samples"] if s[result["columns"].index("invalid")] & 16]
    expect(not failed, f"{len(failed)} samples failed")
    born = re.findall(r"clone3\(\{flags=CLONE_INTO_CGROUP.*cgroup=\d+.*= \d+$", text("trace"), re.M)
    expect(len(born) >= 12, f"only {len(born)} workers were born in their cgroup: {text('trace')[-800:]}")
    shallow = text("shallow")
    expect(shallow.endswith("2\n") and "systemd manages this cgroup tree" in shallow, f"depth=1: {shallow}")
    for name in ("TERM", "INT", "KILL"):
        expect("Delegate=yes" in text(f"{name}.scope") and "Slice=-.slice" in text(f"{name}.scope"),
               f"{name}: the scope: {text(f'{name}.scope')}")
        expect("/memcg-policy-bench-" in text(f"{name}.own"), f"{name}: it ran in {text(f'{name}.own')}")
        expect(int(text(f"{name}.status")) == {"KILL": 137}.get(name, 1), f"{name}: {text(f'{name}.status')}")
    for name in ("whole", "traced", "TERM", "INT", "KILL"):
        expect(not text(f"{name}.units"), f"{name}: a scope is left: {text(f'{name}.units')}")
        expect(not text(f"{name}.groups"), f"{name}: a group is left: {text(f'{name}.groups')}")


def main():
    if not shutil.which("linux.uml") or not shutil.which("strace") or os.geteuid() != 0:
        print("SKIP scope: not root, or no linux.uml (package user-mode-linux), or no strace")
        return 77
    program = pathlib.Path(os.environ.get("MEMCG_POLICY") or sys.argv[1]).resolve()
    report = vm.Report()
    with tempfile.TemporaryDirectory(prefix="scope-", dir=vm.cache_dir()) as tmp:
        root = pathlib.Path(tmp, "root")
        root.mkdir()
        root.chmod(0o755)
        report.run("bench-scope", [
            ("a root with the program", lambda: make_root(program, root)),
            ("bench under systemd", lambda: boot(root)),
            ("scope, groups, births", lambda: check(root)),
        ])
    return report.close()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
