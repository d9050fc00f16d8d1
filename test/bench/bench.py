#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""./dev bench: speed and size, side by side in one run with what a user would run instead.

bench.py BUILD_DIR [SECTION...]     sections: start status apply units entries generator

Every table compares programs by whole-process wall and CPU time, the order shuffled inside each
round, medians and the median of the paired ratios to the first row (wall, CPU). These are figures to read, not
tests: nothing here passes or fails.
"""
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
build = pathlib.Path(sys.argv[1]).resolve()
sections = sys.argv[2:] or ["start", "status", "apply", "units", "entries", "generator"]
program = build / "memcg-policy"


def once(argv):
    """(wall s, cpu s, peak resident KiB, exit status) of one run, by once.c."""
    out = subprocess.run([ONCE, TEMPORARY / "output", *argv], check=True, capture_output=True)
    wall, cpu, peak, status = map(int, out.stdout.split())
    return wall / 1e9, cpu / 1e9, peak, status


def compare(title, rows, rounds=101):
    """rows: [(name, argv)]; the first is what the others are measured against."""
    samples = {name: [] for name, _ in rows}
    for _, argv in rows:
        once(argv)  # warm
    for _ in range(rounds):
        order = list(rows)
        random.shuffle(order)
        for name, argv in order:
            samples[name].append(once(argv))
    base = samples[rows[0][0]]
    print(f"\n{title} ({rounds} rounds)")
    print(f"  {'':64} {'wall ms':>8} {'cpu ms':>8} {'RSS MiB':>8} {'ratio':>6} {'cpu':>6}  exit")
    for name, _ in rows:
        mine = samples[name]
        ratio, cpu = (statistics.median(m[i] / max(b[i], 1e-9) for m, b in zip(mine, base))
                      for i in (0, 1))
        print(f"  {name:64} {statistics.median(m[0] for m in mine) * 1e3:8.2f} "
              f"{statistics.median(m[1] for m in mine) * 1e3:8.2f} "
              f"{statistics.median(m[2] for m in mine) / 1024:8.1f} {ratio:6.2f} {cpu:6.2f}  "
              f"{mine[-1][3]}")


def have(*names):
    """(name, argv) for a program that is installed; a missing one is said."""
    path = shutil.which(names[0])
    if path is None:
        print(f"SKIP bench {names[0]}: not installed")
        return []
    return [(" ".join(names), [path, *names[1:]])]


def hello(directory):
    source = directory / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
    subprocess.run(["cc", "-O2", "-o", directory / "hello", source], check=True)
    return [("a C program with libc only", [str(directory / "hello")])]


def start(tmp):
    compare("start-up: target at most 1.3x a libc-only program", hello(tmp) + [
        ("memcg-policy --version", [str(program), "--version"]),
    ], 101)


def status(tmp):
    compare("where does this host stand: target no slower than systemd-analyze condition",
            have("systemd-analyze", "condition", "ConditionControlGroupController=memory") +
            have("grep", "memory", "/proc/cgroups") + [
                ("memcg-policy status", [str(program), "status"]),
                ("memcg-policy check", [str(program), "check"]),
            ] + have("lxc-checkconfig"), 51)


def debian_root(tmp):
    """A small root with Debian's GRUB files as its packages install them."""
    root = tmp / "root"
    for name, text in {
        "etc/default/grub": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX=""\n',
        "etc/fstab": "",
        "boot/vmlinuz-6.1.0-1-amd64": "",
        "boot/config-6.1.0-1-amd64": "CONFIG_CGROUPS=y\nCONFIG_MEMCG=y\n",
        "usr/sbin/update-grub": "#!/bin/sh\n",
        "usr/sbin/grub-mkconfig": "#!/bin/sh\n# . /etc/default/grub.d/*.cfg\n"
                                  "for x in ${sysconfdir}/default/grub.d/*.cfg ; do . \"${x}\"; done\n",
        "boot/grub/grub.cfg": "",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
    return root


def apply(tmp):
    rows = hello(tmp)
    for policy in ("on", "off", "auto"):
        root = tmp / policy
        shutil.copytree(debian_root(tmp / f"{policy}.d"), root)
        subprocess.run([program, "set", f"--root={root}", policy], capture_output=True, check=False)
        rows.append((f"apply --root, policy {policy}, nothing to do",
                     [str(program), "apply", f"--root={root}"]))
        rows.append((f"apply --hook, policy {policy}, nothing to do",
                     [str(program), "apply", "--hook", f"--root={root}"]))
    compare("apply with nothing to do: target at most 2x for on and off", rows)


def units(tmp):
    script = here / "units.py"
    if script.exists():
        subprocess.run([sys.executable, script, str(build)], check=False)


def entries(tmp):
    script = here / "entries.py"
    if script.exists():
        subprocess.run([sys.executable, script, str(build)], check=False)


def generator(tmp):
    subprocess.run([sys.executable, here / "generator.py", str(build)], check=False)


with tempfile.TemporaryDirectory(prefix="memcg-bench-") as directory:
    TEMPORARY = pathlib.Path(directory)
    ONCE = TEMPORARY / "once"
    subprocess.run(["cc", "-O2", "-o", ONCE, here / "once.c"], check=True)
    for section in sections:
        sub = pathlib.Path(directory) / section
        sub.mkdir()
        {"start": start, "status": status, "apply": apply, "units": units,
         "entries": entries, "generator": generator}[section](sub)
