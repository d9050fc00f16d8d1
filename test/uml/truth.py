#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernel truth: boots user-mode Linux with odd command lines and cgroup mounts.

What the kernel did with a line (its log, the controllers of its v2 root) must be what
cmdline_predict() says of that line, and what the tool says when it runs inside. Whether the
kernel honours cgroup_enable= must come out of its symbols, its log, the environment it gave to
init and its image. What is then foretold of all other lines must be right, or "unknown".

usage: truth.py BUILD-DIR [--kernel VARIANT] [LINE-NUMBER]

Without a variant: Debian's user-mode-linux. kernels.py ("./dev kernels") makes the variants, of
kernels that honour cgroup_enable=; "all" is every one of them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)

from kernels import VARIANTS, path as kernel_path  # noqa: E402

uml = os.path.join(here, "..", "vm", "uml.sh")
build = os.path.abspath(sys.argv[1])
facts_print = os.path.join(build, "test", "uml", "facts-print")
status = os.path.join(build, "memcg-policy") + " status --json=short"

LINES = [
    "",
    "cgroup_disable=memory",
    "cgroup_disable=cpu,memory",
    "cgroup_disable=,memory,,pressure",
    "cgroup_disable=bogus,memory,unknown",
    "cgroup_disable=cpu cgroup_disable=memory",
    "cgroup_disable=memory cgroup_disable=cpu",
    "cgroup_disable=memory cgroup_disable=",
    "cgroup-disable=memory",
    "cgroup-disable=cpu,mem-ory",
    '"cgroup_disable=memory"',
    'cgroup_disable="cpu,memory"',
    'cgroup_disable=cpu,"memory"',
    '"cgroup_disable=memory cpu"',
    "'cgroup_disable=memory'",
    "cgroup_disable=Memory",
    "CGROUP_DISABLE=memory",
    "cgroup_disable=",
    "cgroup_disable",
    "cgroup_disable==memory",
    "=cgroup_disable=memory",
    "cgroup_disable.x=memory",
    "cgroup_enable=memory",
    "cgroup_disable=memory cgroup_enable=memory",
    "cgroup_enable=memory cgroup_disable=memory",
    "cgroup_disable=memory cgroup_enable=memory cgroup_disable=cpu,memory",
    "cgroup_enable=memory cgroup_disable=memory cgroup_enable=cpuset",
    "cgroup_disable=memory cgroup-enable=cpuset,,memory",
    'cgroup_disable=memory "cgroup_enable=memory"',
    "cgroup_disable=memory cgroup_enable=Memory",
    "cgroup_disable=memory cgroup_enable",
    "cgroup_disable=memory -- cgroup_enable=memory",
    "cgroup_enable=memory -- cgroup_disable=memory",
    "cgroup_enable=cpuset cgroup_memory=1",
    "cgroup_memory=1 cgroup_no_v1=memory cgroup.memory=nokmem swapaccount=0",
    "-- cgroup_disable=memory",
    '"--" cgroup_disable=memory',
    "--- cgroup_disable=memory",
    "x=-- cgroup_disable=memory",
    'x="y cgroup_disable=memory" z',
    'x="y cgroup_disable=memory',
    'cgroup_disable="cpu,memory',
    'x="a b"cgroup_disable=memory',
    "a\tcgroup_disable=memory",
    "a\u00a0b",  # two bytes in UTF-8, of which the kernel takes the second as a blank
    "caf\u00e0cgroup_disable=memory",
]


class Wrong(Exception):
    pass


def expect(what, got, want):
    if got != want:
        raise Wrong(f"{what}: {got!r}, but {want!r}")


def inside(script, words="", attempts=2):
    """Output of a shell script run in UML with these words on its line."""
    for left in range(attempts - 1, -1, -1):
        done = subprocess.run(
            [uml, "-t", "120", "-k", words, "--", "sh", "-c", script],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="surrogateescape")
        if done.returncode != 125 or not left:
            break
        print(f"retry: {words!r} died early", flush=True)
    if done.returncode:
        raise Wrong(f"exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def facts(*arguments):
    return json.loads(subprocess.run([facts_print, *arguments], stdout=subprocess.PIPE,
                                     check=True).stdout)


def both(answers):
    """The library's facts, and the same ones in the program's own words."""
    tool, whole = (json.loads(line) for line in answers.splitlines())
    for key in ("memcg", "hierarchy", "why", "source", "request", "token", "kernel", "container"):
        expect(f"status and facts: {key}", whole["running"][key], tool[key])
    return tool, whole["running"]


# how the kernel under test treats cgroup_enable=, and what it is without a word
RULE, DEFAULT, HONOURS = "mainline", "on", "no"


def check_line(words):
    """The kernel, the prediction and the tool agree about one line."""
    output = inside(
        "mount -t cgroup2 cgroup2 /sys/fs/cgroup; cat /proc/cmdline; echo ==;"
        f"cat /sys/fs/cgroup/cgroup.controllers; echo ==; dmesg; echo ==; {facts_print}; {status} 2>/dev/null",
        words)
    line, controllers, log, answers = output.split("==\n")
    tool, running = both(answers)
    predicted = facts("--rule", RULE, DEFAULT, line)
    on = "memory" in controllers.split()
    logged = [word for _, _, word in re.findall(
        r"^(\[ *[0-9.]+\] )?(cgroup: )?(Disabling|Enabling) memory control group subsystem$",
        log, re.M)]
    if on:
        expect("the kernel's log and its v2 root", "Disabling" in logged and
               "Enabling" not in logged, False)
    else:
        expect("the kernel's log and its v2 root", "Disabling" in logged, True)
    kernel = "on" if on else "off"
    expect("prediction and kernel", predicted["predicted"], kernel)
    expect("tool and kernel", running["memcg"], kernel)
    expect("tool and prediction", tool["request"], predicted["predicted_request"])
    expect("tool and prediction", tool["token"], predicted["predicted_token"])
    expect("honours_enable by its symbols", tool["honours_enable"], HONOURS)
    # a kernel that has no such word leaves it to init; one that has it says so in its log
    asked = "cgroup_enable=" in line.replace("cgroup-", "cgroup_").partition(" -- ")[0]
    known = re.search(r"Enabling \S+ control group subsystem", log)
    expect("honours_enable by the environment of init", tool["environment_honours"],
           "no" if asked and HONOURS == "no" else "unknown")
    expect("honours_enable by what it said", tool["said_honours"],
           HONOURS if (asked and HONOURS == "no") or known else "unknown")
    expect("hierarchy", tool["hierarchy"], "v2")
    expect("source", tool["source"], "/sys/fs/cgroup/cgroup.controllers")
    if not on and tool["token"] and tool["token"].strip('"') not in tool["why"]:
        raise Wrong(f"why: {tool['why']!r} does not name {tool['token']!r}")
    return f"{kernel}, asks for {tool['request']}"


def check_foretold(words):
    """What the kernel of one boot is thought to do with every other line is what it would do."""
    with tempfile.NamedTemporaryFile("w", errors="surrogateescape") as file:
        file.writelines(line + "\n" for line in LINES)
        file.flush()
        output = inside(f"mount -t cgroup2 cgroup2 /sys/fs/cgroup; {facts_print} --lines {file.name}",
                        words)
    states = json.loads(output)["states"]
    expect("lines", len(states), len(LINES))
    for line, state in zip(LINES, states):
        if state != "unknown":
            expect(f"of {line!r}", state, facts("--rule", RULE, DEFAULT, line)["predicted"])
    unknown = [line for line, state in zip(LINES, states) if state == "unknown"]
    return f"{len(LINES) - len(unknown)} lines foretold" + \
        (f", not told: {unknown}" if unknown else "")


def check_image(path):
    """The kernel's own file, not booted."""
    answer = facts("--image", path)
    expect("honours_enable by its image", answer["honours_enable"], HONOURS)
    return f"{answer['release']} {HONOURS}"


ASK = f"{facts_print}; {status} 2>/dev/null"  # the warnings are in the JSON, too
NEST = (f"exec unshare -C -m sh -c 'umount /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup;"
        f"{ASK}'")

# What is mounted, by commands; and what must be said with memory on and, for some, off.
MOUNTS = [
    ("nothing", "", ("on", "none", None), ("off", "none", None)),
    ("v2", "mount -t cgroup2 none /sys/fs/cgroup",
     ("on", "v2", "/sys/fs/cgroup"), ("off", "v2", None)),
    ("v1", "mount -t tmpfs none /sys/fs/cgroup; cd /sys/fs/cgroup; mkdir cpu memory;"
     "mount -t cgroup -o cpu none cpu; mount -t cgroup -o memory none memory",
     ("on", "v1", "/sys/fs/cgroup/memory"), ("off", "v1", None)),
    ("v1 without memory", "mount -t tmpfs none /sys/fs/cgroup; cd /sys/fs/cgroup; mkdir cpu;"
     "mount -t cgroup -o cpu none cpu", ("on", "v1", None)),
    ("hybrid", "mount -t tmpfs none /sys/fs/cgroup; cd /sys/fs/cgroup; mkdir cpu memory unified;"
     "mount -t cgroup -o cpu none cpu; mount -t cgroup -o memory none memory;"
     "mount -t cgroup2 none unified", ("on", "hybrid", "/sys/fs/cgroup/memory"),
     ("off", "hybrid", None)),
    ("hybrid, memory on v2", "mount -t tmpfs none /sys/fs/cgroup; cd /sys/fs/cgroup;"
     "mkdir cpu unified; mount -t cgroup -o cpu none cpu; mount -t cgroup2 none unified",
     ("on", "hybrid", "/sys/fs/cgroup/unified")),
    ("v1 elsewhere", "mount -t tmpfs none /mnt; mkdir /mnt/m;"
     "mount -t cgroup -o memory,cpu none /mnt/m || mount -t cgroup -o cpu none /mnt/m",
     ("on", "v1", "/mnt/m")),
    ("v2 elsewhere", "mount -t tmpfs none /mnt; mkdir /mnt/u; mount -t cgroup2 none /mnt/u",
     ("on", "v2", "/mnt/u")),
    ("v2, memory on v1 elsewhere", "mount -t cgroup2 none /sys/fs/cgroup;"
     "mount -t tmpfs none /mnt; mkdir /mnt/m; mount -t cgroup -o memory none /mnt/m",
     ("on", "hybrid", "/mnt/m"), ("off", "v2", None)),
    ("namespace without memory", "mount -t cgroup2 none /sys/fs/cgroup; cd /sys/fs/cgroup;"
     "mkdir a; echo $$ >a/cgroup.procs; cd /; " + NEST, ("on", "v2", None), ("off", "v2", None)),
    ("namespace with memory", "mount -t cgroup2 none /sys/fs/cgroup; cd /sys/fs/cgroup;"
     "echo +memory >cgroup.subtree_control; mkdir a; echo $$ >a/cgroup.procs; cd /; " + NEST,
     ("on", "v2", "/sys/fs/cgroup")),
]


def check_mounts(case):
    name, commands, *wanted = case
    after = "true" if NEST in commands else ASK
    for words, want in zip(("" if DEFAULT == "on" else "cgroup_enable=memory",
                            "cgroup_disable=memory"), wanted):
        output = inside(f"{{ {commands or ':'}; }} 2>/dev/null; cd /; {after}", words)
        tool, _ = both(output)
        expect(f"with {words or 'no word'}",
               (tool["memcg"], tool["hierarchy"], tool["memory_tree"]), want)
        # the namespace's own root is not the tree's: a container, whatever its name
        if not os.path.exists("/.dockerenv"):
            expect("container", tool["container"],
                   "container-other" if NEST in commands else "none")
    return " and ".join(want[0] for want in wanted)


def check_silence(_):
    """/proc/cgroups is not opened where a v2 root answers: newer kernels log that it was."""
    for words in ("", "cgroup_disable=memory"):
        output = inside(f"mount -t cgroup2 none /sys/fs/cgroup; strace -f -e trace=open,openat,openat2,"
                        f"execve,fork,vfork,clone,clone3 {status} 2>&1", words)
        if "cgroup.controllers" not in output:
            raise Wrong(f"no trace: {output}")
        if "/proc/cgroups" in output:
            raise Wrong("/proc/cgroups was opened")
        expect("programs started", len(re.findall(r"^(?:\[pid +\d+\] )?(?:execve|fork|vfork|clone)",
                                                  output, re.M)), 1)
    return "opens no /proc/cgroups, starts no program"


def use(variant):
    global RULE, DEFAULT, HONOURS  # pylint: disable=global-statement
    if not os.access(kernel_path(variant), os.X_OK):
        print(f"SKIP truth: no {kernel_path(variant)} (./dev kernels)")
        return False
    os.environ["UML_KERNEL"] = str(kernel_path(variant))
    RULE, DEFAULT, HONOURS = VARIANTS[variant].rule, VARIANTS[variant].default, "yes"
    return True


def run_all(wanted, image):
    jobs = [(f"line {i}: {words!r}", check_line, words) for i, words in enumerate(LINES, 1)]
    jobs += [(f"foretold from {words!r}", check_foretold, words) for words in (
        "", "cgroup_disable=memory", "cgroup_enable=memory",
        "cgroup_disable=memory cgroup_enable=memory", "cgroup_enable=memory cgroup_disable=memory")]
    jobs += [(f"mounts: {case[0]}", check_mounts, case) for case in MOUNTS]
    jobs += [("silence", check_silence, None), ("image", check_image, image)]
    jobs = [job for job in jobs if wanted in job[0]]
    failed = 0

    def run(job):
        try:
            return True, job[1](job[2])
        except (Wrong, ValueError, subprocess.SubprocessError) as error:
            return False, str(error)

    with ThreadPoolExecutor(2) as pool:
        for job, (good, text) in zip(jobs, pool.map(run, jobs)):
            print(f"{'ok' if good else 'FAILED'}  {job[0]}: {text}", flush=True)
            failed += not good
    print(f"{len(jobs) - failed} agree, {failed} do not")
    return failed != 0


def main():
    argv, names = sys.argv[2:], []
    if argv[:1] == ["--kernel"]:
        names = list(VARIANTS) if argv[1] == "all" else [argv[1]]
        argv = argv[2:]
    wanted = argv[0] if argv else ""
    failed = False
    for name in names:
        if not use(name):
            return 77
        print(f"--- {name}: {RULE}, {DEFAULT} without a word", flush=True)
        failed |= run_all(wanted, os.environ["UML_KERNEL"])
    if names:
        return failed
    if not shutil.which("linux.uml"):
        print("SKIP truth: no linux.uml (Debian package user-mode-linux)")
        return 77
    return run_all(wanted, shutil.which("linux.uml"))


if __name__ == "__main__":
    # bytes of a line that are not UTF-8 travel as they are
    os.environ["PYTHONUTF8"] = "1"
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TMPDIR"] = scratch
        sys.exit(main())
