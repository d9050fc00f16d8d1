#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Made-up GRUB defaults, judged by sh: set on, set off and unset change our words and nothing else.

random-defaults.py [COUNT]. Each file is put together at random out of what shells allow:
quotes, continued lines, variables in variables, appended values, comments, exports, values set
twice, "if". The same files each time, others with MEMCG_POLICY_SEED=.
"""
import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import cases

WORDS = ["quiet", "splash", "ro", "root=/dev/vda1", "cgroup_disable=memory", "cgroup_enable=memory",
         "cgroup-disable=memory", "cgroup_disable=pressure,memory", "cgroup_disable=memory,rdma",
         "cgroup_enable=cpuset", "swapaccount=1", "cgroup_memory=1", "cgroup_disable=memoryx",
         "systemd.unified_cgroup_hierarchy=0", "console=ttyS0,115200n8", "cgroup_no_v1=memory",
         "xcgroup_disable=memory", "cgroup_disable=", "psi=1", "a=b=c", "x#y", "nokaslr"]
NAMES = ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT",
         "GRUB_CMDLINE_LINUX_DEFAULT", "GRUB_CMDLINE_XEN", "MY_WORDS"]


def words(rng):
    chosen = rng.choices(WORDS, k=rng.choice([0, 1, 1, 2, 3, 5]))
    if rng.random() < 0.06:
        chosen.insert(rng.randint(0, len(chosen)), "--")
    return chosen


def quoted(rng, text):
    """A shell word that means text."""
    style = rng.random()
    if style < 0.6:
        return '"' + text.replace('"', '\\"') + '"'
    if style < 0.8:
        return "'" + text + "'"
    if style < 0.9:  # word by word, each as it pleases
        return '" "'.join(text.split(" ")) if '"' not in text else "'" + text + "'"
    return text.replace(" ", "\\ ").replace('"', '\\"').replace("#", "\\#")


def value(rng, assigned):
    chosen = words(rng)
    if rng.random() < 0.08:
        chosen.append('dyndbg="file x cgroup_disable=memory +p"')
    blanks = rng.choice([" ", " ", " ", "  "])
    text = quoted(rng, blanks.join(chosen))
    if text.startswith('"') and text.endswith('"') and rng.random() < 0.25 and len(text) > 1:
        reference = rng.choice(sorted(assigned) or ["NOT_SET"])
        reference = rng.choice([f"${reference}", "${%s}" % reference])
        text = f'"{reference} {text[1:]}' if rng.random() < 0.7 else f'{text[:-1]} {reference}"'
    if rng.random() < 0.08 and " " in text and text[0] == '"':
        text = text.replace(" ", " \\\n", 1)
    return text


def line(rng, assigned):
    name = rng.choice(NAMES)
    kind = rng.random()
    if kind < 0.12:
        return rng.choice(["# a comment", "", "#GRUB_CMDLINE_LINUX=\"cgroup_disable=memory\"",
                           "GRUB_DEFAULT=0", "GRUB_DISTRIBUTOR=`echo Debian`", "GRUB_TERMINAL=console"])
    text = f"{name}={value(rng, assigned)}"
    if kind < 0.16:
        text = f"if [ -n \"$GRUB_DEFAULT\" ]; then\n\t{text}\nfi"
    elif kind < 0.22:
        text = f"export {text}"
    elif kind < 0.25:
        text = f"[ -z \"$NOT_SET\" ] && {text}"
    elif kind < 0.28:
        text = f"{name}=\"${{{name}:+${name} }}{' '.join(words(rng))}\""
    elif kind < 0.30:
        text = f"unset {name}"
    elif kind < 0.33:
        text += rng.choice(["; :", "   ", "\t# why"])
    assigned.add(name)
    return text


def defaults(rng):
    assigned = set()
    text = "\n".join(line(rng, assigned) for _ in range(rng.randint(1, 8)))
    if rng.random() < 0.85:
        text += "\n"
    return text


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    seed = int(os.environ.get("MEMCG_POLICY_SEED") or 1)
    print(f"MEMCG_POLICY_SEED={seed}")
    failed, seen = 0, collections.Counter()
    with tempfile.TemporaryDirectory(prefix="memcg-defaults-") as scratch:
        scratch = pathlib.Path(scratch)
        for number in range(count):
            case = scratch / "case.grub"
            case.write_text(defaults(random.Random(f"{seed}/{number}")))
            if subprocess.run(["sh", "-n", case], capture_output=True, check=False).returncode:
                seen["not for sh"] += 1
                continue
            for drop_ins in (True, False):
                seen["judged"] += 1
                problems = cases.try_case(case, drop_ins, scratch, seen)
                failed += bool(problems)
                for problem in problems:
                    print(f"file {number} ({'drop-in' if drop_ins else 'in place'}): {problem}")
                if problems:
                    print("| " + case.read_text().replace("\n", "\n| "))
    print(f"{seen['judged'] - failed} of {seen['judged']} as expected;",
          ", ".join(f"{n} {what}" for what, n in sorted(seen.items()) if what != "judged"))
    return 1 if failed or seen["changed"] < seen["judged"] else 0


sys.exit(main())
