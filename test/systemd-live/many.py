#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real system manager with many units, at this machine's own speed: Debian's systemd as PID 1 of
namespaces of its own, every unit running in a cgroup. How long do "units" (live and offline),
"status", "warn", "apply --hook" and the generator take?

usage: many.py BUILD-DIR [UNITS]      default 2000; as root; BUILD-DIR: without sanitizers
"""

import os
import pathlib
import shutil
import sys
import tempfile

import space
import uml
import vm
from uml import link, write

SUITE = "bookworm"
MEASURE = r"""#!/bin/bash
exec >/live/log 2>&1
TIMEFORMAT='%R %U %S'
measure() {
	name=$1
	shift
	"$@" >/live/out-$name 2>/live/err-$name
	for _ in 1 2 3 4 5; do
		{ time "$@" >/dev/null 2>&1; } 2>>/live/time-$name
	done
}
generate() {
	rm -rf /run/gen
	mkdir -p /run/gen/a /run/gen/b /run/gen/c
	/usr/lib/systemd/system-generators/memcg-policy-generator /run/gen/a /run/gen/b /run/gen/c
}
systemctl list-units --type=service --state=running --no-legend --no-pager | wc -l >/live/running
measure units-live memcg-policy units --json
measure units-files memcg-policy units --root=/ --json
measure status memcg-policy status --json
measure hook memcg-policy apply --hook
measure warn memcg-policy warn
measure generator generate
find /run/gen -name '*.conf' | wc -l >/live/generated
measure list systemctl list-units --no-pager
measure show systemctl show -p MemoryMax '*.service'
: >/live/done
"""


def make_root(build, root, n):
    uml.disk.unpack(uml.disk.bootstrap(SUITE, uml.PACKAGES), root)
    uml.install(build, root)
    units = root / "etc/systemd/system"
    wants = units / "many.target.wants"
    write(units / "many.target", "[Unit]\nRequires=basic.target\nAfter=basic.target\n")
    for i in range(n):
        name = f"many-{i:04}.service"
        write(units / name, f"{uml.SLEEP}MemoryMax={64 + i % 64}M\n")
        link(wants / name, f"../{name}")
        if i % 4 == 0:
            write(units / f"{name}.d/local.conf", "[Service]\nMemoryHigh=32M\n")
    write(units / "measure.service", "[Unit]\nAfter=many.target\n[Service]\nType=oneshot\nExecStart=/live/measure\n")
    link(wants / "measure.service", "../measure.service")
    for name in ("systemd-udevd.service", "systemd-journald.service", "systemd-oomd.service", "systemd-logind.service"):
        link(units / name, "/dev/null")
    write(root / "etc/memcg-policy/policy.conf", "[Policy]\nMemcg=auto\nFailClosed=many-*.service\n")
    write(root / "etc/fstab", "")
    write(root / "live/measure", MEASURE).chmod(0o755)


def report(root, n):
    live = root / "live"
    text = lambda name: (live / name).read_text().strip()  # noqa: E731
    print(f"{text('running')} services run, {n} with MemoryMax=; {text('generated')} drop-ins by the generator")
    print(f"{'':28}{'best wall ms':>14}{'best CPU ms':>14}")
    rows = {"units, live": "units-live", "units, files": "units-files", "status": "status",
            "apply --hook": "hook", "warn, nothing new": "warn", "generator": "generator",
            "systemctl list-units": "list", "systemctl show -p MemoryMax": "show"}
    for title, name in rows.items():
        times = [[float(x) for x in line.split()] for line in text(f"time-{name}").splitlines()]
        wall, cpu = min(t[0] for t in times), min(t[1] + t[2] for t in times)
        print(f"{title:28}{wall * 1000:>14.0f}{cpu * 1000:>14.0f}")
        said = text(f"err-{name}")
        if said:
            print(f"    it said: {said[:300]}")


def main():
    if os.geteuid() != 0:
        print("SKIP many: not root")
        return 77
    build, n = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    with tempfile.TemporaryDirectory(prefix="many-", dir=vm.cache_dir()) as tmp:
        root = pathlib.Path(tmp, "root")
        root.mkdir()
        root.chmod(0o755)
        make_root(build, root, n)
        space.run(root, "many.target")
        report(root, n)
        if "KEEP" in os.environ:
            shutil.copytree(root / "live", os.environ["KEEP"], dirs_exist_ok=True)
    return 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
