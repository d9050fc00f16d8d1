#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What needs finds in roots of real Debian packages, against what was installed and enabled.

packages.py [SET...]   ./dev packages runs it (root, network, about ten minutes; the roots'
                       archives are kept in ~/.cache/memcg-policy)

The sets name what the package scripts themselves put to use; then the same root is changed by
hand, as an administrator would, and looked at again.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "vm"))
import disk
import vm

program = str(pathlib.Path(os.environ.get("MEMCG_POLICY", "build/memcg-policy")).resolve())

# packages of Debian 12, or of the release named
SUITES = {"incus": "trixie"}
# name: (packages, in use after installation, installed only, role by Role=auto)
SETS = {
    "server": (["systemd-sysv", "openssh-server", "cron", "rsyslog", "nginx-light", "postfix"],
               set(), set(), "server"),
    "desktop": (["systemd-sysv", "lightdm", "openbox", "xterm", "network-manager", "flatpak",
                 "earlyoom", "snapd"],
                set(), {"snap-quotas"}, "desktop"),
    "containers": (["systemd-sysv", "docker.io", "podman", "crun", "lxc", "lxd", "cephadm"],
                   {"docker", "containerd"}, {"podman", "lxc", "lxd", "cephadm"},
                   "container-host"),
    "incus": (["systemd-sysv", "incus", "podman"],
              set(), {"incus", "podman"}, "server"),
    "machines": (["systemd-sysv", "libvirt-daemon-system", "libvirt-daemon-driver-lxc", "slurmd",
                  "cgroup-tools", "runsc", "oar-node"],
                 set(), {"libvirt-qemu", "libvirt-lxc", "slurm", "libcgroup", "gvisor", "oar"},
                 "server"),
    "daemons": (["systemd-sysv", "systemd-oomd", "oomd", "netdata", "prometheus-node-exporter"],
                {"systemd-oomd", "oomd", "netdata"}, {"node-exporter"}, "server"),
}


def write(root, name, text):
    path = pathlib.Path(root + name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def systemctl(root, *words):
    subprocess.run(["systemctl", f"--root={root}", *words], check=True, capture_output=True)


# what an administrator does next, and what is then in use
CHANGES = {
    "server": [],
    "desktop": [
        (lambda r: write(r, "/etc/systemd/system/snap.a.slice", "[Slice]\nMemoryMax=1G\n"),
         {"snap-quotas", "systemd-units"}),
    ],
    "containers": [
        (lambda r: systemctl(r, "disable", "docker.service", "docker.socket"), {"containerd"}),
        (lambda r: systemctl(r, "mask", "containerd.service"), set()),
        (lambda r: write(r, "/var/lib/docker/containers/1/hostconfig.json", '{"Memory":9}'),
         {"docker"}),
        (lambda r: write(r, "/etc/containers/systemd/a.container", "[Container]\nImage=a\n"),
         {"docker", "podman"}),
        (lambda r: write(r, "/var/lib/lxc/a/config", "lxc.cgroup2.memory.max = 1G\n"),
         {"docker", "podman", "lxc"}),
        (lambda r: write(r, "/var/lib/lxd/containers/a/backup.yaml", "limits.memory: 1GiB\n"),
         {"docker", "podman", "lxc", "lxd"}),
    ],
    "incus": [
        (lambda r: write(r, "/var/lib/incus/containers/a/backup.yaml", "limits.memory: 1GiB\n"),
         {"incus"}),
    ],
    "machines": [
        (lambda r: write(r, "/etc/slurm/cgroup.conf", "ConstrainRAMSpace=yes\n"), {"slurm"}),
        (lambda r: write(r, "/etc/libvirt/lxc/a.xml", "<domain type='lxc'/>\n"),
         {"slurm", "libvirt-lxc"}),
        (lambda r: systemctl(r, "disable", "slurmd.service"), {"libvirt-lxc"}),
        (lambda r: write(r, "/etc/cgconfig.conf", "group a {\n memory { }\n}\n"),
         {"libvirt-lxc", "libcgroup"}),
    ],
    "daemons": [
        (lambda r: systemctl(r, "disable", "systemd-oomd.service",
                             "systemd-oomd.socket"), {"oomd", "netdata"}),
        (lambda r: write(r, "/etc/default/prometheus-node-exporter",
                         'ARGS="--collector.cgroups"\n'), {"oomd", "netdata", "node-exporter"}),
    ],
}


def look(root):
    run = subprocess.run([program, "needs", f"--root={root}", "--json"], capture_output=True,
                         text=True, check=True)
    needs = json.loads(run.stdout)["needs"]
    return ({n["id"] for n in needs if n["in_use"] is True},
            {n["id"] for n in needs if n["in_use"] is not True}, run.stderr)


def role(root):
    """What Role=auto makes of the root."""
    conf = pathlib.Path(root + "/etc/memcg-policy/policy.conf.d/50.conf")
    conf.parent.mkdir(parents=True, exist_ok=True)
    conf.write_text("[Policy]\nRole=auto\nMemcg=\n")
    run = subprocess.run([program, "explain", f"--root={root}", "--json"], capture_output=True,
                         text=True, check=False)
    shutil.rmtree(root + "/etc/memcg-policy")
    if run.returncode != 0:
        return f"unknown: {run.stderr}"
    return json.loads(run.stdout)["policy"]["role"]


def run_set(name, top):
    packages, used, unused, want_role = SETS[name]
    root = f"{top}/{name}"
    os.mkdir(root)
    disk.unpack(disk.bootstrap(SUITES.get(name, "bookworm"), packages), root)
    failures = []
    got, rest, warnings = look(root)
    if (got, rest, warnings) != (used, unused, ""):
        failures.append(f"in use {sorted(got)}, installed {sorted(rest)}, {warnings!r}")
    if role(root) != want_role:
        failures.append(f"role {role(root)}")
    for number, (change, want) in enumerate(CHANGES[name], 1):
        change(root)
        got, _, warnings = look(root)
        if (got, warnings) != (want, ""):
            failures.append(f"change {number}: in use {sorted(got)}, wanted {sorted(want)}")
    shutil.rmtree(root)
    return failures


if os.geteuid() != 0:
    print("SKIP needs-packages: needs root")
    sys.exit(77)
try:
    vm.need("mmdebstrap")
except vm.Skipped as why:
    print(f"SKIP needs-packages: {why}")
    sys.exit(77)
count = 0
with tempfile.TemporaryDirectory(prefix="memcg-packages-", dir=os.environ.get("TMPDIR")) as work:
    os.chmod(work, 0o755)  # apt's own user reads below it
    for which in sys.argv[1:] or SETS:
        for failure in run_set(which, work):
            print(f"FAIL {which}: {failure}")
            count += 1
        print(f"done {which}", flush=True)
sys.exit(1 if count else 0)
