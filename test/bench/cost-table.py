#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""./dev cost-table: what memcg costs, in instructions, from booted kernels; writes docs/COST.md.

cost-table.py [--short] [SUITE...]     suites: bookworm trixie sid (default: all)

Each suite's newest cloud kernel is booted twice with memcg on and twice with it off (guest.py).
Fails when two boots of the same kind differ in one number, when "bench compare" does not find the
cost, or when a difference is not what was measured before (REFERENCE). --short: one boot of either
kind of the first suite, no file written.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path.insert(0, str(HERE))
import guest  # noqa: E402
import kernels  # noqa: E402
import vm  # noqa: E402

OPTIONS = ["--rounds=4", "--workload=anon,file-read,file-write", "--where=root,depth=1,depth=4"]
ARMS = ["root", "child-1", "child-4"]
WORKLOADS = ["anon", "file-read", "file-write"]
# Instructions per page measured with a program that shares no code with this one:
# {series: {workload: (off, root, child-1, child-4)}}
REFERENCE = {
    "6.1": {"anon": (3583, 4190, 4331, 4337), "file-read": (878, 1056, 1057, 1057),
            "file-write": (2473, 2728, 2730, 2731)},
    "6.12": {"anon": (4157, 4686, 4896, 5024), "file-read": (837, 996, 1014, 1065),
             "file-write": (2693, 2950, 2975, 3048)},
    "7.2": {"anon": (4207, 4893, 5063, 5095), "file-read": (937, 1155, 1160, 1159),
            "file-write": (2615, 2930, 2961, 2961)},
}
TOLERANCE = 0.05  # of the difference
SLACK = 5  # instructions: the reference is in whole ones, of four samples


def measure(program, kernel, initrd, top, boots):
    """Result files by kind; every boot of a kind gave the same samples."""
    files = {}
    for kind in ("on", "off"):
        first = None
        for n in range(boots):
            started = time.monotonic()
            result = guest.boot(kernel, initrd, off=kind == "off")
            print(f"  memcg {kind}, boot {n + 1}: {time.monotonic() - started:.0f} s", flush=True)
            if result["context"]["memcg"] != kind:
                raise vm.Failed(f"memcg is {result['context']['memcg']}, not {kind}")
            if any(row[result["columns"].index("invalid")] for row in result["samples"]):
                raise vm.Failed("a sample is invalid")
            if first is not None and result["samples"] != first:
                raise vm.Failed(f"memcg {kind}: two boots of the same kernel differ")
            first = result["samples"]
            files[kind] = pathlib.Path(top, f"{kind}.json")
            files[kind].write_text(json.dumps(result))
    done = subprocess.run([program, "bench", "compare", "--json", files["off"], files["on"]],
                          capture_output=True, text=True)
    # 8: one boot of either kind is not enough to be significant, which is right
    if done.returncode not in (0, 8):
        raise vm.Failed(f"bench compare: status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def numbers(comparison):
    """{workload: {"off": n, arm: n}}"""
    table = {}
    for row in comparison["rows"]:
        one = table.setdefault(row["workload"], {})
        one["off"] = row["before"]
        one[row["arm"]] = row["after"]
    return table


def check(series, table):
    """Complaints about differences that are not those of the reference."""
    wrong = []
    for workload in WORKLOADS:
        mine = [table[workload][name] for name in ("off", *ARMS)]
        if not mine[0] < mine[1] <= mine[2] + SLACK:
            wrong.append(f"{series} {workload}: off {mine[0]:.0f}, root {mine[1]:.0f}, "
                         f"child {mine[2]:.0f} is not in that order")
        if series not in REFERENCE:
            continue
        theirs = REFERENCE[series][workload]
        for name, a, b in (("on - off", 1, 0), ("child - root", 2, 1), ("deep - root", 3, 1)):
            got, want = mine[a] - mine[b], theirs[a] - theirs[b]
            if abs(got - want) > max(TOLERANCE * abs(want), SLACK):
                wrong.append(f"{series} {workload}: {name} is {got:.1f}, {want} was measured")
    return wrong


def row(name, table, workload):
    one = table[workload]
    cells = [name, f"{one['off']:.0f}"]
    for arm in ARMS:
        more = one[arm] - one["off"]
        cells.append(f"{one[arm]:.0f} (+{more:.0f}, +{100 * more / one['off']:.1f} %)")
    return f"| {' | '.join(cells)} |"


def document(results):
    titles = {
        "anon": "Anonymous memory: map 1 MiB, write each page, unmap",
        "file-read": "Page cache: map 32 MiB, read each page, unmap (one fault maps 16 pages)",
        "file-write": "Page cache: map 32 MiB, write each page, unmap (one fault a page)",
    }
    lines = [
        "# What memcg costs", "",
        "Instructions per page of Debian's cloud kernels, memcg off (`cgroup_disable=memory`) and on, "
        "in the root cgroup and in",
        "a child one and four levels deep; in brackets what that is more than off. Made by "
        "`./dev cost-table`: each kernel is",
        "booted twice of either kind in QEMU, whose clock counts instructions (`-icount shift=0`), and "
        "both boots must give the",
        "same numbers to the last digit.", "",
        "**Instructions are not time.** Caches, atomic operations and contention cost nothing here, and a "
        "page is cleared by",
        "`rep stosq`, each step counted. The differences hold for this code path; for time on a host "
        "there is `memcg-policy bench`.", "",
        "Charging itself is the smaller part: most is paid in the root cgroup too, for statistics. So "
        "comparing a child with the",
        "root cgroup in one boot does not tell what memcg costs; it takes boots with it off.", "",
    ]
    for workload in WORKLOADS:
        lines += [f"## {titles[workload]}", "",
                  "| kernel | off | on, root | on, child | on, child four deep |",
                  "|---|---:|---:|---:|---:|"]
        lines += [row(name, table, workload) for name, table in results]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def build():
    """The program as distributions build it: sanitizers would be counted too."""
    top = SOURCE / "build-release"
    if not (top / "build.ninja").exists():
        subprocess.run(["meson", "setup", top, SOURCE, "-Dbuildtype=release"], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["meson", "compile", "-C", top, "memcg-policy:executable"], check=True,
                   stdout=subprocess.DEVNULL)
    return top / "memcg-policy"


def main():
    words = sys.argv[1:]
    short = "--short" in words
    suites = [w for w in words if w != "--short"] or list(kernels.SOURCES)
    program = build()
    results, wrong = [], []
    with tempfile.TemporaryDirectory(prefix="memcg-cost-") as top:
        initrd = guest.build(pathlib.Path(top, "initrd"), program, OPTIONS)
        for suite in suites[:1] if short else suites:
            kernel, name = kernels.fetch(suite, update=not short)
            print(name, flush=True)
            table = numbers(measure(program, kernel, initrd, top, 1 if short else 2))
            series = ".".join(name.split(".")[:2])
            wrong += check(series, table)
            results.append((name, table))
            for workload in WORKLOADS:
                print(" ", workload, row(name, table, workload), flush=True)
    for line in wrong:
        print(f"cost-table: {line}", file=sys.stderr)
    if not short and not wrong:
        (SOURCE / "docs/COST.md").write_text(document(results))
        print("docs/COST.md is written")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except vm.Skipped as reason:
        print(f"SKIP cost-table: {reason}")
        sys.exit(77)
    except vm.Failed as reason:
        sys.exit(f"cost-table: {reason}")
