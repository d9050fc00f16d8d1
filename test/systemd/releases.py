#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The unit loader against the systemd of Debian releases, in roots of their own.

    releases.py DUMP [SUITE...] [--cases N] [--seed N] [--random] [--real]

Of each suite: the random trees of truth.py, then the unit directories of a server's and of a
desktop's packages, as they are and with limits added by hand. All of it with the systemd of that
suite; the archives are kept in the cache. --random and --real do one half.
"""

import argparse
import os
import pathlib
import random
import sys

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
    """The number of units, and {unit: what differs}."""
    names = unit_names(systemd.root, dirs)
    place = pathlib.Path(systemd.root, "tmp/all")
    (place / "run").mkdir(parents=True, exist_ok=True)
    (place / "run").chmod(0o777)
    (place / "all.target").write_text("[Unit]\n" + "".join(f"Wants={n}\n" for n in names))
    every = [*dirs, "/tmp/all"]
    theirs = systemd.load(every, "/tmp/all/run")
    ours = truth.run_dump(dump, systemd, every, names)
    if ours is None:
        return 0, {manager: ["no answer"]}
    found = {}
    for name in names:
        lines = truth.compare(ours[name], theirs.get(name, truth.Unit()), truth.physical_memory(),
                              list(truth.generate.SIZES), systemd.root)
        if lines:
            found[name] = lines
    return len(names), found


def real(suite, which, dump, seed, failures):
    with roots.unpacked(suite, which) as root:
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
                number, found = judge_real(systemd, dump, manager, dirs)
                print(f"{suite}, systemd {systemd.version}, {which} {manager} {state}: "
                      f"{number} units, {len(found)} differ", flush=True)
                failures += [f"{suite} {which} {name}: {'; '.join(lines)}" for name, lines in found.items()]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dump")
    p.add_argument("suites", nargs="*", default=roots.SUITES)
    p.add_argument("--cases", type=int, default=2600)
    p.add_argument("--seed", type=int, default=truth.random_seed())
    p.add_argument("--random", action="store_true")
    p.add_argument("--real", action="store_true")
    args = p.parse_intermixed_args()
    failures = []
    try:
        for suite in args.suites:
            if not args.real:
                with roots.unpacked(suite) as root:
                    if not truth.judge(truth.Systemd(root=root), args.dump, args.seed, args.cases):
                        failures.append(f"{suite}: random trees")
            for which in [] if args.random else roots.SETS:
                real(suite, which, args.dump, args.seed, failures)
    except roots.vm.Skipped as why:
        print(f"SKIP releases: {why}")
        return 77
    for failure in failures:
        print(f"FAIL {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
