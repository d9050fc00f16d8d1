#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The unit loader against systemd itself.

Generates units with random syntax, values, drop-ins, links and slices, so that every rule that
the loader implements occurs at least 20 times, lets "systemd --test --user" (as nobody, no
running manager needed) load them, and compares load state, names, drop-ins, slice and every
memory setting of each unit with what unit-dump says.

    truth.py --dump PROGRAM [--systemd PATH] [--seed N] [--cases N] [--keep] [--root DIR]

--root runs the systemd of another system's root (a directory) by chroot(2); the loader reads the
same root from outside.
"""

import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import generate

MIN_PER_RULE = 20
NOBODY = 65534

ZERO_IS_DEFAULT = {"MemoryMin", "MemoryLow", "DefaultMemoryMin", "DefaultMemoryLow",
                   "StartupMemoryLow"}
INFINITY = (1 << 64) - 1


# --- systemd's answers ---

class Systemd:
    """A systemd to ask: this system's, or the one in a root."""

    def __init__(self, path="/lib/systemd/systemd", root=""):
        self.path = path
        self.root = root.rstrip("/")
        done = self.run(path, ["--version"], {})
        match = re.match(rb"systemd (\d+)", done.stdout)
        if not match:
            sys.exit(f"{self.root}{path} --version: {done.stderr.decode(errors='replace')[:500]}")
        self.version = int(match.group(1))

    def run(self, program, words, env, user=0):
        """A program of the root; newer ones need /proc and a cgroup file system."""
        script = "user=$1; shift; "
        if self.root:
            script += ('mount --rbind /proc "$0/proc" && mount --bind /sys "$0/sys" && '
                       'mount -t cgroup2 cgroup2 "$0/sys/fs/cgroup" && ')
        script += 'exec chroot --userspec=$user:$user --groups=$user "$0" env -i "$@"'
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, self.root or "/", str(user),
             *[f"{k}={v}" for k, v in env.items()], program, *words],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)

    def load(self, dirs, runtime):
        """{name: Unit} of all that all.target wants; the paths are as the root has them."""
        env = {
            "SYSTEMD_UNIT_PATH": ":".join(dirs), "SYSTEMD_LOG_TARGET": "console",
            "SYSTEMD_LOG_LEVEL": "err", "XDG_RUNTIME_DIR": runtime,
            "PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8",
        }
        r = self.run(self.path, ["--test", "--user", "--unit=all.target"], env, NOBODY)
        units = parse_dump(r.stdout)
        if "all.target" not in units:
            sys.exit(f"systemd --test gave no answer (exit {r.returncode}):\n"
                     f"{r.stderr.decode('utf-8', 'replace')[:2000]}")
        return units


class Unit:
    def __init__(self):
        self.state = "not-found"
        self.aliases = []
        self.dropins = []
        self.fragment = None
        self.slice = None
        self.values = {}
        self.conditions = []  # (name, "|!words")


def parse_dump(out):
    units, unit = {}, None
    for line in out.decode("utf-8", "replace").split("\n"):
        m = re.match(r"\t(?:->|\u2192) Unit (\S+):$", line)
        if m:
            unit = units[m.group(1)] = Unit()
            continue
        if unit is None or not line.startswith("\t\t"):
            continue
        # an empty list leaves nothing but "DisableControllers:" of its line
        key, _, value = line.strip().partition(":")
        value = value.strip()
        if key == "Unit Load State":
            unit.state = value
        elif key == "Alias":
            unit.aliases.append(value)
        elif key == "Fragment Path":
            unit.fragment = value
        elif key == "DropIn Path":
            unit.dropins.append(value)
        elif key == "Slice":
            unit.slice = value
        elif key.startswith(("Condition", "Assert")):
            unit.conditions.append((key, value.rpartition(" ")[0]))
        else:
            unit.values.setdefault(key, value)
    for name in list(units):
        for alias in units[name].aliases:
            units.setdefault(alias, units[name])
    return units


# --- ours ---

def run_dump(program, systemd, dirs, names, more=()):
    """{name: Unit}, or None when the program failed."""
    command = [program, f"--version={systemd.version}", *more]
    if systemd.root:
        command.append(f"--root={systemd.root}")
    r = subprocess.run([*command, *dirs, "--"], input="\n".join(names).encode() + b"\n",
                       check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if r.returncode != 0:
        print(f"unit-dump failed ({r.returncode}): {r.stderr.decode('utf-8', 'replace')[:4000]}")
        return None
    units, unit = {}, None
    for line in r.stdout.decode("utf-8", "replace").split("\n"):
        word, _, rest = line.partition(" ")
        if word == "unit":
            asked, name, state = rest.split(" ")
            unit = units[asked] = Unit()
            unit.name, unit.state = name, state
        elif word == "alias":
            unit.aliases.append(rest)
        elif word == "fragment":
            unit.fragment = rest
        elif word == "dropin":
            unit.dropins.append(rest)
        elif word == "slice":
            unit.slice = rest
        elif word == "set":
            key, _, value = rest.partition(" ")
            unit.values[key] = value
    return units


def run_path(program, systemd, manager):
    """The directories that the loader would search."""
    r = subprocess.run([program, manager, f"--version={systemd.version}", f"--root={systemd.root or '/'}",
                        "--paths"], check=True, capture_output=True, text=True)
    return r.stdout.split()


# What begins or ends like them and has nothing to do with the memory controller.
LOOKALIKES = {
    "MemoryDenyWriteExecute", "MemoryKSM", "MemoryTHP", "AllowedMemoryNodes", "StartupAllowedMemoryNodes",
    "MemoryPressureWatch", "MemoryPressureThresholdSec", "OOMScoreAdjust", "DelegateSubgroup", "DelegateNamespaces",
    "BPFDelegateCommands", "BPFDelegateMaps", "BPFDelegatePrograms", "BPFDelegateAttachments",
    "ConditionMemory", "AssertMemory", "ConditionMemoryPressure", "AssertMemoryPressure",
}


def judge_settings(program, systemd):
    """Our table of settings against all that this systemd says it reads: what differs."""
    asked = systemd.run(systemd.path, ["--dump-configuration-items"], {"PATH": "/usr/bin:/bin"}, NOBODY)
    theirs, section = {}, None
    for line in asked.stdout.decode().split("\n"):
        if line.startswith("["):
            section = line.strip("[]")
        elif re.search("Memory|OOM|Delegate|DisableControllers|ControlGroupController", line):
            theirs.setdefault(line.partition("=")[0], set()).add(section)
    listed = subprocess.run([program, "--settings"], check=True, capture_output=True, text=True).stdout
    out, ours = [], set()
    for line in listed.splitlines():
        name, since, without, *sections = line.split(" ")
        since, without = int(since), int(without)
        reads = since <= systemd.version and (without == 0 or systemd.version < without)
        ours.add(name)
        if not reads and name in theirs:
            out.append(f"{name}=: not read by {systemd.version}, systemd: it is")
        # some sections have settings without an effect
        if reads and not set(sections) <= theirs.get(name, set()):
            out.append(f"{name}= in {' '.join(sections)}, systemd: {' '.join(sorted(theirs.get(name, set())))}")
    out += [f"{name}=: not known" for name in sorted(set(theirs) - ours - LOOKALIKES)]
    print(f"{len(ours)} settings, systemd {systemd.version} has {len(theirs)} like them, {len(out)} differ")
    for line in out:
        print("    " + line)
    return not out


def judge_path(program, systemd):
    """The search paths, also of what is not there: the system's, all users', and one user's."""
    out = []
    for asked, owner, env in (
            (["unit-paths"], ["--system"], {}), (["--global", "unit-paths"], [], {}),
            (["--user", "unit-paths"], ["--home=/home/u", "--runtime=/run/user/1"],
             {"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/1"}),
            (["--user", "unit-paths"], ["--home=/home/u"], {"HOME": "/home/u"})):
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **env}
        theirs = systemd.run("/usr/bin/systemd-analyze", asked, env, NOBODY).stdout.decode().split()
        ours = subprocess.run([program, *owner, f"--version={systemd.version}", "--spelt"], check=True,
                              capture_output=True, text=True).stdout.split()
        # an option of systemd's build until v258
        if "/lib/systemd/system" not in theirs:
            ours = [p for p in ours if p != "/lib/systemd/system"]
        if ours != theirs:
            out.append(f"{' '.join(asked)}: {ours}, systemd: {theirs}")
    print(f"4 search paths, {len(out)} differ")
    for line in out:
        print("    " + line)
    return not out


def physical_memory():
    with open("/proc/meminfo", encoding="ascii") as f:
        total = int(re.search(r"MemTotal:\s+(\d+)", f.read()).group(1)) * 1024
    return total


def expected_size(key, value, ram):
    """Our dump's value as systemd's number."""
    if value is None:
        return 0 if key in ZERO_IS_DEFAULT else INFINITY
    if value == "infinity":
        return INFINITY
    if value.startswith("share "):
        # of whole pages, as systemd scales it (physical_memory_scale())
        page = os.sysconf("SC_PAGE_SIZE")
        return (ram // page) * int(value.split()[1]) // 10000 * page
    return int(value)


def seconds(text):
    """systemd's "1min 30s", and "1.500000s" of newer ones; what is below a second is dropped."""
    units = {"y": 31557600, "month": 2629800, "w": 604800, "d": 86400, "h": 3600, "min": 60, "s": 1}
    return sum(int(n) * units.get(unit, 0) for n, unit in re.findall(r"(\d+)(?:\.\d+)?([a-z]+)", text))


def resolved(path, root, hops=0):
    """Where a path leads inside the root."""
    done = "/"
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, part)
        if os.path.islink(root + here) and hops < 40:
            here = resolved(os.path.join(done, os.readlink(root + here)), root, hops + 1)
        done = here
    return done


def shown(path, root):
    """systemd shows drop-ins by their directory's real place, we by the one it was found in."""
    return os.path.join(resolved(os.path.dirname(path), root), os.path.basename(path))


def delegation(theirs):
    """(whether a unit delegates, the controllers): v254 put both into one line."""
    value = theirs.values.get("Delegate")
    if value in ("yes", "no"):
        return value == "yes", theirs.values.get("DelegateControllers", "").split()
    return value is not None, (value or "").split()


def compare(ours, theirs, ram, sizes, root):
    """The differences, as text."""
    if ours.state == "error" and theirs.state in ("error", "not-found"):
        return []
    out = []
    if ours.state != theirs.state:
        return [f"state: {ours.state}, systemd: {theirs.state}"]
    if ours.state == "masked" and ours.values:
        out.append(f"a masked unit has {ours.values}")
    if ours.state != "loaded":
        return out
    if ours.fragment != theirs.fragment:
        out.append(f"fragment: {ours.fragment}, systemd: {theirs.fragment}")
    if [shown(p, root) for p in ours.dropins] != theirs.dropins:
        out.append(f"drop-ins: {ours.dropins}, systemd: {theirs.dropins}")
    if sorted(ours.aliases) != sorted(theirs.aliases):
        out.append(f"aliases: {ours.aliases}, systemd: {theirs.aliases}")
    if theirs.slice not in (None, "n/a") and ours.slice != theirs.slice:
        out.append(f"slice: {ours.slice}, systemd: {theirs.slice}")
    for key in sizes:
        theirs_value = theirs.values.get(key)
        if theirs_value is None:
            continue
        a = expected_size(key, ours.values.get(key), ram)
        b = INFINITY if theirs_value == "infinity" else int(theirs_value)
        if a != b:
            out.append(f"{key}: {a} ({ours.values.get(key)}), systemd: {b}")
    accounting = theirs.values.get("MemoryAccounting")
    if accounting == "no" and "MemoryAccounting" in ours.values:
        out.append("MemoryAccounting: set, systemd: no")
    delegates, controllers = delegation(theirs)
    if ("memory" in controllers) != ("Delegate" in ours.values):
        out.append(f"Delegate: {ours.values.get('Delegate')}, systemd: {controllers}")
    disabled = "memory" in theirs.values.get("DisableControllers", "").split()
    if "DisableControllers" in theirs.values and disabled != ("DisableControllers" in ours.values):
        out.append(f"DisableControllers: {ours.values.get('DisableControllers')}, systemd: {theirs.values.get('DisableControllers')}")
    for key in ("ManagedOOMSwap", "ManagedOOMMemoryPressure"):
        if key in theirs.values and theirs.values[key] != ours.values.get(key, "auto"):
            out.append(f"{key}: {ours.values.get(key)}, systemd: {theirs.values[key]}")
    if "ManagedOOMPreference" in theirs.values and theirs.values["ManagedOOMPreference"] != ours.values.get("ManagedOOMPreference", "none"):
        out.append(f"ManagedOOMPreference: {ours.values.get('ManagedOOMPreference')}, systemd: {theirs.values['ManagedOOMPreference']}")
    for key in ("ConditionControlGroupController", "AssertControlGroupController"):
        words = [v.strip("|").split() for k, v in theirs.conditions if k == key]
        if any("memory" in w for w in words) != (key in ours.values):
            out.append(f"{key}: {ours.values.get(key)}, systemd: {words}")
    span = ours.values.get("ManagedOOMMemoryPressureDurationSec")
    theirs_span = theirs.values.get("ManagedOOMMemoryPressureDurationSec")
    if (int(span) // 1000000 if span else None) != (seconds(theirs_span) if theirs_span else None):
        out.append(f"ManagedOOMMemoryPressureDurationSec: {span}, systemd: {theirs_span}")
    if ("OOMRules" in theirs.values) != ("OOMRules" in ours.values):
        out.append(f"OOMRules: {ours.values.get('OOMRules')}, systemd: {theirs.values.get('OOMRules')}")
    for key, default in (("MemoryZSwapWriteback", "yes"),):
        if key in theirs.values and (theirs.values[key] == default) == (key in ours.values):
            out.append(f"{key}: {ours.values.get(key)}, systemd: {theirs.values[key]}")
    limit = theirs.values.get("ManagedOOMMemoryPressureLimit")
    if limit is not None:
        mine = ours.values.get("ManagedOOMMemoryPressureLimit", "0%").rstrip("%")
        try:
            same = abs(float(mine) - float(limit.rstrip("%"))) <= 0.005
        except ValueError:  # ours is no number
            same = False
        if not same:
            out.append(f"ManagedOOMMemoryPressureLimit: {mine}, systemd: {limit}")
    if "OOMPolicy" in theirs.values:
        default = "continue" if delegates else "stop"
        if theirs.values["OOMPolicy"] != ours.values.get("OOMPolicy", default):
            out.append(f"OOMPolicy: {ours.values.get('OOMPolicy')}, systemd: {theirs.values['OOMPolicy']}")
    return out


# --- rounds ---

class Round:
    """A tree of units, and what systemd makes of it. Leaving it removes the tree."""

    def __init__(self, systemd, seed, cases, type_level, keep=False):
        self.systemd = systemd
        self.keep = keep
        self.cases = generate.generate(seed, cases, systemd.version, type_level)
        self.top = tempfile.mkdtemp(prefix="truth-", dir=systemd.root + "/tmp")
        os.chmod(self.top, 0o755)
        # as systemd sees it
        inside = self.cases.top = self.top[len(systemd.root):]
        generate.write_tree(self.cases, self.top)
        self.dirs = [os.path.join(inside, d) for d in self.cases.DIRS]
        self.theirs = systemd.load(self.dirs, os.path.join(inside, "run"))
        self.ram = physical_memory()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.keep:
            print(f"kept: {self.top}")
        else:
            shutil.rmtree(self.top)

    def differences(self, program):
        """{name: [what differs]} of a program that prints what the loader says."""
        ours = run_dump(program, self.systemd, self.dirs, self.cases.wanted)
        if ours is None:
            return {"(all)": ["no answer"]}
        found = {}
        for name in self.cases.wanted:
            lines = compare(ours.get(name, Unit()), self.theirs.get(name, Unit()), self.ram,
                            self.cases.sizes, self.systemd.root)
            if lines:
                found[name] = lines
        return found

    def loaded(self):
        return sum(1 for n in self.cases.wanted if self.theirs.get(n, Unit()).state == "loaded")


def rounds(cases):
    """(cases, with drop-ins of the type level): these apply to every service, so they get trees
    of their own."""
    return [(cases, False)] + [(max(cases // 30, 20), True)] * 6


def judge(systemd, program, seed, cases, keep=False, show=10, quiet=False):
    """Compares and prints; whether all is well."""
    print(f"systemd {systemd.version}, seed {seed} (MEMCG_POLICY_SEED)")
    settled = judge_settings(program, systemd) & judge_path(program, systemd)
    rules, failed, total, compared = collections.Counter(), 0, 0, 0
    for i, (n, type_level) in enumerate(rounds(cases)):
        with Round(systemd, seed + i, n, type_level, keep) as one:
            found = one.differences(program)
            for name in list(found)[:show]:
                print(f"{name}:\n    " + "\n    ".join(found[name]))
            rules += one.cases.rules
            failed += len(found)
            total += one.cases.cases
            compared += one.loaded()
    if not quiet:
        for rule, n in sorted(rules.items()):
            print(f"{n:6} {rule}")
    rare = [rule for rule, n in rules.items() if n < MIN_PER_RULE]
    print(f"{total} units, {compared} of them loaded and compared in full, {failed} differ")
    if rare:
        print("too rare to count: " + ", ".join(sorted(rare)))
    return settled and not failed and not rare


def random_seed():
    return int(os.environ.get("MEMCG_POLICY_SEED") or random.SystemRandom().randrange(1 << 32))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dump", required=True)
    p.add_argument("--systemd", default="/lib/systemd/systemd")
    p.add_argument("--root", default="")
    p.add_argument("--seed", type=int, default=random_seed())
    p.add_argument("--cases", type=int, default=2600)
    p.add_argument("--keep", action="store_true")
    p.add_argument("--show", type=int, default=10)
    p.add_argument("--quiet", action="store_true")
    args = p.parse_args()

    if os.geteuid() != 0:
        print("SKIP truth: needs root, to run systemd as nobody")
        return 77
    if not os.path.exists(args.root + args.systemd):
        print(f"SKIP truth: no {args.systemd}")
        return 77
    systemd = Systemd(args.systemd, args.root)
    return 0 if judge(systemd, args.dump, args.seed, args.cases, args.keep, args.show, args.quiet) else 1


if __name__ == "__main__":
    sys.exit(main())
