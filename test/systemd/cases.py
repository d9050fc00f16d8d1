#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The foreign unit files of $MEMCG_POLICY_CASES/units against the answers of their index.tsv."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

cases = pathlib.Path(os.environ.get("MEMCG_POLICY_CASES") or
                     os.path.join(os.environ.get("MEMCG_POLICY_SOURCE", "."), "../shared/cases")) / "units"
program = os.environ.get("MEMCG_POLICY", "build/memcg-policy")

if not (cases / "index.tsv").exists():
    print(f"SKIP unit-cases: no {cases}/index.tsv (MEMCG_POLICY_CASES)")
    sys.exit(77)

failed = 0
rows = list(csv.DictReader((cases / "index.tsv").open(encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE))
for row in rows:
    name, expected = row["file"], row["expected finding"]
    with tempfile.TemporaryDirectory(prefix="memcg-cases-") as root:
        kind, _, rest = name.partition("/")
        where = {"user": "etc/systemd/user", "quadlet": "etc/containers/systemd"}.get(kind)
        place = f"{where}/{rest}" if where else f"etc/systemd/system/{name}"
        path = pathlib.Path(root) / place.removesuffix(".in")
        path.parent.mkdir(parents=True)
        shutil.copyfile(cases / name, path)
        command = [program, "units", f"--root={root}", "--json"] + (["--user"] if kind == "user" else [])
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        findings = json.loads(run.stdout)["findings"]
    got = {(f["setting"], f["bytes"]) for f in findings if f["state"] != "invalid"}
    invalid = {f["setting"] for f in findings if f["state"] == "invalid"}
    wanted = {(s, int(b)) for s, b in re.findall(r"([A-Z]\w+(?: --[a-z-]+)?)=\S+ -> (\d+)", expected)}
    rejected = set(re.findall(r"(\w+) INVALID", expected))
    problems = [f"missing {w}" for w in wanted - got] + [f"not invalid: {s}" for s in rejected - invalid]
    problems += [f"wrongly invalid: {s}" for s in invalid - rejected]
    if expected.startswith("none") and got:
        problems.append(f"should have none: {sorted(got)}")
    sizes = {g for g in got if g[1] is not None}
    problems += [f"not expected: {g}" for g in sizes - wanted]
    print(f"{'ok' if not problems else 'FAIL'} {name}" + "".join(f"\n    {p}" for p in problems))
    failed += bool(problems)
print(f"{len(rows)} cases, {failed} failed")
sys.exit(1 if failed or not rows else 0)
