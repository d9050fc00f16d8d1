#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Foreign GRUB defaults: set on, set off and unset change our words and nothing else.

Every file of $MEMCG_POLICY_CASES/grub is put into a Debian-like root, once where grub-mkconfig
reads drop-ins and once where it does not. What sh(1) makes of the variables before and after is
compared word by word; every byte outside our drop-in, or outside our words, must be as before, and
unset gives the first bytes back. A refusal (exit status 1 or 5) must change nothing.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(os.environ.get("MEMCG_POLICY_SOURCE", ".")).resolve()
program = pathlib.Path(os.environ["MEMCG_POLICY"]).resolve()
cases = pathlib.Path(os.environ.get("MEMCG_POLICY_CASES", source / "../shared/cases")) / "grub"
VARIABLES = ("GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT", "GRUB_CMDLINE_XEN",
             "GRUB_CMDLINE_XEN_DEFAULT", "GRUB_DEFAULT", "GRUB_TERMINAL")
SCRIPT = """
[ ! -f "$1/etc/default/grub" ] || . "$1/etc/default/grub" >/dev/null
for x in "$1"/etc/default/grub.d/*.cfg; do [ ! -e "$x" ] || . "$x"; done
shift
for v; do eval "printf '%s\\0' \\"\\${$v-}\\""; done
"""
READS_DROP_INS = 'for x in ${sysconfdir}/default/grub.d/*.cfg ; do . "${x}"; done\n'


def split(line):
    """The words of a command line: double quotes hold blanks together (lib/cmdline.c)."""
    return re.findall(r'(?:"[^"]*"?|[^\s"])+', line)


def meaning(root):
    """What sh makes of the defaults: {variable: [word, ...]}."""
    out = subprocess.run(["sh", "-c", SCRIPT, "sh", root, *VARIABLES], capture_output=True,
                         check=False).stdout.decode(errors="surrogateescape")
    return {name: split(value) for name, value in zip(VARIABLES, out.split("\0"))}


def members(word, key):
    """The members of key's list if the word is one, else None."""
    name, equals, value = word.replace('"', "").partition("=")
    return value.split(",") if equals and name.replace("-", "_") == key else None


def without_memory(words, key):
    """The words for the kernel with memory taken out of key's lists."""
    kept = []
    for i, word in enumerate(words):
        if word == "--":
            return kept + words[i:]
        listed = members(word, key)
        if listed and "memory" in listed:
            rest = [m for m in listed if m != "memory"]
            if any(rest):
                kept.append(f"{word.partition('=')[0]}={','.join(rest)}")
            continue
        kept.append(word)
    return kept


def asks_off(words):
    end = words.index("--") if "--" in words else len(words)
    return any("memory" in (members(word, "cgroup_disable") or []) for word in words[:end])


def without_both(words):
    return without_memory(without_memory(words, "cgroup_disable"), "cgroup_enable")


def as_wanted(name, want, drop_ins, before, now):
    """Whether a variable's words changed as "set on" or "set off" may change them."""
    expected = before
    if name.startswith("GRUB_CMDLINE_LINUX"):
        expected = without_memory(before, "cgroup_disable" if want == "on" else "cgroup_enable")
    elif name == "GRUB_CMDLINE_XEN" and not drop_ins:
        # where it is made of the others, and they are edited in place, their words are its words
        return without_both(now) == without_both(before)
    if want == "on" or now == expected:
        return now == expected and (want == "on" or name != "GRUB_CMDLINE_LINUX" or asks_off(now))
    # the one word that comes, in front of what is for init
    ours = "cgroup_disable=memory"
    rest = [word for word in now if word != ours]
    # (what is for init in another variable may be made of ours)
    return (rest == [word for word in expected if word != ours] and
            (asks_off(now) or (name != "GRUB_CMDLINE_LINUX" and "--" in expected)) and
            now.count(ours) == expected.count(ours) + 1 and
            (name == "GRUB_CMDLINE_LINUX" or not drop_ins))


def files(root):
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*"))
            if p.is_file() and "var/lib/memcg-policy" not in str(p)}


def make_root(root, case, drop_ins):
    shutil.copytree(source / "test/roots/10-debian-grub/tree", root)
    mkconfig = root / "usr/sbin/grub-mkconfig"
    mkconfig.write_text("#!/bin/sh\n. ${sysconfdir}/default/grub\n"
                        + (READS_DROP_INS if drop_ins else ""))
    mkconfig.chmod(0o755)
    target = root / "etc/default/grub"
    if case.suffix == ".cfg" and drop_ins:
        target = root / "etc/default/grub.d/50-case.cfg"
        target.parent.mkdir()
    target.write_bytes(case.read_bytes())


def run(root, *arguments):
    return subprocess.run([program, f"--root={root}", *arguments], capture_output=True,
                          stdin=subprocess.DEVNULL, check=False)


def try_case(case, drop_ins, scratch, seen):
    """Problems of one file, as a list of sentences."""
    root = scratch / "root"
    shutil.rmtree(root, ignore_errors=True)
    make_root(root, case, drop_ins)
    first, original, problems = files(root), meaning(root), []
    for want in ("on", "off", "on"):
        # a drop-in starts from the defaults each time, an edit in place from what is there
        before = original if drop_ins else meaning(root)
        done = run(root, "set", want)
        now = meaning(root)
        seen["refused" if done.returncode in (1, 5) else "changed"] += 1
        if done.returncode in (1, 5):
            if now != before:
                problems.append(f"set {want} was refused, and yet {before} became {now}")
            continue
        if done.returncode != 0:
            problems.append(f"set {want}: exit status {done.returncode}: {done.stderr!r}")
            continue
        for name in VARIABLES:
            if not as_wanted(name, want, drop_ins, before[name], now[name]):
                problems.append(f"set {want}: {name}: {before[name]} became {now[name]}")
        if drop_ins and files(root)["etc/default/grub"] != first["etc/default/grub"]:
            problems.append(f"set {want} touched /etc/default/grub although drop-ins are read")
        again = files(root)
        if run(root, "apply").returncode != 0 or files(root) != again:
            problems.append(f"apply after set {want} is not \"nothing to do\"")
    done = run(root, "unset")
    if done.returncode != 0 or files(root) != first:
        problems.append(f"unset does not give the first bytes back (status {done.returncode})")
    return problems


def main():
    if not cases.is_dir():
        print(f"SKIP grub-cases: {cases} is not there")
        return 77
    failed = tried = 0
    seen = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="memcg-cases-") as scratch:
        for case in sorted(p for p in cases.iterdir() if p.suffix in (".grub", ".cfg")):
            for drop_ins in (True, False):
                problems = try_case(case, drop_ins, pathlib.Path(scratch), seen)
                tried += 1
                failed += bool(problems)
                for problem in problems:
                    print(f"{case.name} ({'drop-in' if drop_ins else 'in place'}): {problem}")
    print(f"{tried - failed} of {tried} as expected")
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
