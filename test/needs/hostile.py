#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bad input: the decision goes on without that detector, says so, and never switches memcg off.

The policy is the one that would ("embedded": auto, off when unneeded). Without the bad input it
decides "off"; with each of them it must not, must name the file, and must be done in time.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

program = os.environ.get("MEMCG_POLICY", "build/memcg-policy")
NEED = "[Need]\nTitle=X\nLevel=limits\nEffect=It breaks.\n"
MINE = "etc/memcg-policy/needs.d/x.conf"
HC = "var/lib/docker/containers/1/hostconfig.json"
DOCKER = {"usr/sbin/dockerd": ""}


def fifo(root, name):
    os.makedirs(root / os.path.dirname(name), exist_ok=True)
    os.mkfifo(root / name)


def big(root, name):
    os.makedirs(root / os.path.dirname(name), exist_ok=True)
    with open(root / name, "wb") as f:
        f.truncate(100 << 20)


def farm(root, _):
    """16 directories with links to each other: 16 to the 8th ways."""
    for i in range(16):
        (root / f"farm/{i}").mkdir(parents=True)
        for k in range(16):
            (root / f"farm/{i}/{k}").symlink_to(f"/farm/{k}")


def crowd(root, _):
    """More files than are read."""
    (root / "crowd").mkdir()
    for i in range(60000):
        os.mknod(root / f"crowd/{i}")


# what: (files, function and its path, the path that a warning must name)
CASES = {
    "wrong key": ({MINE: NEED + "[InUse]\nPaht=/x\n"}, None, "/" + MINE),
    "wrong section": ({MINE: NEED + "[InUs]\nPath=/x\n"}, None, "/" + MINE),
    "no level": ({MINE: "[Need]\nTitle=X\nEffect=y\n"}, None, "/" + MINE),
    "bad regex": ({MINE: NEED + "[InUse]\nText=/etc/x (\n"}, None, "/" + MINE),
    "not UTF-8": ({MINE: NEED + "[InUse]\nPath=/\udcff\n"}, None, "/" + MINE),
    "endless glob": ({MINE: NEED + "[InUse]\nPath=/farm/*/*/*/*/*/*/*/*/*/x\n"}, (farm, None),
                     "/farm/*/*/*/*/*/*/*/*/*/x"),
    "symlink farm": ({MINE: NEED + "[InUse]\nText=/farm/*/*/*/*/*/*/x y\n"}, (farm, None),
                     "/farm/*/*/*/*/*/*/x"),
    "crowd": ({MINE: NEED + "[InUse]\nText=/crowd/* y\n"}, (crowd, None), "/crowd/*"),
    "FIFO": ({MINE: NEED + "[InUse]\nText=/etc/x y\n"}, (fifo, "etc/x"), "/etc/x"),
    "FIFO as catalogue": ({}, (fifo, MINE), "/" + MINE),
    "FIFO as hostconfig": (DOCKER, (fifo, HC), "/" + HC),
    "100 MiB JSON": (DOCKER, (big, HC), "/" + HC),
    "broken JSON": ({**DOCKER, HC: '{"Memory": 5'}, None, "/" + HC),
    "broken daemon.json": ({**DOCKER, "etc/docker/daemon.json": "{"}, None, "/etc/docker/daemon.json"),
    "deep JSON": ({**DOCKER, HC: "[" * 100000}, None, "/" + HC),
    "long line": ({MINE: NEED + "[InUse]\nText=/etc/x y\n", "etc/x": "z" * 100000}, None, "/etc/x"),
}


def run(*words):
    return subprocess.run([program, *words, "--json"], capture_output=True, text=True, check=False, timeout=60)


def look(name, files, make, named):
    with tempfile.TemporaryDirectory(prefix="memcg-hostile-") as directory:
        root = pathlib.Path(directory)
        for path, text in {"etc/memcg-policy/policy.conf.d/40.conf": "[Policy]\nRole=embedded\nMemcg=\n",
                           **files}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, errors="surrogateescape")
        if make:
            make[0](root, make[1])
        start = time.monotonic()
        explain = run("explain", f"--root={root}")
        seconds = time.monotonic() - start
        off = run("set", "off", "--dry-run", f"--root={root}") if name in STORED else None
    answer = json.loads(explain.stdout)
    decision = answer["decision"]
    if explain.returncode != 0:
        return f"exit status {explain.returncode}: {explain.stderr}"
    if not named:
        return "" if decision["memcg"] == "off" else f"decides {decision}"
    if seconds > 20:
        return f"{seconds:.1f} s"
    if decision["memcg"] == "off":
        return "switches memcg off"
    # Docker is there by its directory: on, or left alone, but for a reason that is told
    if not any("not everything could be looked at" in r["text"] or "is in use" in r["text"]
               for r in decision["reasons"]):
        return f"does not say so: {decision['reasons']}"
    if not any(w["path"] == named for w in answer["warnings"]) or named not in explain.stderr:
        return f"no warning names {named}: {answer['warnings']}"
    if off and "cannot be told" not in off.stdout:
        return f"\"set off\" is not refused: {off.stdout}"
    return ""


# where "off" must be refused as well, because limits may be stored
STORED = {n for n in CASES if HC == (CASES[n][1] or (0, 0))[1] or HC in CASES[n][0]}
failed = 0
for case, what in {"nothing wrong": ({}, None, None), **CASES}.items():
    problem = look(case, *what)
    if problem:
        print(f"FAIL {case}: {problem}")
        failed += 1
print(f"{len(CASES) + 1} cases, {failed} failures")
sys.exit(1 if failed else 0)
