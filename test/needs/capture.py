#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""capture: the archive answers as the machine did, and holds none of the secrets planted in it.

First a root full of secrets, captured as a captured machine; then this system. What is replaced
is replaced in the answers too before they are compared. capture.py --compare DIR does the last
step for answers that another machine gave (test/vm): DIR/live/*.json against DIR/tree.
"""
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tarfile
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

source = pathlib.Path(os.environ.get("MEMCG_POLICY_SOURCE", "."))
program = os.environ.get("MEMCG_POLICY", "build/memcg-policy")
VERBS = ("status", "needs", "units", "entries")
ID = "3f9d2b1c5a7e4f60918273645546aabb"
UUID = "1b4e28ba-2fa1-41d2-883f-b9a761bde3fb"
HOST, DOMAIN, USER = "gandalfbox", "shire.example.net", "frodobaggins"
SECRETS = [
    "hunter2", "s3cr3tDB", "tok-777", "Zm9vYmFy", "opensesame", "PEMPEMPEM", "envenvenv", "urlpass",
    "grubgrub", "ghp_abcdefghijklmnop", "credcred", "jsonjson", "shadowhash", "jwtjwtjwt", "quoted sec",
    HOST, DOMAIN, USER, ID, UUID, "192.168.77.13", "fe80::a1b2:c3d4", "52:54:00:ab:cd:ef", "BEEF-1234",
    "Frodo Baggins",
]
TREE = {
    "etc/hostname": f"{HOST}.{DOMAIN}\n",
    "etc/machine-id": f"{ID}\n",
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\n',
    "etc/passwd": f"root:x:0:0:root:/root:/bin/sh\n{USER}:shadowhash:1000:1000:Frodo Baggins,,,:/home/{USER}:/bin/sh\n",
    "etc/default/grub": f'GRUB_CMDLINE_LINUX="root=UUID={UUID} ip=192.168.77.13::192.168.77.1:255.255.255.0:{HOST}:eth0:off '
                        'rd.iscsi.password=hunter2 systemd.set_credential=x:credcred"\n',
    "boot/grub/grub.cfg": "password_pbkdf2 root grub.pbkdf2.sha512.10000.grubgrub\n"
                          f"menuentry 'Debian' {{\n search --fs-uuid --set=root BEEF-1234\n"
                          f" linux /vmlinuz-6.1.0-1-amd64 root=/dev/mapper/{HOST}--vg-root ifname=eth0:52:54:00:ab:cd:ef\n}}\n",
    "boot/vmlinuz-6.1.0-1-amd64": "",
    "boot/config-6.1.0-1-amd64": "CONFIG_MEMCG=y\n",
    "proc/cmdline": f"root=UUID={UUID} token=tok-777 rescue=fe80::a1b2:c3d4\n",
    "proc/sys/kernel/osrelease": "6.1.0-1-amd64\n",
    "proc/sys/kernel/hostname": f"{HOST}\n",
    "proc/1/environ": "TERM=x\0PASSWD=envenvenv\0container=podman\0",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
    "sys/fs/cgroup/user.slice/memory.max": "max\n",
    "sys/fs/cgroup/user.slice/user-1000.slice/memory.max": "1048576\n",
    "etc/systemd/system/a.service": "[Service]\nExecStart=/bin/x --password=hunter2 --api-token tok-777 https://u:urlpass@h/\n"
                                    'Environment=A=s3cr3tDB "B=quoted sec"\nSetCredential=k:Zm9vYmFy\nMemoryMax=1G\n'
                                    f"User={USER}\nWorkingDirectory=/home/{USER}\n",
    f"home/{USER}/.config/containers/systemd/w.container":
        "[Container]\nImage=x\nPodmanArgs=--env P=envenvenv -e Q=envenvenv --memory 512m\n",
    "etc/docker/daemon.json": '{"log-opts": {"splunk-token": "jsonjson", "env": "x"}}\n',
    "var/lib/docker/containers/c1/hostconfig.json":
        f'{{"Memory": 5, "Binds": ["/home/{USER}:/x"], "password":"jsonjson",\n"Env": ["A=envenvenv", "T=eyJjwtjwtjwtjwtjwt"]}}',
    "etc/libvirt/qemu/v.xml": f"<domain>\n<uuid>{UUID}</uuid>\n<graphics type='vnc' passwd='opensesame'/>\n"
                              "<hard_limit unit='KiB'>1</hard_limit>\n</domain>\n",
    "etc/lxc/lxc.conf": "# ghp_abcdefghijklmnop\n-----BEGIN RSA PRIVATE KEY-----\nPEMPEMPEM\n-----END RSA PRIVATE KEY-----\n",
    f"boot/loader/entries/{ID}-6.1.conf": f"title Debian\nmachine-id {ID}\noptions root=UUID={UUID}\nlinux /vmlinuz-6.1.0-1-amd64\n",
}


def run(*words, check=True):
    return subprocess.run([program, *words], capture_output=True, text=True, check=check)


def answers(*options):
    return {v: json.loads(run(v, "--json", *options).stdout) for v in VERBS}


def plain(value, names):
    """An answer with what capture replaces, and what says how it was asked, taken out."""
    for key in ("root", "mode"):
        value.pop(key, None)
    text = json.dumps(value, indent=1)
    text = re.sub(r"\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b[0-9a-fA-F]{32}\b", "ID", text)
    text = re.sub(r"\b[0-9A-F]{4}-[0-9A-F]{4}\b|\b[0-9a-f]{4}-[0-9a-f]{4}\b", "ID", text)
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?i)(?<![0-9a-z_]){re.escape(name)}(?![0-9a-z_])", "NAME", text)
    text = re.sub(r"\b(?:host|user)x*[0-9]+\b|\b(?:us|hos|use|ho)[0-9]+\b", "NAME", text)
    text = re.sub(r"([a-z]*(?:pass|token|cred|auth|secret)[a-z.-]*=)[^ \"]+", r"\1X", text)
    return re.sub(r"\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b|[0-9a-f:]*::[0-9a-f:]+|(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", "ADDRESS", text)


def compare(live, tree, names):
    failed = []
    for verb, replayed in answers(f"--snapshot={tree}").items():
        want, got = plain(live[verb], names).splitlines(), plain(replayed, names).splitlines()
        if want != got:
            lines = [f"  - {a}\n  + {b}" for a, b in zip(want, got) if a != b][:5]
            failed.append(f"{verb} answers otherwise:\n" + "\n".join(lines or ["  another length"]))
    return failed


def capture(file, *options):
    listed = json.loads(run("capture", file, "--json", *options).stdout)
    if jsonschema:
        jsonschema.validate(listed, json.loads((source / "docs/schema/capture.json").read_text()))
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600, "mode"
    with tarfile.open(file) as tar:
        names = {"/" + m.name.rstrip("/") for m in tar.getmembers()}
        assert names == {e["path"] for e in listed["entries"]}, "the list is not what is in it"
        assert len(names) == len(tar.getmembers()), "something is in it twice"
    return listed


def unpack(file, tree):
    os.mkdir(tree)
    subprocess.run(["tar", "-xf", file, "-C", tree], check=True)


def planted(work):
    root, file, tree = work / "root", str(work / "a.tar"), str(work / "tree")
    for name, text in TREE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "etc/systemd/system/multi-user.target.wants").mkdir()
    (root / "etc/systemd/system/multi-user.target.wants/a.service").symlink_to("../a.service")
    (root / "etc/systemd/system/masked.service").symlink_to("/dev/null")
    (root / "usr/lib/systemd/system").mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    os.mkfifo(root / "etc/cgrules.conf")
    (root / f"etc/rancher-{USER}").mkdir()
    live = answers(f"--snapshot={root}")
    capture(file, f"--snapshot={root}")
    data = pathlib.Path(file).read_bytes().lower()
    failed = [f"{s} is in the archive" for s in SECRETS if s.lower().encode() in data]
    failed += [f"{w} is missing" for w in ("root=UUID=", "Memory\": 5", "MemoryMax=1G", "container=podman")
               if w.lower().encode() not in data]
    unpack(file, tree)
    names = (HOST, DOMAIN, USER)
    failed += compare(live, tree, names)
    # captured again it is the same, and a file that is there stays
    capture(str(work / "b.tar"), f"--snapshot={tree}")
    if pathlib.Path(file).read_bytes() != (work / "b.tar").read_bytes():
        failed.append("a capture of the captured machine differs")
    again = run("capture", file, f"--snapshot={root}", check=False)
    if again.returncode != 1 or "cannot be created" not in again.stderr:
        failed.append(f"wrote over a file: {again.returncode} {again.stderr}")
    (work / "link").symlink_to(work / "elsewhere")
    if run("capture", str(work / "link"), check=False).returncode != 1 or (work / "elsewhere").exists():
        failed.append("followed a link")
    device = run("capture", "/dev/full", check=False)
    if device.returncode != 1:
        failed.append("wrote over a device")
    # no room: said, and nothing left behind
    full = subprocess.run(["sh", "-c", 'ulimit -f 64; trap "" XFSZ; exec "$@"', "sh", program, "capture",
                           str(work / "full.tar"), f"--snapshot={root}"], capture_output=True, text=True, check=False)
    if full.returncode != 1 or "not written" not in full.stderr or (work / "full.tar").exists():
        failed.append(f"no room: {full.returncode} {full.stderr}")
    return failed


def this_system(work):
    names = [pathlib.Path("/etc/hostname").read_text().strip()] if os.path.exists("/etc/hostname") else []
    names += os.listdir("/home") if os.path.isdir("/home") else []
    live = answers()
    capture(str(work / "h.tar"))
    unpack(str(work / "h.tar"), str(work / "here"))
    return compare(live, str(work / "here"), [n for n in names if n])


if len(sys.argv) == 3:
    place = pathlib.Path(sys.argv[2])
    problems = compare({v: json.loads((place / f"live/{v}.json").read_text()) for v in VERBS},
                       place / "tree", (place / "names").read_text().split())
else:
    if "+LIBARCHIVE" not in run("--version").stdout:
        print("SKIP capture: built without libarchive")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="memcg-capture-") as directory:
        problems = planted(pathlib.Path(directory)) + this_system(pathlib.Path(directory))
for problem in problems:
    print(f"FAIL {problem}")
print(f"{len(problems)} failures")
sys.exit(1 if problems else 0)
