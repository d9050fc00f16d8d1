#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The verb "bench" on this host: what it prints and writes, and that nothing is left behind.

Runs as root, also where the memory controller is in a v1 tree beside v2; what only root can see is
skipped for others. Rounds are few: whether numbers are right is another test's question.
"""

import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

source = pathlib.Path(os.environ.get("MEMCG_POLICY_SOURCE", ".")).resolve()
program = str(pathlib.Path(os.environ["MEMCG_POLICY"]).resolve())
# the address sanitizer's shadow is memory too; it must not count as a leak or abort below a limit
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "LC_ALL": "C.UTF-8"}
SHORT = ("run", "--watch=0", "--rounds=12", "--workload=anon", "--seed=7")
LONG = ("run", "--watch=0", "--rounds=100000", "--workload=anon,kmem-pipe")
failures = []


def expect(name, condition, what):
    if not condition:
        failures.append(f"{name}: {what}")


def bench(*arguments, prefix=(), **options):
    return subprocess.run([*prefix, program, "bench", *map(str, arguments)], text=True, env=ENVIRONMENT,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=300, check=False,
                          **options)


def validate(name, text, schema):
    try:
        import jsonschema
    except ImportError:
        print(f"SKIP {name}: python3-jsonschema is not installed")
        return
    rules = json.loads((source / "docs/schema" / f"{schema}.json").read_text())
    for error in jsonschema.Draft7Validator(rules).iter_errors(json.loads(text)):
        expect(name, False, f"{schema}: {'/'.join(map(str, error.path))}: {error.message[:200]}")


# --- the cgroup tree ---

def memory_tree():
    """(mount point of the tree with memory, whether it is v2) or None."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, where, kind, options = line.split()[:4]
        if kind == "cgroup" and "memory" in options.split(","):
            return pathlib.Path(where), False
        if kind == "cgroup2" and "memory" in pathlib.Path(where, "cgroup.controllers").read_text().split():
            return pathlib.Path(where), True
    return None


def scratch_groups():
    if tree is None:
        return []
    return [str(p) for p in tree[0].rglob("memcg-policy-bench-*") if p.is_dir()]


def nothing_left(name):
    # not those of somebody else's run
    left = [g for g in scratch_groups() if not pathlib.Path("/proc", g.rsplit("-", 2)[1]).exists()]
    expect(name, not left, f"left behind: {left}")


class Group:
    """A cgroup in a v1 tree (or the v2 root) that the next program is started in."""

    def __init__(self, top, name, **values):
        self.path = top / f"memcg-policy-test-{os.getpid()}-{name}"
        self.values = values

    def __enter__(self):
        self.path.mkdir()
        for file, value in self.values.items():
            (self.path / file.replace("__", ".")).write_text(str(value))
        return self

    def __exit__(self, *error):
        for _ in range(50):
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.1)
        failures.append(f"{self.path} could not be removed")

    def enter(self):
        """For preexec_fn."""
        (self.path / "cgroup.procs").write_text("0")


# --- a whole run ---

def whole_run(top):
    name = "whole run"
    done = bench(*SHORT, "--label=x", f"--output={top / 'a.json'}", f"--csv={top / 'a.csv'}", "-v")
    expect(name, done.returncode in (0, 8), f"status {done.returncode}: {done.stderr}")
    nothing_left(name)
    text = (top / "a.json").read_text()
    validate(name, text, "bench")
    result = json.loads(text)
    arms = [arm["name"] for arm in result["arms"]]
    if os.geteuid() == 0 and tree:
        expect(name, arms[:2] == ["root", "control"] and re.fullmatch(r"child-\d+", arms[2]), f"arms {arms}")
        expect(name, "charging in a child cgroup costs" in done.stdout, "the question is not stated")
        expect(name, "Not answered: what memcg as a whole costs" in done.stdout, "nor what was not")
    expect(name, len(result["samples"]) == 12 * len(arms), f"{len(result['samples'])} samples")
    orders = {tuple(s[1] for s in result["samples"][i:i + len(arms)])
              for i in range(0, len(result["samples"]), len(arms))}
    expect(name, len(orders) > 1, "the order is the same in every round")
    columns = {c: i for i, c in enumerate(result["columns"])}
    valid = [s for s in result["samples"] if not s[columns["invalid"]]]
    expect(name, len(valid) * 2 > len(result["samples"]), "most samples are invalid")
    for s in valid:
        expect(name, abs(s[columns["minflt"]] - s[columns["units"]]) <= s[columns["units"]] / 100,
               "faults are not pages")
    with open(top / "a.csv", newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    expect(name, len(rows) == len(result["samples"]), f"{len(rows)} rows")
    expect(name, [int(r["cpu_ns"]) for r in rows] == [s[columns["cpu_ns"]] for s in result["samples"]],
           "CSV and JSON differ")
    again = bench("report", top / "a.json", "-v")
    expect(name, again.returncode == done.returncode, f"report: status {again.returncode}")
    table = done.stdout.split("\n\nAnswered")[0]
    expect(name, table in again.stdout, "report prints another table")
    repeated = bench(*SHORT, "--json=short")
    expect(name, [s[1] for s in json.loads(repeated.stdout)["samples"]] == [s[1] for s in result["samples"]],
           "the same seed gives another order")


def other_words(top):
    for word in ("env", "list"):
        done = bench(word, "--json")
        expect(word, done.returncode == 0, f"status {done.returncode}")
        validate(word, done.stdout, f"bench-{word}")
    started = time.monotonic()
    done = bench("env", "--watch=1s")
    expect("env", time.monotonic() - started >= 1 and "counted for 1.0 s" in done.stdout, "--watch did not")
    plot = bench("plot", top / "a.json", "-o", top / "a.svg")
    expect("plot", plot.returncode == 0, plot.stderr)
    svg = xml.etree.ElementTree.parse(top / "a.svg").getroot()
    width, height = float(svg.get("width")), float(svg.get("height"))
    texts = [t for t in svg.iter() if t.tag.endswith("}text")]
    expect("plot", len(texts) > 10 and all(0 <= float(t.get("x")) <= width and 0 <= float(t.get("y")) <= height
                                           for t in texts), "text outside of the picture")
    for words in (("run", "x"), ("nothing",), ("run", "--rounds=0"), ("run", "--seed=0"), ("report",),
                  ("run", "--where=up"), ("run", "--workload=none"), ("compare", top / "a.json"),
                  ("env", "--watch=soon"), ("run", "--target=1%"),
                  ("run", "--quick", "--thorough")):
        done = bench(*words)
        expect("usage", done.returncode == 2 and "memcg-policy: error: " in done.stderr,
               f"{words}: status {done.returncode} {done.stderr}")
    nothing_left("usage")


# --- the other three workloads that are not memory and file ---

def later_workloads():
    name = "kmem, cow, brk"
    done = bench("run", "--watch=0", "--rounds=3", "--workload=kmem,cow,brk", "--json=short")
    expect(name, done.returncode in (0, 8), f"status {done.returncode}: {done.stderr}")
    result = json.loads(done.stdout)
    expect(name, [w["name"] for w in result["workloads"]] ==
           ["cow", "brk", "kmem-open", "kmem-pipe", "kmem-fork"], "other workloads")
    if os.geteuid() == 0 and tree:
        expect(name, any(a["before"] for a in result["arms"]), "the root was not measured before the child")
    for summary in result["summary"]:
        for arm in summary["arms"]:
            if arm["n"] > 0:
                expect(name, arm["cpu_ns"] > 0, f"{summary['workload']} in {arm['arm']} costs nothing")
    nothing_left(name)


# --- profiles ---

def profiles(top):
    """Refused where there is no unit; one in a file is shown, and a biased one is not believed."""
    name = "--profile"
    if not json.loads((top / "a.json").read_text())["context"]["pmu"] == "yes":
        started = time.monotonic()
        done = bench("run", "--profile", "--quick")
        expect(name, done.returncode == 1 and "no profile can be taken: " in done.stderr and
               time.monotonic() - started < 5, f"status {done.returncode}: {done.stderr}")
        nothing_left(name)
    else:
        done = bench("run", "--profile", "--watch=0", "--rounds=3", "--workload=anon", "--json=short")
        validate(name, done.stdout, "bench")
    result = json.loads((top / "a.json").read_text())
    one = {"workload": "anon", "arm": "root", "samples": 4000, "lost": 3, "throttled": 0, "user": 0.1,
           "biased": False, "interrupts": 0.01, "memcontrol": 0.0664, "page_counter": 0.002, "rstat": 0.01,
           "shared": 0.02, "functions": [{"name": "__mod_memcg_lruvec_state", "group": "memcontrol",
                                          "share": 0.03}]}
    biased = {**one, "arm": "child-2", "biased": True, "interrupts": 0.358, "memcontrol": None, "functions": []}
    result["profile"] = [one, biased]
    (top / "profile.json").write_text(json.dumps(result))
    done = bench("report", top / "profile.json")
    for text in ("6.64 %", "__mod_memcg_lruvec_state 3.00 %", "refused: 35.8 %", "lower bound", "6 samples were lost"):
        expect(name, text in " ".join(done.stdout.split()), f"{text!r} is not in {done.stdout}")
    again = bench("report", top / "profile.json", "--json=short")
    expect(name, json.loads(again.stdout)["profile"] == result["profile"], "report loses the profile")


# --- endings ---

def start_long(**options):
    """A run that is measuring: its worker works."""
    run = subprocess.Popen([program, "bench", *LONG], env=ENVIRONMENT, stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    for _ in range(200):
        if any(f"-{run.pid}-" in g for g in scratch_groups()) and children(run.pid):
            return run
        time.sleep(0.05)
    run.kill()
    failures.append(f"no worker seen: {run.communicate()[1]}")
    return None


def children(pid):
    try:
        return [int(c) for c in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def end(run):
    out, err = run.communicate(timeout=60)
    return run.returncode, out, err


def by_signal():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        name = number.name
        run = start_long()
        if not run:
            return
        status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
        own = re.search(r"Cpus_allowed_list:\s*(\S+)", status)[1]
        mine = re.search(r"Cpus_allowed_list:\s*(\S+)", pathlib.Path("/proc/self/status").read_text())[1]
        expect(name, own == mine, "the caller was pinned too")
        expect(name, os.getpriority(os.PRIO_PROCESS, run.pid) == os.getpriority(os.PRIO_PROCESS, 0),
               "the priority was changed")
        run.send_signal(number)
        status, _, err = end(run)
        expect(name, status == 1 and "ended by a signal" in err, f"status {status}: {err}")
        nothing_left(name)


def killed_worker():
    name = "a killed worker"
    run = start_long()
    if not run:
        return
    killed = 0
    for _ in range(400):
        for pid in children(run.pid):
            try:
                os.kill(pid, signal.SIGKILL)  # a child of our own child, which waits for it
                killed += 1
            except ProcessLookupError:
                pass
        if killed >= 5 or run.poll() is not None:
            break
        time.sleep(0.02)
    expect(name, killed > 0, "no worker was hit")
    if run.poll() is None:
        run.send_signal(signal.SIGTERM)
    status, _, err = end(run)
    expect(name, status == 1, f"status {status}: {err}")
    nothing_left(name)


def killed_run():
    name = "a killed run"
    run = start_long()
    if not run:
        return
    run.kill()
    end(run)
    for _ in range(50):  # the worker dies with it
        users = [p for g in scratch_groups() if f"-{run.pid}-" in g for p in pathlib.Path(g).rglob("cgroup.procs") if p.read_text()]
        if not users:
            break
        time.sleep(0.1)
    expect(name, not users, f"workers go on: {users}")
    done = bench(*SHORT, "-q")
    expect(name, done.returncode in (0, 8), f"the next run: status {done.returncode}: {done.stderr}")
    nothing_left(name)


# --- places where it must not or cannot measure ---

def unprivileged(top):
    name = "unprivileged"
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if os.geteuid() == 0 else ()
    os.chmod(top, 0o755)
    done = bench(*SHORT, prefix=prefix, cwd="/")
    if "Permission denied" in done.stderr and done.returncode == 126:
        print("SKIP unprivileged: nobody cannot run the program where it was built")
        return
    expect(name, done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    expect(name, "not root" in done.stdout and "nothing is compared" in done.stdout, done.stdout)
    done = bench(*SHORT, "--json=short", prefix=prefix, cwd="/")
    expect(name, [a["name"] for a in json.loads(done.stdout)["arms"]] == ["here", "control"], "other arms")


def limited():
    """Below a memory limit: refused before anything is measured, or told."""
    name = "a memory limit"
    limit = "memory__max" if tree[1] else "memory__limit_in_bytes"
    with Group(tree[0], "limit", **{limit: 48 << 20}) as group:
        done = bench("run", "--watch=0", "--rounds=2", "--workload=file-write", preexec_fn=group.enter)
        expect(name, done.returncode == 1 and group.path.name in done.stderr and
               "can be used without hurting" in done.stderr, f"status {done.returncode}: {done.stderr}")
        env = bench("env", preexec_fn=group.enter)
        expect(name, re.search(r"memory +warn .*" + limit.replace("__", "."), env.stdout), env.stdout)
    nothing_left(name)


def announced():
    """At its peak the run has no more than it said it would."""
    name = "memory announced"
    if b"__asan_init" in pathlib.Path(program).read_bytes():
        print(f"SKIP {name}: the address sanitizer needs more")
        return
    peak = "memory.peak" if tree[1] else "memory.max_usage_in_bytes"
    with Group(tree[0], "peak") as group:
        if not (group.path / peak).exists():
            print(f"SKIP {name}: no {peak} before Linux 5.19")
            return
        done = bench("run", "--watch=0", "--rounds=2", "--no-cgroup", preexec_fn=group.enter)
        said = int(re.search(r"with up to (\d+) MiB", done.stderr)[1])
        used = int((group.path / peak).read_text()) / 2 ** 20
        expect(name, used <= said, f"{used:.1f} MiB used, {said} announced")
    nothing_left(name)


def low_memory(top):
    """What is available is read from a file put over /proc/meminfo, in a mount namespace."""
    name = "low memory"
    text = pathlib.Path("/proc/meminfo").read_text()
    (top / "meminfo").write_text(re.sub(r"(MemAvailable:\s+)\d+", r"\g<1>20000", text))
    prefix = ("unshare", "--mount", "sh", "-c",
              f"mount --bind {top / 'meminfo'} /proc/meminfo && exec \"$@\"", "sh")
    done = bench("run", "--watch=0", "--rounds=2", "--workload=file-write", prefix=prefix)
    if "mount:" in done.stderr:
        print(f"SKIP {name}: no mounts here")
        return
    expect(name, done.returncode == 1 and "--workload=anon" in done.stderr,
           f"status {done.returncode}: {done.stderr}")
    done = bench(*SHORT, prefix=prefix)
    expect(name, done.returncode in (0, 8), f"anon: status {done.returncode}: {done.stderr}")
    nothing_left(name)


def full_group():
    """A group that takes no more processes: the worker cannot be made."""
    name = "a full cgroup"
    pids = next((pathlib.Path(line.split()[1]) for line in pathlib.Path("/proc/mounts").read_text().splitlines()
                 if line.split()[2] == "cgroup" and "pids" in line.split()[3].split(",")), None)
    if pids is None and tree[1]:
        pids = tree[0]
    if pids is None or not (pids / "cgroup.procs").exists():
        print(f"SKIP {name}: no pids controller")
        return
    try:
        group = Group(pids, "full", pids__max=1).__enter__()
    except OSError as e:
        print(f"SKIP {name}: {e}")
        return
    try:
        done = bench(*SHORT, preexec_fn=group.enter)
        expect(name, done.returncode == 1 and done.stderr.count("error:") == 1 and
               "no worker could be started" in done.stderr,
               f"status {done.returncode}: {done.stderr}")
    finally:
        group.__exit__()
    nothing_left(name)


def hidden_root():
    """In a cgroup namespace the caller's own group looks like the root."""
    name = "a cgroup namespace"
    with Group(tree[0], "namespace") as group:
        done = bench(*SHORT, "--json=short", prefix=("unshare", "--cgroup"), preexec_fn=group.enter)
        if "unshare:" in done.stderr:
            print(f"SKIP {name}: {done.stderr.strip()}")
            return
        expect(name, done.returncode in (0, 8), f"status {done.returncode}: {done.stderr}")
    nothing_left(name)


def no_space(top):
    done = bench(*SHORT, "--output=/dev/full")
    expect("full disk", done.returncode == 1 and "/dev/full" in done.stderr,
           f"status {done.returncode}: {done.stderr}")
    started = time.monotonic()
    done = bench("run", f"--output={top}/no/such/file")
    expect("no directory", done.returncode == 1 and time.monotonic() - started < 5,
           f"status {done.returncode}, found out after the run: {done.stderr}")
    done = bench(*SHORT, f"--dir={top}/nowhere", "--workload=file-read")
    expect("--dir", done.returncode == 1 and "nowhere" in done.stderr, f"status {done.returncode}: {done.stderr}")
    nothing_left("no space")


# --- several boots ---

def comparisons(top):
    base = json.loads((top / "a.json").read_text())

    def boot(name, memcg, slower=1.0, **context):
        result = json.loads(json.dumps(base))
        result["context"].update(memcg=memcg, boot_id=name, label=None, **context)
        cpu = result["columns"].index("cpu_ns")
        for k, s in enumerate(result["samples"]):
            s[cpu] = int(s[cpu] * slower * (1 + (sum(map(ord, name)) + k) % 7 / 1e4))
        path = top / f"{name}.json"
        path.write_text(json.dumps(result))
        return path

    on = [boot(f"on{i}", "on", 1.2 + i / 1000) for i in range(5)]
    off = [boot(f"off{i}", "off", 1 + i / 1000) for i in range(5)]
    cases = [
        ("five boots of either kind", 0, [*on, *off]),
        ("four boots, two rows", 8 if len(base["arms"]) > 2 else 0, [*on[:4], *off[:4]]),
        ("three boots", 8, [*on[:3], *off[:3]]),
        ("one boot", 8, [on[0], off[0]]),
        ("one boot, measured five times", 8, [*on, *[off[0]] * 5]),
        ("another kernel", 9, [on[0], boot("kernel", "off", kernel="5.0")]),
        ("another build", 9, [on[0], boot("build", "off", build="#2")]),
        ("another CPU", 9, [on[0], boot("cpu", "off", cpu="other")]),
        ("more CPUs", 9, [on[0], boot("cpus", "off", cpus=64)]),
        ("more memory", 9, [on[0], boot("memory", "off", memory_kb=1)]),
        ("another command line", 9, [on[0], boot("line", "off", cmdline="quiet isolcpus=1")]),
        ("only one kind", 9, on),
    ]
    for name, status, paths in cases:
        done = bench("compare", *paths)
        expect(f"compare: {name}", done.returncode == status,
               f"status {done.returncode}, not {status}: {done.stdout}{done.stderr}")
        if status == 8:
            expect(f"compare: {name}", "too few boots" in done.stdout and "too noisy" not in done.stdout,
                   done.stdout)
        if status == 9:
            expect(f"compare: {name}", "error: " in done.stderr, "no reason")
    forced = bench("compare", "--force", on[0], top / "kernel.json")
    expect("compare --force", forced.returncode == 8 and "warning" in forced.stderr, forced.stderr)
    done = bench("compare", "--json", *on, *off)
    validate("compare", done.stdout, "bench-compare")
    rows = json.loads(done.stdout)["rows"]
    expect("compare", rows and all(r["verdict"] == "cost" and 15 < r["percent"] < 25 for r in rows), str(rows))
    for text in ("", "{}", "[1]", (top / "a.json").read_text()[:3000], "x" * 100):
        (top / "bad.json").write_text(text)
        done = bench("compare", on[0], top / "bad.json")
        expect("compare: a broken file", done.returncode == 1 and "bad.json" in done.stderr,
               f"{text[:20]!r}: status {done.returncode} {done.stderr}")


def main():
    with tempfile.TemporaryDirectory(prefix="memcg-bench-") as name:
        top = pathlib.Path(name)
        whole_run(top)
        other_words(top)
        later_workloads()
        profiles(top)
        no_space(top)
        comparisons(top)
        unprivileged(top)
        if os.geteuid() == 0 and tree:
            by_signal()
            killed_worker()
            killed_run()
            limited()
            announced()
            low_memory(top)
            full_group()
            hidden_root()
        else:
            print("SKIP signals, limits, groups: not root, or no memory controller")
    for line in failures:
        print(f"FAIL {line}")
    print(f"bench verb: {len(failures)} failed")
    return bool(failures)


tree = memory_tree()
sys.exit(main())
