#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Limits in force on this very system: a group is made, seen, named before an "off", removed.

On v1 libcgroup names the groups, on v2 the tree itself; a captured root has no libcgroup, so the
same tree is read once more as such and must give the same answer.
"""
import json
import os
import pathlib
import subprocess
import sys

program = os.environ.get("MEMCG_POLICY", "build/memcg-policy")
NAME = f"memcg-policy-live-{os.getpid()}"
ID = "0123456789abcdef" * 4
LIMIT = 64 << 20


def skip(why):
    print(f"SKIP needs-live: {why}")
    sys.exit(77)


def memory_tree():
    """Where groups with memory can be made, and the name of the limit's file."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, rest = line.split(" - ")
        kind, _, options = rest.split()
        place = pathlib.Path(fields.split()[4])
        if kind == "cgroup" and "memory" in options.split(","):
            return place, "memory.limit_in_bytes"
        if kind == "cgroup2" and "memory" in (place / "cgroup.subtree_control").read_text().split():
            return place, "memory.max"
    return None, None


def evidence(*options):
    run = subprocess.run([program, "needs", "--json", *options], capture_output=True, text=True,
                         check=True)
    need = [n for n in json.loads(run.stdout)["needs"] if n["id"] == "cgroup-limits"]
    assert not need or (need[0]["in_use"] is True and need[0]["level"] == "limits"), need
    return {(e["path"], e["text"]) for n in need for e in n["evidence"] if NAME in e["path"]}


if os.geteuid() != 0:
    skip("needs root")
tree, file = memory_tree()
if not tree:
    skip("no cgroup tree here passes memory on")
group = tree / NAME / "docker" / ID
try:
    try:
        (tree / NAME).mkdir()
    except OSError as error:
        skip(f"no group can be made: {error.strerror}")
    if file == "memory.max":
        (tree / NAME / "cgroup.subtree_control").write_text("+memory")
    group.parent.mkdir()
    if file == "memory.max":
        (group.parent / "cgroup.subtree_control").write_text("+memory")
    group.mkdir()
    assert not evidence(), "a limit where none was set"
    (group / file).write_text(str(LIMIT))
    want = {(str(group / file), f"{file} = {LIMIT} of docker container {ID[:12]}")}
    for options in ((), ("--snapshot=/",)):
        got = evidence(*options)
        assert got == want, f"{options}: {got}"
    text = subprocess.run([program, "explain"], capture_output=True, text=True, check=True).stdout
    assert f"docker container {ID[:12]}" in text and str(group / file) in text, text
finally:
    for path in (group, group.parent, tree / NAME):
        if path.exists():
            path.rmdir()
assert not evidence(), "a group that is gone"
print(f"{tree}: {file} seen, by libcgroup and without, and gone")
