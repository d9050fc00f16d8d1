#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""units.py BUILD_DIR [FILES...]: "units --root" against reading each unit file once, grep -rE and,
where it ends, systemctl, on generated trees of so many unit files (default 300 3000 10000 100000).

70 % of the units lie below /usr, 5 % have limits, 20 % a directory with one drop-in. Whole-process
wall and CPU time and peak resident memory by once.c, order shuffled inside each round, medians,
median of the paired ratios. grep runs in the caller's locale, as people run it, with its output in a
file (with /dev/null it stops at the first match), and again with LC_ALL=C.
"""
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
program = pathlib.Path(sys.argv[1]).resolve() / "memcg-policy"
sizes = [int(n) for n in sys.argv[2:]] or [300, 3000, 10000, 100000]
ROUNDS = {300: 51, 3000: 31, 10000: 15, 100000: 5}
PATTERN = r"^(Startup|Default)?Memory(Max|High|Low|Min|SwapMax|ZSwapMax|Limit)="
BODY = """[Unit]
Description=Service number {n} of the benchmark
Documentation=man:service(8) https://example.com/docs/service-{n}
After=network-online.target remote-fs.target nss-lookup.target
Wants=network-online.target
ConditionPathExists=/etc/service-{n}/config

[Service]
Type=notify
EnvironmentFile=-/etc/default/service-{n}
ExecStartPre=/usr/bin/install -d -m 0755 -o daemon /run/service-{n}
ExecStart=/usr/sbin/service-{n} --foreground --config=/etc/service-{n}/config
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=5
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
NoNewPrivileges=yes
{limits}
[Install]
WantedBy=multi-user.target
"""


def make_tree(top, count):
    vendor, site = top / "usr/lib/systemd/system", top / "etc/systemd/system"
    vendor.mkdir(parents=True)
    site.mkdir(parents=True)
    for n in range(count):
        where = vendor if n % 10 < 7 else site
        limits = "MemoryMax=512M\nMemoryHigh=400M\n" if n % 20 == 0 else ""
        (where / f"service-{n}.service").write_text(BODY.format(n=n, limits=limits))
        if n % 5 == 0:
            directory = site / f"service-{n}.service.d"
            directory.mkdir()
            (directory / "50-local.conf").write_text(
                f"[Service]\nEnvironment=SERVICE_NUMBER={n}\nTimeoutStopSec=30\nLimitNOFILE=65536\n")
    return vendor, site


def once(row, runner, out):
    """(wall s, cpu s, peak KiB)"""
    _, argv, *extra = row
    done = subprocess.run([runner, out, *argv], check=True, capture_output=True,
                          env={**os.environ, **(extra[0] if extra else {})})
    wall, cpu, peak, _ = map(int, done.stdout.split())
    return wall / 1e9, cpu / 1e9, peak


def run(count, floor, runner):
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "C"
    with tempfile.TemporaryDirectory(prefix="memcg-units-") as directory:
        top = pathlib.Path(directory)
        vendor, site = make_tree(top, count)
        grep = [shutil.which("grep"), "-rE", PATTERN, str(vendor), str(site)]
        rows = [("read every file once (C)", [str(floor), str(vendor), str(site)]),
                ("memcg-policy units --root", [str(program), "units", f"--root={top}"]),
                ("memcg-policy units --root --json", [str(program), "units", f"--root={top}", "--json"]),
                (f"grep -rE ({locale})", grep),
                ("grep -rE (LC_ALL=C)", grep, {"LC_ALL": "C"})]
        rounds = ROUNDS.get(count, 9)
        slow = []
        if shutil.which("systemctl") and count <= 3000:
            slow = [("systemctl list-unit-files", [shutil.which("systemctl"), f"--root={top}", "list-unit-files"])]
        samples = {row[0]: [] for row in rows + slow}
        for row in rows:
            once(row, runner, top / "out")
        for number in range(rounds):
            order = list(rows) + (slow if number < 3 else [])
            random.shuffle(order)
            for row in order:
                samples[row[0]].append(once(row, runner, top / "out"))
    base = samples[rows[0][0]]
    print(f"\nunits: {count} unit files: target at most 1.5x reading each once, and less than grep ({rounds} rounds)")
    print(f"  {'':36} {'wall ms':>9} {'cpu ms':>9} {'RSS MiB':>8} {'ratio':>6} {'cpu':>6}")
    for name, mine in samples.items():
        wall = statistics.median(m[0] / b[0] for m, b in zip(mine, base))
        cpu = statistics.median(m[1] / max(b[1], 1e-9) for m, b in zip(mine, base))
        print(f"  {name:36} {statistics.median(m[0] for m in mine) * 1e3:9.2f} "
              f"{statistics.median(m[1] for m in mine) * 1e3:9.2f} "
              f"{max(m[2] for m in mine) / 1024:8.1f} {wall:6.2f} {cpu:6.2f}", flush=True)


with tempfile.TemporaryDirectory(prefix="memcg-floor-") as tmp:
    for name in ("floor", "once"):
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", f"{tmp}/{name}", here / f"{name}.c"], check=True)
    for size in sizes:
        run(size, f"{tmp}/floor", f"{tmp}/once")
