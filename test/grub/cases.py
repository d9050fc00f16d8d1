#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Foreign GRUB defaults: set on, set off and unset change our words and nothing else.

Every file of $MEMCG_POLICY_CASES/grub is put into a Debian-like root, once where grub-mkconfig
reads drop-ins and once where it does not. What sh(1) makes of the variables before and after is
compared word by word; every byte outside our drop-in, or outside our words, must be as before, and
unset gives the first bytes back. A refusal (exit status 1 or 5) must change nothing.
"""
import os
import pathlib
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


def meaning(root):
    """What sh makes of the defaults: {variable: [word, ...]}."""
    out = subprocess.run(["sh", "-c", SCRIPT, "sh", root, *VARIABLES], capture_output=True,
                         check=False).stdout.decode(errors="surrogateescape")
    return {name: value.split() for name, value in zip(VARIABLES, out.split("\0"))}


def without_memory(words, key):
    """The words with memory taken out of key's lists."""
    kept = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.replace("-", "_") == key:
            members = [m for m in value.split(",") if m != "memory"]
            if len(members) != len(value.split(",")):
                if any(members):
                    kept.append(f"{name}={','.join(members)}")
                continue
        kept.append(word)
    return kept


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


def try_case(case, drop_ins, scratch):
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
        if done.returncode in (1, 5):
            if now != before:
                problems.append(f"set {want} was refused, and yet {before} became {now}")
            continue
        if done.returncode != 0:
            problems.append(f"set {want}: exit status {done.returncode}: {done.stderr!r}")
            continue
        for name in VARIABLES:
            expected = before[name]
            if name.startswith("GRUB_CMDLINE_LINUX"):
                key = "cgroup_disable" if want == "on" else "cgroup_enable"
                expected = without_memory(expected, key)
            if name == "GRUB_CMDLINE_LINUX" and want == "off":
                if "cgroup_disable=memory" not in expected:
                    expected = expected + ["cgroup_disable=memory"]
            if now[name] != expected:
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
    with tempfile.TemporaryDirectory(prefix="memcg-cases-") as scratch:
        for case in sorted(p for p in cases.iterdir() if p.suffix in (".grub", ".cfg")):
            for drop_ins in (True, False):
                problems = try_case(case, drop_ins, pathlib.Path(scratch))
                tried += 1
                failed += bool(problems)
                for problem in problems:
                    print(f"{case.name} ({'drop-in' if drop_ins else 'in place'}): {problem}")
    print(f"{tried - failed} of {tried} as expected")
    return 1 if failed or not tried else 0


sys.exit(main())
