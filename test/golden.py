#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs every golden root in test/roots/NN-name/ and compares what comes out.

  tree/             the root; a copy of it is used
  setup.sh          optional, run in the copy: FIFOs, modes, links that git does not keep
  cmd               command lines without "memcg-policy", one a line; @ROOT@ is the copy
  expected.stdout   text of all command lines, each behind "$ memcg-policy ..."
  expected.json     the same with --json=pretty, validated against docs/schema
  expected.rc       their exit statuses
  tree.expected/    optional: the copy afterwards (only files that differ from tree/)

golden.py [--update] [NAME...]   --update writes what came out as expected; review it as a diff.
"""
import difflib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(os.environ.get("MEMCG_POLICY_SOURCE", ".")).resolve()
program = pathlib.Path(os.environ.get("MEMCG_POLICY", "build/memcg-policy")).resolve()
try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA_OF = {
    "status": "status", "check": "status", "explain": "status", "needs": "needs",
    "units": "units", "entries": "entries", "history": "history",
    "set": "write", "apply": "write", "unset": "write", "undo": "write", "trial": "write",
}


def validate(arguments, text):
    """Errors of one JSON output against its schema."""
    if jsonschema is None:
        return []
    verb = next((a for a in arguments if not a.startswith("-")), "status")
    value = json.loads(text)
    name = "error" if "error" in value else SCHEMA_OF[verb]
    schema = json.loads((source / "docs/schema" / f"{name}.json").read_text())
    validator = jsonschema.Draft7Validator(schema)
    return [f"{name}.json: {'/'.join(map(str, e.absolute_path))}: {e.message}"
            for e in validator.iter_errors(value)]


def normalise(text, root):
    """Takes out what differs between runs: the copy's path, the version, the time."""
    text = text.replace(str(root), "@ROOT@")
    text = re.sub(r'("version": ")[^"]*', r"\1@VERSION@", text)
    return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z|[+-]\d\d:?\d\d)?", "@TIME@", text)


def files(top):
    """Every file of a tree that a change could matter in: path -> bytes or link target."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if name.startswith("var/lib/memcg-policy"):
            continue  # undo records carry the time
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_file():
            try:
                found[name] = ("file", path.read_bytes())
            except OSError as e:
                found[name] = ("unreadable", str(e.errno))
    return found


def run_commands(case, extra):
    """(text, rc text, schema errors, files changed) of all command lines on one fresh copy."""
    out, codes, errors = [], [], []
    with tempfile.TemporaryDirectory(prefix="memcg-golden-") as tmp:
        root = pathlib.Path(tmp) / "root"
        if (case / "tree").exists():
            shutil.copytree(case / "tree", root, symlinks=True)
        else:
            root.mkdir()
        if (case / "setup.sh").exists():
            subprocess.run(["sh", "-eu", str((case / "setup.sh").resolve())], cwd=root, check=True)
        before = files(root)
        for line in (case / "cmd").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            arguments = shlex.split(line.replace("@ROOT@", str(root))) + extra
            done = subprocess.run([program, *arguments], capture_output=True, timeout=60,
                                  stdin=subprocess.DEVNULL,
                                  env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
            text = done.stdout.decode(errors="backslashreplace")
            complaint = done.stderr.decode(errors="backslashreplace")
            if extra and text:
                try:
                    errors += validate(arguments, text)
                except ValueError as e:
                    errors.append(f"not JSON: {e}: {text[:200]}")
            out.append(f"$ memcg-policy {line}\n" + text)
            if not extra and complaint:
                out.append("--- standard error\n" + complaint)
            codes.append(str(done.returncode))
        after = files(root)
        changed = {name: after.get(name) for name in before.keys() | after.keys()
                   if before.get(name) != after.get(name)}
        return normalise("".join(out), root), " ".join(codes) + "\n", errors, changed


def check(name, path, got, update, failures):
    if update:
        path.write_text(got)
        return
    want = path.read_text() if path.exists() else ""
    # json-c up to 0.16 spreads what is empty over two lines
    want, got = (re.sub(r"([\[{])\n\s*([\]}])", r"\1\2", text) for text in (want, got))
    if want != got:
        failures.append(f"{name}: {path.name}\n" + "".join(difflib.unified_diff(
            want.splitlines(True), got.splitlines(True), "expected", "got")))


def check_tree(name, case, changed, update, failures):
    expected = case / "tree.expected"
    if update:
        shutil.rmtree(expected, ignore_errors=True)
        for path, value in changed.items():
            target = expected / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if value is None:
                target.with_name(target.name + ".deleted").write_bytes(b"")
            elif value[0] == "link":
                target.symlink_to(value[1])
            else:
                target.write_bytes(value[1])
        return
    want = files(expected) if expected.exists() else {}
    got = {path if value else path + ".deleted": value or ("file", b"")
           for path, value in changed.items()}
    for path in sorted(want.keys() | got.keys()):
        if want.get(path) != got.get(path):
            failures.append(f"{name}: tree: {path}: expected {want.get(path)}, "
                            f"got {got.get(path)}")


def main():
    update = "--update" in sys.argv
    wanted = [a for a in sys.argv[1:] if not a.startswith("--")]
    cases = sorted(p for p in (source / "test/roots").iterdir() if (p / "cmd").exists()
                   and (not wanted or p.name in wanted))
    failed = 0
    if jsonschema is None:
        print("SKIP golden schemas: python3-jsonschema is not installed")
    for case in cases:
        failures = []
        text, codes, _, changed = run_commands(case, [])
        check(case.name, case / "expected.stdout", text, update, failures)
        check(case.name, case / "expected.rc", codes, update, failures)
        check_tree(case.name, case, changed, update, failures)
        as_json, json_codes, errors, json_changed = run_commands(case, ["--json=pretty"])
        check(case.name, case / "expected.json", as_json, update, failures)
        failures += [f"{case.name}: {e}" for e in errors]
        if json_codes != codes:
            failures.append(f"{case.name}: --json changes the exit status: {json_codes}")
        if json_changed != changed:
            failures.append(f"{case.name}: --json changes what is written")
        print(f"{'FAIL' if failures else 'ok'} {case.name}")
        print("\n".join(failures), end="\n" if failures else "")
        failed += bool(failures)
    print(f"{len(cases) - failed} of {len(cases)} golden roots as expected")
    return 1 if failed or not cases else 0


sys.exit(main())
