#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often bench finds a difference where there is none: quick runs of one place against itself.

aa.py PROGRAM [RUNS]     default: 200 runs, about half an hour; on a busy or virtual machine, which is the point

The control of each run is made a place of its own in the result file and "bench report" judges it, as it
would any other: a run counts as wrong when it calls any of its workloads different. It may do so in 5 %
of the runs; fails when it does in more than 7 % (of fewer than 200 runs: more than that and chance allow).
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

ALLOWED = 0.07


def quick_run(program, seed, path):
    """A result whose second arm is a place like any other, at path."""
    done = subprocess.run([program, "bench", "run", "--quick", "--quiet", "--watch=0", f"--seed={seed}",
                           "--no-cgroup", f"--output={path}"], capture_output=True, text=True)
    if done.returncode not in (0, 8):
        sys.exit(f"aa: bench run: status {done.returncode}\n{done.stderr}")
    result = json.loads(path.read_text())
    result["arms"][1].update(name="again", control=False)
    path.write_text(json.dumps(result))


def verdicts(program, path):
    done = subprocess.run([program, "bench", "report", "--json=short", path], capture_output=True, text=True)
    if done.returncode not in (0, 8):
        sys.exit(f"aa: bench report: status {done.returncode}\n{done.stderr}")
    rows = json.loads(done.stdout)["summary"]
    return [(row["workload"], row["differences"][0]) for row in rows]


def allowed(runs):
    """7 %, and below 200 runs what a true 5 % exceeds by chance one time in twenty."""
    total = 0.0
    for k in range(runs + 1):
        total += math.comb(runs, k) * 0.05 ** k * 0.95 ** (runs - k)
        if total > 0.95:
            break
    return int(ALLOWED * runs) if runs >= 200 else k


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    wrong, half_widths = 0, []
    with tempfile.TemporaryDirectory(prefix="memcg-aa-") as top:
        path = pathlib.Path(top, "result.json")
        for seed in range(1, runs + 1):
            quick_run(program, seed, path)
            found = verdicts(program, path)
            different = [(w, d) for w, d in found if d["verdict"] in ("cost", "saving")]
            wrong += bool(different)
            half_widths += [(d["high"] - d["low"]) / 2 for _, d in found if d["high"] is not None]
            for workload, d in different:
                print(f"run {seed}: {workload} {d['percent']:+.1f} % [{d['low']:.1f}, {d['high']:.1f}], "
                      f"p {d['p_adjusted']:.3f}", flush=True)
            if seed % 20 == 0:
                print(f"{seed} runs, {wrong} wrong", flush=True)
    half_widths.sort()
    print(f"A/A: {wrong} of {runs} runs found a difference ({100 * wrong / runs:.1f} %, "
          f"{100 * ALLOWED:.0f} % allowed); half-width of the intervals: median "
          f"{half_widths[len(half_widths) // 2]:.1f} %, worst {half_widths[-1]:.1f} %")
    return wrong > allowed(runs)


if __name__ == "__main__":
    sys.exit(main())
