#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Needs on a host with 10,000 Docker containers, every tenth with a memory limit.

containers.py BUILD-DIR [RUNS]   target: 200 ms. In turns with it grep -r, which looks for
                                 the same keys and understands nothing.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CONTAINERS = 10000
program = pathlib.Path(sys.argv[1]).resolve() / "memcg-policy"
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 21
# as Docker 20 to 28 write it
HOSTCONFIG = {
    "Binds": ["/srv/data:/data"], "ContainerIDFile": "", "LogConfig": {"Type": "json-file", "Config": {}},
    "NetworkMode": "default", "PortBindings": {}, "RestartPolicy": {"Name": "always", "MaximumRetryCount": 0},
    "AutoRemove": False, "VolumeDriver": "", "VolumesFrom": None, "CapAdd": None, "CapDrop": None,
    "CgroupnsMode": "private", "Dns": [], "DnsOptions": [], "DnsSearch": [], "ExtraHosts": None, "GroupAdd": None,
    "IpcMode": "private", "Cgroup": "", "Links": None, "OomScoreAdj": 0, "PidMode": "", "Privileged": False,
    "PublishAllPorts": False, "ReadonlyRootfs": False, "SecurityOpt": None, "UTSMode": "", "UsernsMode": "",
    "ShmSize": 67108864, "Runtime": "runc", "ConsoleSize": [0, 0], "Isolation": "", "CpuShares": 0, "Memory": 0,
    "NanoCpus": 0, "CgroupParent": "", "BlkioWeight": 0, "BlkioWeightDevice": [], "CpuPeriod": 0, "CpuQuota": 0,
    "CpusetCpus": "", "CpusetMems": "", "Devices": [], "DeviceCgroupRules": None, "DeviceRequests": None,
    "MemoryReservation": 0, "MemorySwap": 0, "MemorySwappiness": None, "OomKillDisable": None, "PidsLimit": None,
    "Ulimits": None, "CpuCount": 0, "CpuPercent": 0, "IOMaximumIOps": 0, "IOMaximumBandwidth": 0,
    "MaskedPaths": ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats"],
    "ReadonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
}


def once(command):
    """Wall and processor time in ms, and the output."""
    before, start = os.times(), time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall * 1000, cpu * 1000, run.stdout


with tempfile.TemporaryDirectory(prefix="memcg-containers-") as root:
    top = pathlib.Path(root, "var/lib/docker/containers")
    texts = [json.dumps({**HOSTCONFIG, "Memory": m}, separators=(",", ":")) for m in (0, 536870912)]
    for i in range(CONTAINERS):
        place = top / f"{i * 2654435761 % 2**256:064x}"
        place.mkdir(parents=True)
        (place / "hostconfig.json").write_text(texts[i % 10 == 0])
    commands = {
        "needs": [str(program), "needs", "--json", f"--root={root}"],
        "grep": ["sh", "-c", f"grep -rlE '\"Memory(Reservation|Swap)?\":[1-9]' {top} | wc -l"],
    }
    times = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            times[name].append(once(command)[:2])
    need = [n for n in json.loads(once(commands["needs"])[2])["needs"] if n["id"] == "docker"][0]
    assert need["limits"] == CONTAINERS // 10 and need["in_use"] is True, need
for name, values in times.items():
    wall, cpu = (statistics.median(v[k] for v in values) for k in (0, 1))
    print(f"{name:6} {wall:6.1f} ms, {cpu:6.1f} ms of processor time (median of {runs}, {CONTAINERS} containers)")
print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; target 200 ms")
