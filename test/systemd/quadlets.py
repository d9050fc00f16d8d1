# SPDX-License-Identifier: LGPL-2.1-or-later
"""Podman's own quadlet generator against ours: random quadlets, in a root with podman.

"quadlet -dryrun" prints the services it makes. They must be the same; what they say to systemd is
compared by what our loader reads of the generated files and of the quadlets themselves; the
limits on podman's command line must be those that we list.
"""

import collections
import os
import pathlib
import random
import re
import shlex
import subprocess

import roots
import truth

GENERATOR = "/usr/libexec/podman/quadlet"
MIN_PER_RULE = 10
# without /run, where nothing is looked at in a root that does not run
UID = 1000
HOME = "/home/u"
USERS = "/etc/containers/systemd/users"
PLACES = {
    "--system": ("/etc/containers/systemd", "/usr/share/containers/systemd", "/usr/share/containers/systemd/users", USERS),
    "--user": (HOME + "/.config/containers/systemd", USERS, f"{USERS}/{UID}", f"{USERS}/{UID + 1}",
               "/usr/share/containers/systemd/users"),
}
OWNER = {"--system": ["--system"], "--user": [f"--home={HOME}", f"--uid={UID}"]}
KINDS = {
    "container": ("Container", "Image=a/b/c\n"), "pod": ("Pod", ""),
    "kube": ("Kube", "Yaml=x.yaml\n"), "build": ("Build", "ImageTag=x\nFile=/x\n"), "image": ("Image", "Image=x\n"),
    "network": ("Network", ""), "volume": ("Volume", ""), "artifact": ("Artifact", "Artifact=a/b/c\n"),
}
ARGUMENTS = (
    "--memory 1g", "--memory=2g", "-m 3g", "-m4g", "-m=5g", "--memory-reservation=512m", "--memory-swap -1",
    "--memory-swap=6g", '"--memory=7g"', "--memory='8g'", "--cpus 2", "--label=a --memory 9g --memory-reservation 1g",
    "", "--memory \\\n  10g", "--label '--memory 1g'",
)
SERVICE = ("MemoryMax=1G", "MemoryMax=512MB", "MemoryHigh=50%", "MemoryMax=", "OOMPolicy=kill", "OOMPolicy=stop",
           "MemoryLow=1M")


def has_key(systemd, text):
    """Whether that podman makes a service of it: what it does not know, it refuses."""
    place = pathlib.Path(systemd.root, "etc/containers/systemd")
    place.mkdir(parents=True, exist_ok=True)
    kind, _, lines = text.partition("\n")
    (place / f"probe.{kind}").write_text(lines)
    known = bool(generated(systemd, "--system"))
    (place / f"probe.{kind}").unlink()
    return known


class Tree:
    def __init__(self, systemd, seed, manager):
        self.rng = random.Random(seed)
        root = systemd.root
        self.memory = has_key(systemd, "container\n[Container]\nImage=a/b/c\nMemory=1g\n")
        self.kinds = [k for k, (section, own) in KINDS.items() if has_key(systemd, f"{k}\n[{section}]\n{own}")]
        self.root, self.manager = root, manager
        self.rules = collections.Counter()

    def rule(self, name):
        self.rules[name] += 1

    def put(self, place, name, text):
        path = pathlib.Path(self.root + place, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(text)

    def lines(self, kind, base=""):
        rng = self.rng
        section, own = KINDS[kind]
        out = f"[{section}]\n{base and own}"
        for _ in range(rng.randrange(3)):
            arguments = rng.choice(ARGUMENTS)
            self.rule("PodmanArgs= " + (arguments or "(empty)").replace("\n", ""))
            out += f"PodmanArgs={arguments}\n"
        if self.memory and kind == "container" and rng.random() < 0.3:
            self.rule("Memory=")
            out += f"Memory={rng.choice(['11g', '12m', ''])}\n"
        if rng.random() < 0.6:
            out += "[Service]\n" + "".join(rng.choice(SERVICE) + "\n" for _ in range(rng.randrange(1, 3)))
            self.rule("[Service]")
        if rng.random() < 0.2:
            out += f"[Install]\nWantedBy={rng.choice(['default.target', 'multi-user.target'])}\n"
            self.rule("[Install]")
        return out

    def quadlet(self, n):
        rng = self.rng
        kind = rng.choice([*self.kinds, "container", "container", "pod", "kube"])
        self.rule("kind " + kind)
        stem = rng.choice([f"q{n}", f"q{n}-a", f"q{n}-a-b"])
        places = PLACES[self.manager]
        place = rng.choice(places)
        text = self.lines(kind, base=True)
        if rng.random() < 0.1:
            self.rule("ServiceName=")
            text = text.replace("]\n", f"]\nServiceName=named{n}\n", 1)
        # podman has changed its mind on the names of other templates' services
        if rng.random() < 0.25 and kind in ("container", "kube"):
            self.rule("template")
            stem += "@"
        if rng.random() < 0.15:
            self.rule("in a subdirectory")
            place += rng.choice(["/sub", "/sub/below"])
        if rng.random() < 0.1:
            self.rule("in two places")
            self.put(rng.choice(places), f"{stem}.{kind}", self.lines(kind, base=True))
        self.put(place, f"{stem}.{kind}", text)
        prefix = stem.partition("-")[0] + "-" if "-" in stem else None
        for where in [f"{stem}.{kind}.d", *([f"{prefix}.{kind}.d"] if prefix else [])]:
            if rng.random() < 0.3:
                shared = where.startswith(f"q{n}-.")
                self.rule("drop-in of a prefix" if shared else "drop-in")
                # of equal names in a higher directory and in a more exact one podman 5.4 takes the first,
                # 5.8 the second
                self.put(rng.choice(places), f"{where}/{rng.choice('ac' if shared else 'bd')}.conf", self.lines(kind))


def generated(systemd, manager):
    """{service: text} of podman's generator."""
    env = {"PATH": "/usr/bin:/bin", "HOME": HOME, "XDG_RUNTIME_DIR": f"/run/user/{UID}"}
    if manager == "--system":
        done = systemd.run(GENERATOR, ["-dryrun"], env)
    else:
        done = systemd.run(GENERATOR, ["-dryrun", "-user"], env, UID)
    parts = re.split(r"^---(\S+)---$", done.stdout.decode(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def limits_of(text):
    """{option: values in order} on podman's command line."""
    found = collections.defaultdict(list)
    joined = re.sub(r"\\\n", " ", text)
    for line in re.findall(r"^Exec\w+=(.*podman.*)$", joined, flags=re.M):
        words = shlex.split(line)
        for i, word in enumerate(words):
            option, equals, value = word.partition("=")
            if option in ("--memory", "--memory-reservation", "--memory-swap", "-m"):
                found[option.replace("-m", "--memory") if option == "-m" else option].append(
                    value if equals else words[i + 1])
            elif re.match(r"-m\d", word):
                found["--memory"].append(word[2:])
    return found


def ask_ours(dump, systemd, manager, dirs, names, quadlets):
    command = [dump, f"--version={systemd.version}", f"--root={systemd.root}"]
    command += OWNER[manager] + (["--quadlets"] if quadlets else [])
    done = subprocess.run([*command, *dirs, "--"], input="\n".join(names) + "\n", check=True, capture_output=True,
                          text=True)
    services, limits, unit = {}, collections.defaultdict(lambda: collections.defaultdict(list)), None
    for line in done.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word == "quadlet":
            unit = rest.split(" ")[1]
            services.setdefault(unit, {})
        elif word == "limit":
            setting, _, value = rest.rpartition("=")
            limits[unit][setting].append(value)
        elif word == "unit":
            unit = rest.split(" ")[0]
            services[unit] = {"state": rest.split(" ")[2]}
        elif word == "set":
            key, _, value = rest.partition(" ")
            services[unit][key] = value
    return services, limits


def judge(systemd, dump, manager, seed, cases):
    tree = Tree(systemd, seed, manager)
    for n in range(cases):
        tree.quadlet(n)
    theirs = generated(systemd, manager)
    place = pathlib.Path(systemd.root, "tmp/generated")
    place.mkdir(parents=True, exist_ok=True)
    for name, text in theirs.items():
        (place / name).write_text(text)
    ours, limits = ask_ours(dump, systemd, manager, [], sorted(theirs), True)
    read, _ = ask_ours(dump, systemd, manager, ["/tmp/generated"], sorted(theirs), False)
    found = {}
    for name in sorted(set(ours) | set(theirs)):
        if name not in theirs:
            found[name] = "not made by podman"
            continue
        # podman's own line for containers
        read[name].pop("Delegate", None)
        ours.get(name, {}).pop("Delegate", None)
        if ours.get(name) != read.get(name):
            found[name] = f"{ours.get(name)}, of podman's: {read.get(name)}"
        wanted = limits_of(theirs[name])
        mine = {k.removeprefix("PodmanArgs "): v for k, v in limits.get(name, {}).items()}
        # the key comes first on the command line, and both are listed
        key = mine.pop("Memory", [])
        if key and wanted["--memory"][:1] != key[-1:]:
            found[name] = f"Memory={key}, podman: {dict(wanted)}"
        last = {k: v[-1] for k, v in wanted.items() if v[-1] != "-1" and (k != "--memory" or len(v) > len(key))}
        if last != {k: v[-1] for k, v in mine.items()}:
            found[name] = f"limits {dict(mine)}, podman: {dict(wanted)}"
    for rule, n in sorted(tree.rules.items()):
        print(f"{n:6} {rule}")
    for name, why in list(found.items())[:10]:
        print(f"{name}: {why}")
    print(f"{manager}: {cases} quadlets, {len(theirs)} services of podman, {len(found)} differ", flush=True)
    rare = [rule for rule, n in tree.rules.items() if n < MIN_PER_RULE]
    if rare or not theirs:
        print("too rare to count: " + ", ".join(rare))
    return not (found or rare) and bool(theirs)


def judge_suite(suite, dump, seed, cases=600):
    """Whether all is well; of a release whose podman has no quadlets, too."""
    good = True
    for manager in PLACES:
        with roots.unpacked(suite, ["systemd", "podman", "coreutils"], prune="true") as root:
            if not os.path.exists(root + GENERATOR):
                print(f"{suite}: its podman knows no quadlets")
                return True
            pathlib.Path(root, "etc/passwd").write_text(f"root:x:0:0::/root:/bin/sh\nu:x:{UID}:{UID}::{HOME}:/bin/sh\n")
            print(f"{suite}, quadlets, seed {seed} (MEMCG_POLICY_SEED)")
            good &= judge(truth.Systemd(root=root), dump, manager, seed, cases)
    return good
