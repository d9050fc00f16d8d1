#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether truth.py would notice: the loader with one wrong rule at a time, against systemd.

    mutants.py BUILD_DIR [--sample N] [--suite SUITE] [--seed N] [WORD...]

For each line of mutations.py one source is changed, compiled and linked into a unit-dump of its
own; systemd has answered once for all. Every rule of the line must be seen to fail, in a unit that
is about that rule. WORD picks the lines with that word; --sample every so many of them, another
part for each seed. --suite asks the systemd of that Debian release, in a root of its own; lines
about what a systemd does not know are left out, and counted. Exits with 1 if a mutant survives, a
line no longer fits its source, or a rule of truth.py has no line.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import generate
import mutations
import roots
import truth

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CASES = 2600


def rule_name(rule):
    return rule if ":" in rule else "value: " + rule


def all_rules(version):
    rules = collections.Counter()
    for seed in range(3):
        for type_level in (False, True):
            rules += generate.generate(seed, CASES, version, type_level).rules
    return set(rules)


def mutated(line):
    """The source as the line changes it, or None."""
    text = (SOURCE / "src" / line[2]).read_text()
    for old, new in zip(line[3::2], line[4::2]):
        if text.count(old) != 1:
            return None
        text = text.replace(old, new)
    return text


class Builder:
    """Compiles one changed source and links it in front of the library."""

    def __init__(self, build, work):
        self.build = pathlib.Path(build).resolve()
        self.work = work
        self.compile = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
            if path.is_relative_to(SOURCE / "src") and "libmemcg-policy" in entry["output"]:
                self.compile[str(path.relative_to(SOURCE / "src"))] = entry
        done = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "test/systemd/unit-dump"],
                              check=True, capture_output=True, text=True)
        self.link = shlex.split(done.stdout.strip().split("\n")[-1])

    def make(self, name, text):
        """The path of a unit-dump."""
        source, object_, program = (self.work / f"mutant{end}" for end in (".c", ".o", ""))
        source.write_text(text)
        entry = self.compile[name]
        command = [w for w in shlex.split(entry["command"]) if w not in ("-MD", "-Werror")]
        for flag, value in (("-MF", None), ("-MQ", None), ("-o", str(object_))):
            at = command.index(flag)
            command[at:at + 2] = [flag, value] if value else []
        command[command.index("-c") + 1] = str(source)
        # a mutation may look at a file where the source itself does not
        self._run([*command, "-include", "sys/stat.h", "-O0", "-g0", "-w"])
        command = list(self.link)
        command[command.index("-o") + 1] = str(program)
        at = next(i for i, w in enumerate(command) if w.endswith("libmemcg-policy.a"))
        command.insert(at, str(object_))
        self._run(command)
        return str(program)

    def _run(self, command):
        done = subprocess.run(command, cwd=self.build, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])


def caught(rounds, program, rules):
    """{rule: a unit about it that differs}"""
    found = {}
    for one in rounds:
        if set(rules) <= set(found):
            break
        if one.type_level and not any("type level" in rule for rule in rules):
            continue
        for name, lines in one.differences(program).items():
            for rule in set(rules) & one.cases.rules_of.get(name, set(rules)):
                found.setdefault(rule, f"{name} {lines[0]}")
    return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("words", nargs="*")
    p.add_argument("--sample", type=int, default=1)
    p.add_argument("--suite", help="a Debian release; without, this system")
    p.add_argument("--seed", type=int, default=truth.random_seed())
    args = p.parse_intermixed_args()
    if os.geteuid() != 0 or not (args.suite or os.path.exists("/lib/systemd/systemd")):
        print("SKIP mutants: needs root and /lib/systemd/systemd")
        return 77
    with contextlib.ExitStack() as stack:
        root = stack.enter_context(roots.unpacked(args.suite)) if args.suite else ""
        return judge(args, truth.Systemd(root=root))


def judge(args, systemd):
    failures = left_out = 0
    print(f"systemd {systemd.version}, seed {args.seed} (MEMCG_POLICY_SEED)")
    named = {rule_name(rule) for line in mutations.MUTATIONS for rule in line[0]}
    known = all_rules(systemd.version)
    for rule in sorted(known - named):
        print(f"NO MUTANT {rule}")
        failures += 1
    chosen = []
    for i, line in enumerate(mutations.MUTATIONS):
        text = mutated(line)
        if text is None:
            print(f"NO LONGER FITS {line[2]}: {line[1]}")
            failures += 1
        elif not known & {rule_name(rule) for rule in line[0]}:
            left_out += 1
        elif (i + args.seed) % args.sample == 0 and (
                not args.words or any(w in " ".join([*line[0], line[1]]) for w in args.words)):
            chosen.append((line, text))

    with contextlib.ExitStack() as stack:
        work = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-")))
        builder = Builder(args.build, work)
        rounds = []
        for i, (cases, type_level) in enumerate(truth.rounds(CASES)[:2]):
            one = stack.enter_context(truth.Round(systemd, args.seed + i, cases, type_level))
            one.type_level = type_level
            rounds.append(one)
        original = str(builder.build / "test/systemd/unit-dump")
        for one in rounds:
            for name, lines in one.differences(original).items():
                print(f"WITHOUT ANY MUTATION {name}: {'; '.join(lines)}")
                failures += 1
        for line, text in chosen:
            rules = [rule_name(rule) for rule in line[0]]
            try:
                found = caught(rounds, builder.make(line[2], text), rules)
            except RuntimeError as why:
                print(f"DOES NOT BUILD {line[1]}: {why}")
                failures += 1
                continue
            except subprocess.TimeoutExpired:
                found = dict.fromkeys(rules, "does not end")
            for rule in rules:
                by = found.get(rule)
                failures += by is None
                print(f"{'caught' if by else 'NOT CAUGHT'}  {rule} | {line[1]}" +
                      (f" | {re.sub(chr(10), ' ', by)[:100]}" if by else ""), flush=True)
    print(f"{len(chosen)} mutants of {len(mutations.MUTATIONS)}, {left_out} are not for this systemd, "
          f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
