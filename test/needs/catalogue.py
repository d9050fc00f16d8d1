#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every entry of needs.d against roots made here: absent, installed only, in use, with limits.

A root is a dict of path -> text; "->X" is a link, "/" a directory. For each entry of the
catalogue ENTRIES says what makes it installed, which further files put it to use (several ways
may be given), and which hold a limit, each with the evidence that must be shown. Nothing else
may be found in such a root. catalogue.py [ID...] runs some of them.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(os.environ.get("MEMCG_POLICY_SOURCE", ".")).resolve()
program = os.environ.get("MEMCG_POLICY", "build/memcg-policy")
try:
    import jsonschema
except ImportError:
    jsonschema = None

LIB = "/usr/lib/systemd/system/"
ETC = "/etc/systemd/system/"
UNIT = "[Service]\nExecStart=/bin/true\n"


def enabled(unit, target="multi-user.target"):
    """A unit of a package, enabled; and the evidence for it."""
    kind = unit.rsplit(".", 1)[1]
    name = unit if "@" not in unit else unit.split("@")[0] + "@." + kind
    link = f"{ETC}{target}.wants/{unit}"
    return {LIB + name: UNIT, link: f"->{LIB}{name}"}, (link, None, f"{unit} is enabled")


def way(files, path, line, text):
    return files, (path, line, text)


def there(path, content=""):
    return {path: content}, (path, None, "is there")


def installed(*paths):
    return {p: "" for p in paths}


HC = "/var/lib/docker/containers/c0ffee/hostconfig.json"
OCI = "/var/lib/containers/storage/overlay-containers/c0ffee/userdata/config.json"
SLURM = enabled("slurmd.service")[0]
NOMAD = enabled("nomad.service")[0]
MESOS = enabled("mesos-slave.service")[0]
PBS = {"/var/spool/pbs/mom_priv/hooks/pbs_cgroups.HK": "type=site\nenabled=true\n"}
CG = "/sys/fs/cgroup/"
# a captured machine: only there the kernel's files are looked at
V2 = {"/proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
      CG + "cgroup.controllers": "cpu io memory pids\n", CG + "a.slice/memory.max": "max\n"}
PBS_CF = "/var/spool/pbs/mom_priv/hooks/pbs_cgroups.CF"

# id: (level, installed, [ways of use], [ways of limits], [files that are no use])
# what another entry's root shows as well
ALSO = {"snap-quotas": {"systemd-units"}}

ENTRIES = {
    "docker": (
        "limits",
        installed("/usr/sbin/dockerd"),
        [
            enabled("docker.service"),
            enabled("docker.socket", "sockets.target"),
            enabled("snap.docker.dockerd.service"),
            there("/var/lib/docker/containers/c0ffee", "/"),
            way({"/etc/docker/daemon.json": '{"data-root": "/srv/d"}', "/srv/d/containers/1": "/"},
                "/srv/d/containers/1", None, "is there"),
            way({"/etc/init.d/docker": "x", "/etc/runlevels/default/docker": "->/etc/init.d/docker"},
                "/etc/runlevels/default/docker", None, "docker.service is enabled"),
        ],
        [
            way({HC: '{"Memory":536870912,"MemorySwap":0}'}, HC, None, "/Memory = 536870912"),
            way({HC: '{"Memory":0,"MemoryReservation":1024}'}, HC, None,
                "/MemoryReservation = 1024"),
            way({HC: '{"Memory":0,"MemorySwap":2048}'}, HC, None, "/MemorySwap = 2048"),
            way({"/var/snap/docker/common/var-lib-docker/containers/1/hostconfig.json":
                 '{"Memory":1}'},
                "/var/snap/docker/common/var-lib-docker/containers/1/hostconfig.json", None,
                "/Memory = 1"),
        ],
        {LIB + "docker.service": UNIT, "/etc/docker/daemon.json": "{}",
         "/var/lib/docker/volumes/x": "/"},
    ),
    "podman": (
        "limits",
        installed("/usr/bin/podman"),
        [
            enabled("podman-kube@x.service", "default.target"),
            there("/etc/containers/systemd/web.container", "[Container]\nImage=x\n"),
            there("/etc/containers/systemd/app/web.kube", "[Kube]\nYaml=x.yml\n"),
            there("/usr/share/containers/systemd/web.container", "[Container]\n"),
            there("/home/u/.config/containers/systemd/web.container", "[Container]\n"),
            there("/var/lib/containers/storage/overlay-containers/c0ffee/userdata", "/"),
        ],
        [
            way({"/etc/containers/systemd/web.container": "[Container]\nImage=x\nMemory=1g\n"},
                "/etc/containers/systemd/web.container", 3, "Memory=1g of web.container"),
            way({"/etc/containers/systemd/web.container":
                 "[Container]\nPodmanArgs=--env P=secret --memory 512m\n"},
                "/etc/containers/systemd/web.container", 2,
                "PodmanArgs --memory=512m of web.container"),
            way({"/etc/containers/systemd/web.container":
                 "[Container]\nImage=x\nPodmanArgs=-m=1g\n"},
                "/etc/containers/systemd/web.container", 3, None),
            way({"/etc/containers/systemd/web.container": "[Container]\nImage=x\n",
                 "/etc/containers/systemd/web.container.d/m.conf": "[Container]\nMemory=2g\n"},
                "/etc/containers/systemd/web.container.d/m.conf", 2,
                "Memory=2g of web.container"),
            way({"/home/u/.config/containers/systemd/web.container":
                 "[Container]\nPodmanArgs=--env P=secret --memory 512m\n"},
                "/home/u/.config/containers/systemd/web.container", 2, "--memory 512m"),
            way({"/home/u/.config/containers/systemd/web.container": "[Container]\nMemory=1g\n"},
                "/home/u/.config/containers/systemd/web.container", 2, "Memory=1g"),
            way({OCI: '{"linux":{"resources":{"memory":{"limit":1048576}}}}'}, OCI, None,
                "/linux/resources/memory/limit = 1048576"),
        ],
        # what packages enable by themselves
        {**enabled("podman.socket", "sockets.target")[0],
         **enabled("podman.service", "default.target")[0],
         **enabled("podman-restart.service", "default.target")[0],
         **enabled("podman-auto-update.timer", "timers.target")[0],
         "/var/lib/containers/storage/overlay-containers/containers.json": "[]",
         "/etc/containers/registries.conf": ""},
    ),
    "containerd": ("limits", installed("/usr/bin/containerd"), [enabled("containerd.service")],
                   [], {LIB + "containerd.service": UNIT}),
    "cri-o": ("limits", installed("/usr/bin/crio"), [enabled("crio.service")], [],
              {"/etc/crio/crio.conf": ""}),
    "gvisor": ("limits", installed("/usr/bin/runsc"),
               [way({"/etc/docker/daemon.json":
                     '{"runtimes": {\n"runsc": {"path": "/usr/local/bin/runsc"}}}'},
                    "/etc/docker/daemon.json", 2, '"/usr/local/bin/runsc"'),
                way({"/etc/containerd/config.toml": 'a\n  runtime_type = "io.containerd.runsc.v1"'},
                    "/etc/containerd/config.toml", 2, "runsc")],
               [], {"/etc/containerd/config.toml": "# runsc\n"}),
    "kata": ("limits", installed("/usr/bin/kata-runtime"),
             [way({"/etc/containerd/config.toml": 'runtime_type = "io.containerd.kata.v2"'},
                  "/etc/containerd/config.toml", 1, "io.containerd.kata")], [], {}),
    "firecracker": ("limits", installed("/usr/bin/firecracker"),
                    [there("/etc/firecracker-containerd/config.toml")], [], {}),
    "buildkit": ("limits", installed("/usr/bin/buildkitd"), [enabled("buildkit.service")], [], {}),
    "lxc": (
        "limits",
        installed("/usr/bin/lxc-start"),
        [
            there("/var/lib/lxc/c1/config", "lxc.uts.name = c1\n"),
            there("/home/u/.local/share/lxc/c1/config", "lxc.uts.name = c1\n"),
            enabled("lxc@c1.service"),
            way({"/etc/lxc/lxc.conf": "lxc.lxcpath = /srv/lxc\n", "/srv/lxc/c1/config": ""},
                "/srv/lxc/c1/config", None, "is there"),
            way({"/etc/lxc/lxc.conf": "lxc.cgroup.use = freezer,memory\n"}, "/etc/lxc/lxc.conf", 1,
                "lxc.cgroup.use=freezer,memory"),
        ],
        [
            way({"/var/lib/lxc/c1/config": "#\nlxc.cgroup2.memory.max = 1G\n"},
                "/var/lib/lxc/c1/config", 2, "lxc.cgroup2.memory.max = 1G"),
            way({"/var/lib/lxc/c1/config": "lxc.cgroup.memory.limit_in_bytes=1G\n"},
                "/var/lib/lxc/c1/config", 1, "lxc.cgroup.memory.limit_in_bytes=1G"),
        ],
        {**enabled("lxc.service")[0], **enabled("lxc-net.service")[0],
         "/etc/lxc/default.conf": "lxc.net.0.type = empty\n"},
    ),
    "incus": ("limits", installed("/usr/bin/incusd"),
              [there("/var/lib/incus/containers/c1", "->/var/lib/incus/storage-pools/x/containers/c1"),
               there("/var/lib/incus/virtual-machines/v1", "/")],
              [way({"/var/lib/incus/containers/c1/backup.yaml":
                    "container:\n  config:\n    limits.memory: 512MiB\n"},
                   "/var/lib/incus/containers/c1/backup.yaml", 3, "limits.memory: 512MiB")],
              {**enabled("incus.socket", "sockets.target")[0],
               **enabled("incus-startup.service")[0], "/var/lib/incus/containers": "/"}),
    "lxd": ("limits", installed("/usr/sbin/lxd"),
            [there("/var/lib/lxd/containers/c1", "/"),
             there("/var/snap/lxd/common/lxd/virtual-machines/v1", "/")],
            [way({"/var/snap/lxd/common/lxd/containers/c1/backup.yaml":
                  "config:\n  limits.memory: 1GiB\n"},
                 "/var/snap/lxd/common/lxd/containers/c1/backup.yaml", 2, "limits.memory: 1GiB")],
            {**enabled("snap.lxd.daemon.unix.socket", "sockets.target")[0],
             **enabled("lxd.socket", "sockets.target")[0]}),
    "proxmox-ve": ("limits", installed("/usr/sbin/pct"),
                   [there("/etc/pve/lxc/100.conf", "hostname: a\n"),
                    enabled("pve-container@100.service")],
                   [way({"/etc/pve/lxc/100.conf": "hostname: a\nmemory: 512\n"},
                        "/etc/pve/lxc/100.conf", 2, "memory: 512")],
                   {"/etc/pve/lxc": "/"}),
    "libvirt-lxc": ("required", installed("/usr/libexec/libvirt_lxc"),
                    [there("/etc/libvirt/lxc/c1.xml", "<domain type='lxc'/>")], [],
                    {"/etc/libvirt/lxc/autostart": "/"}),
    "libvirt-qemu": ("limits", installed("/usr/sbin/libvirtd"), [],
                     [way({"/etc/libvirt/qemu/vm.xml":
                           "<domain>\n<memtune>\n<hard_limit unit='KiB'>1</hard_limit>\n"},
                          "/etc/libvirt/qemu/vm.xml", 3, "<hard_limit unit='KiB'>1")],
                     {"/etc/libvirt/qemu/vm.xml": "<domain><memory>1</memory></domain>",
                      **enabled("libvirtd.service")[0]}),
    "kubelet": ("required", installed("/usr/bin/kubelet"),
                [enabled("kubelet.service"), there("/var/lib/kubelet/config.yaml"),
                 there("/etc/kubernetes/kubelet.conf")], [], {LIB + "kubelet.service": UNIT}),
    "microk8s": ("required", {"/snap/microk8s/current": "/"},
                 [enabled("snap.microk8s.daemon-kubelite.service")], [], {}),
    "k3s": ("required", installed("/usr/local/bin/k3s"),
            [enabled("k3s.service"),
             way({ETC + "k3s-agent.service": UNIT,
                  ETC + "multi-user.target.wants/k3s-agent.service": f"->{ETC}k3s-agent.service"},
                 ETC + "multi-user.target.wants/k3s-agent.service", None,
                 "k3s-agent.service is enabled")], [], {"/etc/rancher/k3s": "/"}),
    "rke2": ("required", installed("/usr/local/bin/rke2"), [enabled("rke2-server.service")], [],
             {}),
    "k0s": ("required", installed("/usr/local/bin/k0s"), [enabled("k0sworker.service")], [], {}),
    "nomad": ("required", installed("/usr/bin/nomad"),
              [way({**NOMAD, "/etc/nomad.d/nomad.hcl": "server {\n}\nclient {\n enabled = true\n}\n"},
                   "/etc/nomad.d/nomad.hcl", 3, "client {")], [],
              {**NOMAD, "/etc/nomad.d/nomad.hcl": "server {\n}\n#client {\n"}),
    "mesos": ("required", installed("/usr/sbin/mesos-slave"),
              [way({**MESOS, "/etc/mesos-slave/isolation": "cgroups/cpu,cgroups/mem\n"},
                   "/etc/mesos-slave/isolation", 1, "cgroups/mem")], [],
              {**MESOS, "/etc/mesos-slave/isolation": "cgroups/cpu\n"}),
    "balena": ("required", installed("/usr/bin/balenad"), [enabled("balena.service")], [], {}),
    "slurm": ("required", installed("/usr/sbin/slurmd"),
              [way({**SLURM, "/etc/slurm/slurm.conf": "JobAcctGatherType=jobacct_gather/cgroup\n"},
                   "/etc/slurm/slurm.conf", 1, "JobAcctGatherType=jobacct_gather/cgroup")],
              [way({**SLURM, "/etc/slurm/cgroup.conf": "#x\nconstrainramspace = yes # all\n"},
                   "/etc/slurm/cgroup.conf", 2, "ConstrainRAMSpace=yes # all"),
               way({**SLURM, "/etc/slurm/cgroup.conf": "ConstrainSwapSpace=YES\n"},
                   "/etc/slurm/cgroup.conf", 1, "ConstrainSwapSpace=YES")],
              {**SLURM, "/etc/slurm/cgroup.conf": "ConstrainRAMSpace=no\n",
               "/etc/slurm/slurm.conf": "JobAcctGatherType=jobacct_gather/linux\n"}),
    "openpbs": ("required", installed("/opt/pbs/sbin/pbs_mom"), [],
                [way({**PBS, PBS_CF: '{"cgroup":{"memory":{"enabled":true}}}'}, PBS_CF, None,
                     "/cgroup/memory/enabled = true")],
                {"/var/spool/pbs/mom_priv/hooks/pbs_cgroups.HK": "enabled=false\n",
                 PBS_CF: '{"cgroup":{"memory":{"enabled":true}}}'}),
    "lsf": ("limits", {"/etc/lsf.conf": "LSF_MASTER_LIST=a\n"},
            [way({"/etc/lsf.conf": "LSF_LINUX_CGROUP_ACCT=Y\n"}, "/etc/lsf.conf", 1,
                 "LSF_LINUX_CGROUP_ACCT=Y")],
            [way({"/etc/lsf.conf": 'LSB_RESOURCE_ENFORCE="memory cpu"\n'}, "/etc/lsf.conf", 1,
                 "LSB_RESOURCE_ENFORCE=memory cpu")], {}),
    "htcondor": ("limits", installed("/usr/sbin/condor_master"), [enabled("condor.service")],
                 [way({**enabled("condor.service")[0],
                       "/etc/condor/config.d/10": "CGROUP_MEMORY_LIMIT_POLICY = hard\n"},
                      "/etc/condor/config.d/10", 1, "CGROUP_MEMORY_LIMIT_POLICY=hard")],
                 {"/etc/condor/condor_config": "CGROUP_MEMORY_LIMIT_POLICY = none\n"}),
    "oar": ("limits", installed("/usr/lib/oar/oarnodecheckrun"), [],
            [way({"/etc/oar/job_resource_manager_cgroups.pl": 'my $Enable_mem_cg = "YES";\n'},
                 "/etc/oar/job_resource_manager_cgroups.pl", 1, '$Enable_mem_cg = "YES"')],
            {"/etc/oar/job_resource_manager_cgroups.pl": 'my $Enable_mem_cg = "NO";\n'}),
    "isolate": ("required", installed("/usr/bin/isolate"), [enabled("isolate.service")], [], {}),
    "domjudge": ("required", installed("/opt/domjudge/judgehost/bin/judgedaemon"),
                 [enabled("create-cgroups.service"), enabled("domjudge-judgedaemon@0.service")],
                 [], {}),
    "gitlab-runner": ("limits", installed("/usr/bin/gitlab-runner"), [],
                      [way({"/etc/gitlab-runner/config.toml": '[runners.docker]\n  memory = "1g"\n'},
                           "/etc/gitlab-runner/config.toml", 2, 'memory = "1g"')],
                      {"/etc/gitlab-runner/config.toml": "concurrent = 1\n",
                       **enabled("gitlab-runner.service")[0]}),
    "bazel": ("limits", {}, [],
              [way({"/etc/bazel.bazelrc":
                    "build --experimental_sandbox_memory_limit_mb=4096\n"},
                   "/etc/bazel.bazelrc", 1, "--experimental_sandbox_memory_limit_mb=4096")],
              {"/etc/bazel.bazelrc": "build --jobs=2\n"}),
    "cephadm": ("limits", {"/var/lib/ceph/f5/osd.0/unit.run": "podman run --rm x\n"}, [],
                [way({"/var/lib/ceph/f5/osd.0/unit.run": "set -e\npodman run --memory 4096m x\n"},
                     "/var/lib/ceph/f5/osd.0/unit.run", 2, "--memory 4096m")], {}),
    "libcgroup": ("required", installed("/usr/sbin/cgconfigparser"),
                  [way({"/etc/cgrules.conf": "# u memory x\n@students cpu,memory students/\n"},
                       "/etc/cgrules.conf", 2, "@students cpu,memory students/"),
                   way({"/etc/cgrules.d/a": "*:bash memory shells\n"},
                       "/etc/cgrules.d/a", 1, "*:bash memory shells")],
                  [way({"/etc/cgconfig.conf":
                        "group a {\n\tmemory {\n\t\tmemory.max = 1G;\n\t}\n}\n"},
                       "/etc/cgconfig.conf", 2, "memory {"),
                   way({"/etc/cgconfig.d/a.conf": "group a { cpu { } memory { memory.max = 1; } }\n"},
                       "/etc/cgconfig.d/a.conf", 1, None),
                   way({"/etc/cgconfig.conf": "mount {\n memory = /cgroup/memory;\n}\n"},
                       "/etc/cgconfig.conf", 2, "memory = /cgroup/memory;")],
                  {"/etc/cgconfig.conf": "# memory {\ngroup memory {\n\tcpu { }\n}\n",
                   "/etc/cgrules.conf": "peter cpu students/\n# @a memory b\n"}),
    "cgroup-limits": ("limits", {}, [],
                      [way({**V2, CG + "a.slice/memory.max": "1073741824\n"},
                           CG + "a.slice/memory.max", None, "memory.max = 1073741824 of a.slice"),
                       way({**V2, CG + "a.slice/docker-" + "ab" * 32 + ".scope/memory.max": "1\n"},
                           CG + "a.slice/docker-" + "ab" * 32 + ".scope/memory.max", None,
                           "memory.max = 1 of docker container abababababab")],
                      {**V2, CG + "a.slice/memory.low": "0\n", LIB + "v.service": UNIT,
                       CG + "v.service/memory.max": "max\n", CG + "v.service/memory.low": "64\n"}),
    "systemd-oomd": ("degraded", installed("/usr/lib/systemd/systemd-oomd"),
                     [enabled("systemd-oomd.service"),
                      way({ETC + "-.slice.d/x.conf": "[Slice]\nManagedOOMSwap=kill\n"},
                          ETC + "-.slice.d/x.conf", 2, "ManagedOOMSwap=kill of -.slice")], [],
                     {LIB + "systemd-oomd.service": UNIT + "MemoryMin=64M\n",
                      LIB + "-.slice.d/x.conf": "[Slice]\nManagedOOMSwap=kill\n"}),
    "systemd-units": ("limits", {}, [],
                      [way({LIB + "a.service": UNIT,
                            ETC + "a.service.d/x.conf": "[Service]\nMemoryMax=5\nMemoryMax = 1G\n"},
                           ETC + "a.service.d/x.conf", 3, "MemoryMax=1G of a.service"),
                       way({ETC + "user-.slice.d/x.conf": "[Slice]\nMemoryHigh=50%\n"},
                           ETC + "user-.slice.d/x.conf", 2, "MemoryHigh=50% of user-.slice")],
                      {LIB + "earlyoom.service": UNIT + "MemoryMax=50M\n",
                       ETC + "multi-user.target.wants/earlyoom.service": "->" + LIB + "earlyoom.service",
                       ETC + "disabled.service": UNIT + "MemoryMax=1G\n[Install]\nWantedBy=multi-user.target\n",
                       ETC + "bad.service": UNIT + "MemoryMax=512MB\nMemoryDenyWriteExecute=yes\n",
                       ETC + "unset.service": UNIT + "MemoryMax=1G\nMemoryMax=\n"}),
    "oomd": ("required", installed("/usr/bin/oomd"), [enabled("oomd.service")], [], {}),
    "uresourced": ("degraded", installed("/usr/libexec/uresourced"),
                   [enabled("uresourced.service", "graphical.target")], [], {}),
    "snap-quotas": ("degraded", installed("/usr/lib/snapd/snapd"), [],
                    [way({ETC + "snap.grp.slice": "[Slice]\nMemoryAccounting=true\nMemoryMax=1\n"},
                         ETC + "snap.grp.slice", 3, "MemoryMax=1 of snap.grp.slice")],
                    {ETC + "snap.cpu.slice": "[Slice]\nCPUQuota=50%\n",
                     **enabled("snapd.service")[0]}),
    "waydroid": ("degraded", installed("/usr/bin/waydroid"),
                 [enabled("waydroid-container.service")], [], {}),
    "elasticsearch": ("degraded", installed("/usr/share/elasticsearch/bin/elasticsearch"),
                      [enabled("elasticsearch.service")], [], {}),
    "home-assistant-supervisor": ("monitor", installed("/etc/hassio.json"),
                                  [enabled("hassio-supervisor.service")], [], {}),
    "casaos": ("monitor", installed("/usr/bin/casaos"), [enabled("casaos.service")], [], {}),
    "umbrel": ("monitor", {"/opt/umbreld": "/"}, [enabled("umbrel.service")], [], {}),
    "cadvisor": ("monitor", installed("/usr/bin/cadvisor"), [enabled("cadvisor.service")], [], {}),
    "netdata": ("monitor", installed("/usr/sbin/netdata"), [enabled("netdata.service")], [], {}),
    "telegraf": ("monitor", installed("/usr/bin/telegraf"),
                 [way({**enabled("telegraf.service")[0],
                       "/etc/telegraf/telegraf.conf": "[[inputs.cpu]]\n[[inputs.docker]]\n"},
                      "/etc/telegraf/telegraf.conf", 2, "[[inputs.docker]]")], [],
                 {**enabled("telegraf.service")[0],
                  "/etc/telegraf/telegraf.conf": "[[inputs.cpu]]\n# [[inputs.docker]]\n"}),
    "node-exporter": ("monitor", installed("/usr/bin/prometheus-node-exporter"),
                      [way({**enabled("prometheus-node-exporter.service")[0],
                            "/etc/default/prometheus-node-exporter":
                                'ARGS="--collector.cgroups"\n'},
                           "/etc/default/prometheus-node-exporter", 1, "--collector.cgroups")], [],
                      {**enabled("prometheus-node-exporter.service")[0],
                       "/etc/default/prometheus-node-exporter": '# --collector.cgroups\nARGS=""\n'}),
    "signalk-container": ("monitor", {"/usr/lib/node_modules/signalk-server": "/"},
                          [way({**enabled("signalk.service")[0],
                                "/home/pi/.signalk/node_modules/signalk-container": "/"},
                               "/home/pi/.signalk/node_modules/signalk-container", None,
                               "is there")], [],
                          enabled("signalk.service")[0]),
}


def write(root, files):
    for name, text in files.items():
        path = pathlib.Path(root + name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
            target = pathlib.Path(root + text[2:])
            if not target.exists():  # what it leads to counts, so it must be there
                target.mkdir(parents=True)
        elif text == "/":
            path.mkdir(exist_ok=True)
        else:
            path.write_text(text)


def look(*parts):
    """What needs says of a root with these files, by id."""
    with tempfile.TemporaryDirectory(prefix="memcg-needs-") as root:
        for files in parts:
            write(root, files)
        kind = "snapshot" if any(CG + "cgroup.controllers" in files for files in parts) else "root"
        run = subprocess.run([program, "needs", f"--{kind}={root}", "--json"],
                             capture_output=True, text=True, check=False)
    if run.returncode != 0 or run.stderr:
        raise AssertionError(f"exit status {run.returncode}: {run.stderr}")
    value = json.loads(run.stdout)
    if jsonschema:
        schema = json.loads((source / "docs/schema/needs.json").read_text())
        jsonschema.validate(value, schema)
    return {n["id"]: n for n in value["needs"]}


def check(name, what, found, in_use, evidence=None, limits=None):
    level = ENTRIES[name][0]
    others = sorted(set(found) - {name} - ALSO.get(name, set()))
    assert not others, f"{what}: also found {others}"
    assert name in found, f"{what}: not found"
    need = found[name]
    assert need["level"] == level, f"{what}: level {need['level']}"
    assert need["installed"] is True, f"{what}: installed {need['installed']}"
    assert need["in_use"] is in_use, f"{what}: in use {need['in_use']}: {need['evidence']}"
    assert need["effect"] and need["title"] and need["documentation"].startswith("https://"), what
    if limits is not None:
        assert (need["limits"] > 0) == limits, f"{what}: {need['limits']} limits"
    if evidence:
        path, line, text = evidence
        assert any(e["path"] == path and e["line"] == line and text in (None, e["text"])
                   for e in need["evidence"]), f"{what}: {evidence} not in {need['evidence']}"


def run_entry(name):
    _, files, uses, limits, unused = ENTRIES[name]
    assert not look(), "found in an empty root"
    if files:
        check(name, "installed", look(files), False, limits=False)
    found = look(files, unused)
    if files:
        check(name, "installed, and what is no use", found, False, limits=False)
    else:
        assert not found, f"what is no use: found {sorted(found)}"
    for extra, evidence in uses:
        check(name, f"in use by {evidence[0]}", look({k: v for k, v in files.items()
                                                      if k not in extra}, extra),
              True, evidence, limits=False)
    for extra, evidence in limits:
        check(name, f"limits in {evidence[0]}", look({k: v for k, v in files.items()
                                                      if k not in extra}, extra),
              True, evidence, limits=True)


names = {p.stem for p in (source / "needs.d").glob("*.conf")}
failed = [f"{n}: no fixture for it" for n in sorted(names - set(ENTRIES))]
failed += [f"{n}: no such entry" for n in sorted(set(ENTRIES) - names)]
for entry in sys.argv[1:] or sorted(set(ENTRIES) & names):
    try:
        run_entry(entry)
    except AssertionError as error:
        failed.append(f"{entry}: {error}")
for line in failed:
    print(f"FAIL {line}")
print(f"{len(names)} entries, {len(failed)} failures")
sys.exit(1 if failed else 0)
