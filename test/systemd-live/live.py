#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real systemd under user-mode Linux, once with memcg and once without: what "units" says of each
kind of setting, the records at the units, FailClosed=, and the sandbox of the service.

usage: live.py BUILD-DIR [SUITE...]   BUILD-DIR: without sanitizers, -Dprefix=/usr
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "vm"))
import disk  # noqa: E402
import vm  # noqa: E402

PACKAGES = ["systemd-sysv", "dbus", "libjson-c5", "systemd-oomd"]
SERVICES = {
    "max.service": "MemoryMax=64M",
    "high.service": "MemoryHigh=64M",
    "limit.service": "MemoryLimit=64M",
    "both.service": "MemoryLimit=1G\nMemoryMax=64M",
    "oomd.service": "ManagedOOMSwap=kill",
    "inslice.service": "Slice=lim.slice\nMemoryMax=64M",
    "tpl@.service": "MemoryMax=64M",
    "deleg.service": "Delegate=yes\nMemoryMax=64M",
    "innomem.service": "Slice=nomem.slice\nMemoryMax=64M",
    "closed.service": "MemoryMax=64M",
    "bad.service": "MemoryMax=512MB",
    "pct.service": "MemoryMax=10%",
    "plain.service": "",
}
SLICES = {"lim.slice": "MemoryMax=128M", "nomem.slice": "DisableControllers=memory"}
# (unit, setting): the state with memcg on and off; MemoryLimit= has its own rule
STATES = {
    ("max.service", "MemoryMax"): ("enforced", "unenforced"),
    ("high.service", "MemoryHigh"): ("enforced", "unenforced"),
    ("both.service", "MemoryMax"): ("enforced", "unenforced"),
    ("both.service", "MemoryLimit"): ("ignored", "ignored"),
    ("oomd.service", "ManagedOOMSwap"): ("enforced", "unenforced"),
    ("inslice.service", "MemoryMax"): ("enforced", "unenforced"),
    ("lim.slice", "MemoryMax"): ("enforced", "unenforced"),
    ("tpl@a.service", "MemoryMax"): ("enforced", "unenforced"),
    ("deleg.service", "MemoryMax"): ("enforced", "unenforced"),
    ("innomem.service", "MemoryMax"): ("unenforced", "unenforced"),
    ("closed.service", "MemoryMax"): ("enforced", "unenforced"),
    ("bad.service", "MemoryMax"): ("invalid", "invalid"),
    ("pct.service", "MemoryMax"): ("enforced", "unenforced"),
}
SCRIPT = """exec >/live/log 2>&1
systemctl --version | sed -n '1s/systemd \\([0-9]*\\).*/\\1/p' >/live/version
memcg-policy units --json >/live/units.json
journalctl -b -t memcg-policy -o json --no-pager >/live/records.json
systemctl show -p Result memcg-policy-warn.service >/live/warn
systemctl --no-pager status max.service >/live/max
systemctl --no-pager status closed.service >/live/closed
systemctl --no-pager --failed --no-legend | grep memcg-policy >/live/failed
memcg-policy warn >/live/again
"""
LIVE_UNIT = """[Unit]
After=multi-user.target memcg-policy-warn.service
[Service]
Type=oneshot
ExecStart=/bin/sh /live/script
ExecStopPost=/bin/systemctl poweroff -ff
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)


def make_root(suite, build, root):
    disk.unpack(disk.bootstrap(suite, PACKAGES), root)
    for source, target in (
        (build / "memcg-policy", "usr/bin"),
        (build / "memcg-policy-generator", "usr/lib/systemd/system-generators"),
        (build / "systemd/memcg-policy-warn.service", "usr/lib/systemd/system"),
        (SOURCE / "systemd/memcg-policy.catalog", "usr/lib/systemd/catalog"),
    ):
        (root / target).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, root / target)
    units = root / "etc/systemd/system"
    wants = units / "multi-user.target.wants"
    wants.mkdir(parents=True, exist_ok=True)
    for name, lines in SERVICES.items():
        write(units / name, f"[Service]\nExecStart=/bin/sleep infinity\n{lines}\n")
        instance = name.replace("@.", "@a.")
        (wants / instance).symlink_to(f"../{name}")
    for name, lines in SLICES.items():
        write(units / name, f"[Slice]\n{lines}\n")
    write(units / "live.service", LIVE_UNIT)
    (wants / "live.service").symlink_to("../live.service")
    (wants / "memcg-policy-warn.service").unlink(missing_ok=True)
    (wants / "memcg-policy-warn.service").symlink_to("/usr/lib/systemd/system/memcg-policy-warn.service")
    for name in ("systemd-udevd.service", "getty@tty1.service", "serial-getty@ttyS0.service"):
        (units / name).unlink(missing_ok=True)
        (units / name).symlink_to("/dev/null")
    write(root / "etc/memcg-policy/policy.conf", "[Policy]\nFailClosed=closed.service\n")
    write(root / "etc/fstab", "")
    write(root / "live/script", SCRIPT)


def boot(root, *words):
    with tempfile.TemporaryDirectory() as tmp:
        command = ["linux.uml", "root=/dev/root", "rootfstype=hostfs", f"rootflags={root}", "rw"]
        command += ["mem=512M", "con=null", "con0=null,fd:1", "console=tty0", f"uml_dir={tmp}"]
        command += ["init=/lib/systemd/systemd", *words]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=400,
                env={**os.environ, "TMPDIR": tmp},
            )
        except subprocess.TimeoutExpired as e:
            raise vm.Failed(f"no power-off: {(e.stdout or b'')[-1500:].decode(errors='replace')}") from None
    if not (root / "live/again").exists():
        raise vm.Failed(f"the script did not run:\n{done.stdout[-1500:].decode(errors='replace')}")


def check(root, off):
    live = root / "live"

    def expect(condition, what):
        if not condition:
            raise vm.Failed(f"memcg {'off' if off else 'on'}: {what}")

    version = int((live / "version").read_text())
    said = json.loads((live / "units.json").read_text())
    states = {(f["unit"], f["setting"]): f for f in said["findings"]}
    expected = dict(STATES)
    expected["limit.service", "MemoryLimit"] = (
        ("ignored", "ignored") if version >= 258 else ("enforced", "unenforced")
    )
    expect(said["memcg"] == ("off" if off else "on"), f"memcg is {said['memcg']}")
    expect(said["judged"] == "manager", "judged by the files")
    for key, pair in expected.items():
        found = states.get(key)
        expect(found, f"{key}: no finding")
        expect(found["state"] == pair[off], f"{key}: {found['state']}: {found['why']}")
    records = [json.loads(line) for line in (live / "records.json").read_text().splitlines()]
    told = {r["MEMCG_POLICY_UNIT"] for r in records if "MEMCG_POLICY_UNIT" in r}
    lost = {u for (u, _), pair in expected.items() if pair[off] == "unenforced"}
    if version >= 258:
        lost.add("limit.service")
    expect(told == lost, f"records for {sorted(told)}, expected {sorted(lost)}")
    expect(len(records) == len(lost) + 1, "\n".join(["more records:", *(r["MESSAGE"] for r in records)]))
    expect("Result=success" in (live / "warn").read_text(), "the service failed")
    expect((live / "failed").read_text() == "", "a unit of ours failed")
    expect((live / "again").read_text() == "", "told twice")
    line = "max.service: MemoryMax=64M is not enforced"
    expect((line in (live / "max").read_text()) == off, "systemctl status max.service")
    closed = (live / "closed").read_text()
    asserted = "AssertControlGroupController=memory was not met" in closed
    expect(asserted == off, f"closed.service: {closed}")
    expect(("active (running)" in closed) != off, f"closed.service: {closed}")


def main():
    if not shutil.which("linux.uml") or os.geteuid() != 0:
        print("SKIP live: not root, or no linux.uml (package user-mode-linux)")
        return 77
    build = pathlib.Path(sys.argv[1]).resolve()
    report = vm.Report()
    for suite in sys.argv[2:] or ["bookworm"]:
        with tempfile.TemporaryDirectory(prefix="live-", dir=vm.cache_dir()) as tmp:
            root = pathlib.Path(tmp, "root")
            root.mkdir()
            root.chmod(0o755)

            def run(off, words):
                shutil.rmtree(root / "run", ignore_errors=True)
                (root / "run").mkdir()
                (root / "live/again").unlink(missing_ok=True)
                boot(root, *words)
                check(root, off)

            report.run(
                f"{suite}-live",
                [
                    ("a root with the program", lambda: make_root(suite, build, root)),
                    ("memcg off", lambda: run(True, ["cgroup_disable=memory"])),
                    ("memcg on", lambda: run(False, [])),
                ],
            )
    return report.close()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
