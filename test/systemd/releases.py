#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The unit loader against the systemd of Debian releases, in roots of their own.

    releases.py DUMP [SUITE...] [--cases N] [--seed N] [--random] [--real] [--quadlets]

Of each suite: the random trees of truth.py, then the unit directories of a server's and of a
desktop's packages, as they are and with limits added by hand, then random quadlets. All of it with
the systemd and the podman of that suite; the archives are kept in the cache. Whether units are
enabled is held against systemctl's list. An option does its part alone.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

import quadlets
import roots
import truth

TYPES = ("service", "socket", "mount", "swap", "slice", "scope", "target", "timer", "path", "automount")
SECTIONS = {t: t.capitalize() for t in ("service", "socket", "mount", "swap", "slice")}


def unit_names(root, dirs):
    """Every unit that has a file or an entry in a .wants directory; of a template, one instance."""
    names = set()
    for directory in dirs:
        top = root + truth.resolved(directory, root)
        if not os.path.isdir(top):
            continue
        for entry in os.scandir(top):
            if entry.name.endswith((".wants", ".requires", ".upholds")) and entry.is_dir(follow_symlinks=False):
                names.update(os.listdir(entry.path))
            else:
                names.add(entry.name)
    units = {n.replace("@.", "@truth.") for n in names if n.rpartition(".")[2] in TYPES}
    # a manager makes these of what the kernel says, and they are its own
    return sorted(u for u in units if u not in ("-.mount", "-.slice", "init.scope"))


def add_limits(rng, root, names, top):
    """What an administrator adds: limits to every third unit, in drop-ins of all kinds."""
    for name in names:
        kind = name.rpartition(".")[2]
        if kind not in SECTIONS or rng.random() > 0.33:
            continue
        stem = name
        if "-" in name and rng.random() < 0.2:
            stem = name.partition("-")[0] + "-." + kind
        elif "@truth" in name and rng.random() < 0.5:
            stem = name.replace("@truth", "@")
        place = pathlib.Path(f"{root}{top}/{stem}.d")
        place.mkdir(parents=True, exist_ok=True)
        value = rng.choice(["64M", "1G", "512MB", "50%", "infinity", "", "0"])
        key = rng.choice(["MemoryMax", "MemoryHigh", "MemoryLow", "MemorySwapMax", "MemoryLimit", "MemoryMin"])
        (place / rng.choice(["10-a.conf", "50-b.conf"])).write_text(f"[{SECTIONS[kind]}]\n{key}={value}\n")


def search_path(systemd, dump, manager):
    """(the manager's directories, what differs from the loader's)."""
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "SYSTEMD_LOG_LEVEL": "err"}
    asked = ["unit-paths"] + (["--global"] if manager == "--user" else [])
    shown = systemd.run("/usr/bin/systemd-analyze", asked, env).stdout.decode().split("\n")
    theirs = []
    for path in filter(None, shown):
        real = truth.resolved(path, systemd.root)
        if os.path.isdir(systemd.root + real) and real not in theirs:
            theirs.append(real)
    ours = [truth.resolved(p, systemd.root) for p in truth.run_path(dump, systemd, manager)]
    return theirs, [] if ours == theirs else [f"search path: {ours}, systemd: {theirs}"]


def judge_real(systemd, dump, manager, dirs):
    """The number of units, those that systemd refuses for other reasons, and {unit: what differs}.

    The user manager that answers for the system's units has no DynamicUser= and may not reboot.
    """
    names = unit_names(systemd.root, dirs)
    place = pathlib.Path(systemd.root, "tmp/all")
    (place / "run").mkdir(parents=True, exist_ok=True)
    (place / "run").chmod(0o777)
    (place / "all.target").write_text("[Unit]\n" + "".join(f"Wants={n}\n" for n in names))
    every = [*dirs, "/tmp/all"]
    theirs = systemd.load(every, "/tmp/all/run")
    ours = truth.run_dump(dump, systemd, every, names)
    if ours is None:
        return 0, set(), {manager: ["no answer"]}
    found = {}
    refused = {n for n in names if n in theirs and theirs[n].state == "bad-setting" and ours[n].state == "loaded"}
    for name in names:
        if name in refused:
            continue
        lines = truth.compare(ours[name], theirs.get(name, truth.Unit()), truth.physical_memory(),
                              list(truth.generate.SIZES), systemd.root)
        if lines:
            found[name] = lines
    return len(names), refused, found


# What may stand in BOOT of "units" for a state of "systemctl list-unit-files". Ours is whether
# anything starts the unit at boot, which units without [Install] have from others.
MAY_BE = {
    "enabled": {"enabled"}, "static": {"static", "enabled"}, "disabled": {"disabled", "enabled"},
    "indirect": {"disabled", "enabled"}, "masked": {"masked"},
}


def judge_enabled(systemd, program, manager):
    """The number of units with settings that systemctl has a state of, and {unit: what differs}."""
    asked = systemd.run("/usr/bin/systemctl", ["list-unit-files", "--no-legend", "--no-pager"] +
                        (["--global"] if manager == "--user" else []), {"PATH": "/usr/bin:/bin"})
    theirs = dict(line.split()[:2] for line in asked.stdout.decode().splitlines() if line)
    command = [program, "units", f"--root={systemd.root}", "--json"] + (["--user"] if manager == "--user" else [])
    asked = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    ours = {f["unit"]: f["enabled"] for f in json.loads(asked.stdout)["findings"]}
    both = [n for n in ours if theirs.get(n) in MAY_BE and "@." not in n]
    return len(both), {n: [f"{ours[n]} at boot, systemctl: {theirs[n]}"] for n in both
                       if ours[n] not in MAY_BE[theirs[n]]}


def real(suite, which, dump, seed, failures):
    program = pathlib.Path(dump).resolve().parents[2] / "memcg-policy"
    with roots.unpacked(suite, roots.SETS[which]) as root:
        systemd = truth.Systemd(root=root)
        for words in (["preset-all"], ["--global", "preset-all"]):
            systemd.run("/usr/bin/systemctl", words, {"PATH": "/usr/bin:/bin"})
        for manager, top in (("--system", "/etc/systemd/system"), ("--user", "/etc/systemd/user")):
            dirs, wrong = search_path(systemd, dump, manager)
            for line in wrong:
                failures.append(f"{suite} {which} {manager}: {line}")
            for state in ("as packaged", "with limits"):
                if state == "with limits":
                    add_limits(random.Random(seed), root, unit_names(root, dirs), top)
                    before = refused
                number, refused, found = judge_real(systemd, dump, manager, dirs)
                print(f"{suite}, systemd {systemd.version}, {which} {manager} {state}: {number} units, "
                      f"{len(refused)} not for a user manager, {len(found)} differ", flush=True)
                if state == "with limits" and refused != before:
                    found.update({n: ["systemd refuses it with limits"] for n in refused ^ before})
                failures += [f"{suite} {which} {name}: {'; '.join(lines)}" for name, lines in found.items()]
            number, found = judge_enabled(systemd, program, manager)
            print(f"{suite}, {which} {manager}: {number} units with settings known to systemctl, "
                  f"{len(found)} enabled otherwise", flush=True)
            failures += [f"{suite} {which} {name}: {'; '.join(lines)}" for name, lines in found.items()]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dump")
    p.add_argument("suites", nargs="*", default=roots.SUITES)
    p.add_argument("--cases", type=int, default=2600)
    p.add_argument("--seed", type=int, default=truth.random_seed())
    p.add_argument("--random", action="store_true")
    p.add_argument("--real", action="store_true")
    p.add_argument("--quadlets", action="store_true")
    args = p.parse_intermixed_args()
    if not (args.random or args.real or args.quadlets):
        args.random = args.real = args.quadlets = True
    failures = []
    try:
        for suite in args.suites:
            if args.random:
                with roots.unpacked(suite) as root:
                    if not truth.judge(truth.Systemd(root=root), args.dump, args.seed, args.cases):
                        failures.append(f"{suite}: random trees")
            for which in roots.SETS if args.real else []:
                real(suite, which, args.dump, args.seed, failures)
            if args.quadlets and not quadlets.judge_suite(suite, args.dump, args.seed):
                failures.append(f"{suite}: quadlets")
    except roots.vm.Skipped as why:
        print(f"SKIP releases: {why}")
        return 77
    for failure in failures:
        print(f"FAIL {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
