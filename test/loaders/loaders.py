#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One body of steps over a root of every boot loader: plan, apply, apply again, on, off, unset,
undo, kill and recover. Every file the tool does not mean to change keeps its bytes; those it
means to change keep every word that is not about memcg.

usage: loaders.py [ROOT...]      MEMCG_POLICY names the program
"""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from roots import LOADER_VARIABLE, PI, PI_TREE, RECOGNISED, ROOTS, TREES, pi, uki  # noqa: E402

PROGRAM = os.environ.get("MEMCG_POLICY", "memcg-policy")
CASES = pathlib.Path(os.environ.get("MEMCG_POLICY_CASES") or
                     os.path.join(os.environ.get("MEMCG_POLICY_SOURCE", "."), "../shared/cases"))
ENV = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "LC_ALL": "C"}
OWN = ("/var/lib/memcg-policy/", "/etc/memcg-policy/")
OWN_DROPINS = ("zz-memcg-policy.cfg", "zz-memcg-policy.conf", "90-memcg-policy.conf")
# writes of a change are made by these; each is a place to die at
KILL_AT = ["renameat", "renameat2", "unlinkat", "pwrite64", "utimensat", "fsync", "mkdirat"]
FULL_KILL = os.environ.get("MEMCG_POLICY_KILL") == "all"

# another reader of the words than the tool's own
MEMCG_WORD = re.compile(r'^"?cgroup[-_](enable|disable)=')


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


def make(root, files):
    for path, text in files.items():
        full = root / path.lstrip("/")
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(text.encode() if isinstance(text, str) else text)
        if path.startswith(("/usr/sbin/", "/usr/bin/", "/sbin/")):
            full.chmod(0o755)


def snapshot(root, own=False):
    """path -> bytes of every file but the tool's own."""
    found = {}
    for base, _, names in os.walk(root):
        for name in names:
            full = pathlib.Path(base) / name
            path = "/" + str(full.relative_to(root))
            if own or not path.startswith(OWN):
                found[path] = full.read_bytes()
    return found


def times(root):
    return {str(p): (p.stat().st_ino, p.stat().st_mtime_ns) for p in root.rglob("*")
            if p.is_file() and not str(p).endswith("/lock")}


def run(root, *args, prefix=()):
    return subprocess.run([*prefix, PROGRAM, f"--root={root}", "--no-pager", *args], env=ENV,
                          capture_output=True, text=True, check=False)


def run_ok(root, *args):
    result = run(root, *args)
    check(result.returncode == 0,
          f"{' '.join(args)}: exit status {result.returncode}: {result.stderr.strip()}")
    return result


def other_words(data):
    """All words of a file that are not about memcg, a comma list without memory counting too."""
    words = []
    for word in re.findall(r'[^\s"\'=]+(?:=[^\s"\']*)?', data.decode("latin-1").replace("#", "")):
        # "NAME=" in front of a quote is no word of a command line
        if not MEMCG_WORD.match(word) and not word.endswith("="):
            words.append(word)
    return words


def compare(before, after, text):
    for path in sorted(set(before) | set(after)):
        check(before.get(path) == after.get(path), f"{text}: {path} is not as before")


def wanted_entries(root, want):
    output = json.loads(run_ok(root, "entries", "--json").stdout)
    check(output["schema"] == 1, "entries: schema")
    wrong = [e["id"] for e in output["entries"]
             if e["ours"] and (e["request"] != "off" if want == "off" else e["request"] == "off")]
    check(not wrong, f"entries that do not ask for {want}: {wrong}")
    return output["entries"]


def set_to(root, want, before):
    """set: which files it changes, and what stays in them."""
    listed = json.loads(run_ok(root, "set", want, "--dry-run", "--json").stdout)
    result = json.loads(run_ok(root, "set", want, "--json").stdout)
    after = snapshot(root)
    changed = {p for p in set(before) | set(after) if before.get(p) != after.get(p)}
    announced = {c["path"] for c in listed["changes"] if not c["path"].startswith(OWN)}
    check(changed <= announced, f"set {want} changed {changed - announced} unannounced")
    check(listed["changes"] == result["changes"] and listed["commands"] == result["commands"],
          f"set {want}: the dry run said something else")
    for path in changed:
        if path in before and path in after and not path.endswith((".memcg-bak", *OWN_DROPINS)):
            check(other_words(before[path]) == other_words(after[path])
                  or path.endswith("armbianEnv.txt"),
                  f"set {want}: other words of {path} changed")
    if not result["commands"]:
        wanted_entries(root, want)
    return result


def mtime_rule(root):
    defaults, cmdline = root / "etc/default/grub", root / "etc/kernel/cmdline"
    if defaults.exists() and cmdline.exists():
        check(cmdline.stat().st_mtime_ns >= defaults.stat().st_mtime_ns,
              "/etc/default/grub is newer than /etc/kernel/cmdline")


def steps(root, backend, before):
    status = json.loads(run_ok(root, "status", "--json").stdout)
    check(status["boot"]["backend"] == backend, f"found {status['boot']['backend']}")
    old_times = times(root)
    run_ok(root, "set", "off", "--dry-run")
    check(times(root) == old_times, "a dry run wrote")
    first = set_to(root, "off", before)
    if backend == "bls":
        mtime_rule(root)
    old_times = times(root)
    again = json.loads(run_ok(root, "apply", "--json").stdout)
    # a menu that is still to be made by a command stays to be made
    check(again["result"] == "unchanged" or (first["commands"] and not again["changes"]),
          f"apply again: {again['result']}")
    check(times(root) == old_times, "apply again wrote")
    set_to(root, "on", snapshot(root))
    set_to(root, "off", snapshot(root))
    if backend == "bls":
        mtime_rule(root)
    run_ok(root, "unset")
    compare(before, snapshot(root), "unset")
    run_ok(root, "set", "off")
    run_ok(root, "undo")
    compare(before, snapshot(root), "undo")


def refused(root, before, code):
    result = run(root, "set", "off")
    check(result.returncode == code, f"set off: exit status {result.returncode}, not {code}: "
                                     f"{result.stderr.strip()}")
    check(result.stderr.strip(), "set off says nothing")
    compare(before, snapshot(root), "a refused change")
    json.loads(run_ok(root, "entries", "--json").stdout)


def changed_since(root, files, before):
    """Somebody else adds a word and a line after us: unset takes our words only."""
    run_ok(root, "set", "off")
    after = snapshot(root)
    touched = [p for p in after if p in before and before[p] != after[p]
               and not p.endswith(("grubenv", ".memcg-bak"))]
    for path in touched:
        data = after[path]
        full = root / path.lstrip("/")
        if b"cgroup_disable=memory" in data:
            full.write_bytes(data.replace(b"cgroup_disable=memory",
                                          b"theirs=1 cgroup_disable=memory", 1))
    run_ok(root, "unset")
    for path, data in snapshot(root).items():
        if path in touched:
            check(b"cgroup_disable=memory" not in data, f"unset left our word in {path}")
            check(b"theirs=1" in data, f"unset took somebody else's word out of {path}")


def kill(files, before):
    """SIGKILL at the calls that change something; the next run finishes or takes it back."""
    with tempfile.TemporaryDirectory() as name:
        whole = pathlib.Path(name)
        make(whole, files)
        trace = run(whole, "set", "off", prefix=("strace", "-f", "-qq", "-o", f"{name}.trace",
                                                 "-e", "trace=" + ",".join(KILL_AT)))
        check(trace.returncode == 0, trace.stderr)
        new = snapshot(whole)
        calls = pathlib.Path(f"{name}.trace").read_text().splitlines()
        os.unlink(f"{name}.trace")
    counts = {}
    for line in calls:
        match = re.match(r"(?:\d+\s+)?(\w+)\(", line)
        if match:
            counts[match[1]] = counts.get(match[1], 0) + 1
    places = [(call, i) for call, n in counts.items() for i in range(1, n + 1)]
    if not FULL_KILL:  # a few of each kind: all of them are ./dev kill's
        places = [p for p in places if p[0] != "fsync"][::3]
    for call, i in places:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            make(root, files)
            died = run(root, "set", "off",
                       prefix=("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                               "-e", f"inject={call}:signal=KILL:when={i}"))
            check(died.returncode != 0, f"{call} {i}: was not killed")
            for path, data in snapshot(root).items():
                if "/.memcg-policy." in path or path.endswith(".memcg-bak"):
                    continue
                check(data in (before.get(path), new.get(path)), f"{call} {i}: {path} is torn")
            run_ok(root, "apply")
            run_ok(root, "set", "off")
            check(not [p for p in snapshot(root) if "/.memcg-policy." in p],
                  f"{call} {i}: a temporary stayed")
            run_ok(root, "unset")
            compare(before, snapshot(root), f"{call} {i}: recover and unset")
    return len(places)


def full(files, before):
    """No room (ENOSPC of fsync, as where blocks are found late; of rename): all old or all new."""
    places = 0
    calls = [("fsync", 1), ("fsync", 3), ("fsync", 5), ("renameat", 1), ("renameat", 2),
             ("renameat", 3), ("renameat2", 1), ("mkdirat", 1)]
    # a few of them at each root, other ones at the next: all of them are ./dev kill's
    for call, first in calls if FULL_KILL else calls[len(before) % 4::4]:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            make(root, files)
            result = run(root, "set", "off",
                         prefix=("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                                 "-e", f"inject={call}:error=ENOSPC:when={first}"))
            after = snapshot(root)
            check(not [p for p in after if "/.memcg-policy." in p],
                  f"{call} {first}: a temporary stayed")
            # done, but for its record getting its number: the next run gives it that
            if result.returncode and not (root / "var/lib/memcg-policy/pending.json").exists():
                compare(before, {p: d for p, d in after.items() if not p.endswith(".memcg-bak")},
                        f"{call} {first}: no room")
                places += 1
            run_ok(root, "set", "off")
            run_ok(root, "unset")
            compare(before, snapshot(root), f"{call} {first}: unset")
    return places


def judged_by_bootctl(root):
    """systemd's own reader of the entries, where it can be run (it wants a file system)."""
    esp = next((d for d in ("boot/efi", "boot", "efi") if (root / d / "loader/entries").is_dir()),
               None)
    if not esp or not shutil.which("bootctl") or os.geteuid() != 0:
        return None
    result = subprocess.run(
        ["unshare", "-m", "sh", "-c", "mount -t tmpfs t /mnt && cp -r \"$1\"/. /mnt && "
         "SYSTEMD_RELAX_ESP_CHECKS=1 bootctl --esp-path=/mnt list --json=short", "sh",
         str(root / esp)], capture_output=True, text=True, env=ENV, check=False)
    if result.returncode != 0 or not result.stdout.strip():
        return None
    # an array since 254, one value after the other before
    text, entries, decoder = result.stdout.strip(), [], json.JSONDecoder()
    while text:
        value, end = decoder.raw_decode(text)
        entries += value if isinstance(value, list) else [value]
        text = text[end:].strip()
    return entries


def judges(root, backend):
    """What others read out of the files that "set off" left."""
    said = []
    run_ok(root, "set", "off")
    ours = json.loads(run_ok(root, "entries", "--json").stdout)["entries"]
    if backend == "systemd-boot":
        entries = judged_by_bootctl(root)
        if entries is None:
            return "SKIP bootctl: cannot be run here"
        for mine in (e for e in ours if e["ours"]):
            theirs = [e for e in entries if mine["source"].endswith(e["path"].split("/")[-1])]
            check(len(theirs) == 1, f"bootctl does not list {mine['id']}")
            check("cgroup_disable=memory" in theirs[0]["options"].split(),
                  f"bootctl reads {theirs[0]['options']}")
        said.append("bootctl agrees")
    block = root / "boot/grub2/grubenv"
    if block.exists() and shutil.which("grub-editenv"):
        listed = subprocess.run(["grub-editenv", block, "list"], capture_output=True, text=True,
                                check=True).stdout
        check(re.search("^kernelopts=.* cgroup_disable=memory$", listed, re.M),
              f"grub-editenv reads {listed}")
        check(block.stat().st_size == 1024, "grubenv has another size")
        said.append("grub-editenv agrees")
    return ", ".join(said)


def with_root(files, body, *args):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        make(root, files)
        return body(root, *args, snapshot(root))


def one(name):
    backend, files, *rest = ROOTS[name]
    if rest:
        with_root(files, lambda root, before: refused(root, before, rest[0]))
        return ""
    with_root(files, lambda root, before: steps(root, backend, before))
    with_root(files, lambda root, before: changed_since(root, files, before))
    note = with_root(files, lambda root, before: judges(root, backend))
    if not shutil.which("strace"):
        return "SKIP kill: strace is not installed"
    before = with_root(files, lambda root, before: before)
    return f"{note} {kill(files, before)} kills, {full(files, before)} without room".strip()


def cmdline_cases():
    """Files as people have them, in a root of a Raspberry Pi."""
    directory = CASES / "cmdline"
    if not directory.is_dir():
        return [("cases", f"SKIP cases: no {directory}")]
    done = []
    for path in sorted(directory.glob("*.txt")):
        files = {"/boot/firmware/config.txt": "[all]\n",
                 "/boot/firmware/cmdline.txt": path.read_bytes()}
        lines = [x for x in path.read_bytes().split(b"\n") if x.strip()]

        def body(root, before):
            if len(lines) > 1:
                refused(root, before, 7)
            else:
                steps(root, "rpi", before)
        with_root(files, body)
        done.append((path.name, ""))
    return done


def device_trees():
    """On needs the word behind the tree's, and a kernel that honours it."""
    for name, (kernel, code) in TREES.items():
        files = {**pi("/boot/firmware", PI + "\n"), "/boot/firmware/bcm2712-rpi-5-b.dtb": PI_TREE}
        if kernel:
            files["/boot/firmware/kernel8.img"] = kernel

        def body(root, before):
            entries = json.loads(run_ok(root, "entries", "--json").stdout)["entries"]
            check([e["request"] for e in entries] == ["off"], f"{name}: the tree is not read")
            result = run(root, "set", "on")
            check(result.returncode == code, f"{name}: set on: exit status {result.returncode}")
            line = (root / "boot/firmware/cmdline.txt").read_text()
            check(line == PI + ("" if code else " cgroup_enable=memory") + "\n",
                  f"{name}: {line}")
            if not code:
                wanted_entries(root, "on")
            run_ok(root, "unset")
            compare(before, snapshot(root), f"{name}: unset")
        with_root(files, body)
        print(f"ok device tree, {name}")
    return len(TREES)


# a word of the root's line, wherever the backend has it
LONG = {"fedora-current": "rhgb", "arch-systemd-boot": "rw", "arch-uki": "rw",
        "debian-systemd-boot": "ro", "raspios-12": "rootwait", "debian-raspi-firmware": "rootwait",
        "armbian": "cma=256M", "alpine-extlinux": "quiet", "jetson": "rootwait",
        "u-boot-menu": "ro", "opensuse-sdbootutil": "quiet", "ubuntu-pi-25.10": "rootwait"}


def long_lines():
    """A line that the kernel would cut is refused with both numbers, whoever reads it."""
    for name, word in LONG.items():
        backend, files, *_ = ROOTS[name]
        for size, code in ((1500, 0), (2040, 7)):
            def longer(data):
                data = data.encode() if isinstance(data, str) else data
                if data.startswith(b"MZ"):
                    return uki(f"root=UUID=x {'x' * size} quiet")
                return re.sub(rb"(?<!\w)" + word.encode() + rb"(?![\w=])", b"x" * size, data)

            def body(root, before):
                result = run(root, "set", "off", "--dry-run")
                check(result.returncode == 0, f"{name}: {result.stderr}")
                if code and any(e["ours"] for e in json.loads(
                        run_ok(root, "entries", "--json").stdout)["entries"]):
                    refused(root, before, 7)
                    said = run(root, "set", "off").stderr
                    check("cuts it at 2047" in said or "cuts it at 4095" in said,
                          f"{name}: {said}")
                else:
                    run_ok(root, "set", "off")
            with_root({p: longer(d) for p, d in files.items()}, body)
        print(f"ok long line, {name}")
    return len(LONG)


DOCS = pathlib.Path(os.environ.get("MEMCG_POLICY_SOURCE", "."), "docs/BOOT-LOADERS.md")


def documented():
    """The column "tried" of the documents, against what set says of every backend."""
    tried = {}
    for line in DOCS.read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0] not in ("backend", "---"):
            tried[cells[0]] = cells[5].split(":")[0]
    said = {"real": None, "tools": "tested with its own tools, and no machine was booted by it",
            "fixtures": "tested on fixtures only"}
    seen = set()
    for name, (backend, files, *rest) in ROOTS.items():
        if rest or backend in seen:
            continue
        seen.add(backend)

        def body(root, before):
            check(backend in tried, f"{backend} is not in the documents")
            text = run_ok(root, "set", "off").stdout
            for how, phrase in said.items():
                if phrase:
                    check((phrase in text) == (tried[backend] == how),
                          f"{backend}: the documents say {tried[backend]}, and set: {text}")
        with_root(files, body)
    print(f"ok documented, {len(seen)} backends")
    return 1


def recognised():
    """What is only recognised: its entries, and the advice."""
    for name, (backend, files, wanted, advice) in RECOGNISED.items():
        def body(root, before):
            # EFI variables are the kernel's, and are not looked at offline
            how = f"--snapshot={root}" if advice is None else f"--root={root}"
            result = subprocess.run([PROGRAM, how, "entries", "--json"], env=ENV, text=True,
                                    capture_output=True, check=False)
            check(result.returncode == 0, f"{name}: entries: {result.stderr}")
            found = [(e["id"], e["request"], e["default"])
                     for e in json.loads(result.stdout)["entries"]]
            check(found == wanted, f"{name}: {found}")
            result = subprocess.run([PROGRAM, how, "status", "--json"], env=ENV, text=True,
                                    capture_output=True, check=False)
            boot = json.loads(result.stdout)["boot"]
            check(boot["backend"] == backend, f"{name}: found {boot['backend']}")
            if advice is not None:
                refused(root, before, 5)
                check(advice in run(root, "set", "off").stderr, f"{name}: no word of {advice}")
        with_root(files, body)
        print(f"ok recognised, {name}")
    return len(RECOGNISED)


GRUB, SYSTEMD, STUB = "GRUB 2.12", "systemd-boot 257.7-1", "systemd-stub 257.7-1"
IMAGE = "BOOT_IMAGE=/vmlinuz-1 root=x"
# root; LoaderInfo, StubInfo, the kernel's line (None: no EFI); the backend, why it, what speaks
# against it
STARTED = [
    ("fedora-current", GRUB, None, IMAGE, "bls", GRUB, None),
    ("fedora-current", None, None, IMAGE, "bls", "BOOT_IMAGE=", None),
    ("fedora-current", None, None, "root=x", "bls", "entries", "nothing shows that GRUB"),
    ("fedora-current", None, STUB, "root=x", "bls", STUB, "unified kernel image"),
    ("fedora-current", GRUB, STUB, IMAGE, "bls", STUB, "unified kernel image"),
    ("arch-grub", GRUB, None, IMAGE, "grub-default", "grub-mkconfig", None),
    ("arch-grub", "rEFInd 0.14.2", None, "root=x", "grub-default", "rEFInd", "another loader"),
    ("arch-grub", "Limine 9.3.0", None, "root=x", "grub-default", "Limine", "another loader"),
    ("arch-grub", SYSTEMD, None, "root=x", "grub-default", SYSTEMD, "another loader"),
    ("microos", SYSTEMD, None, "root=x", "transactional", SYSTEMD, "another loader"),
    ("arch-systemd-boot", SYSTEMD, None, "root=x", "systemd-boot", SYSTEMD, None),
    ("arch-systemd-boot", SYSTEMD, STUB, "root=x", "systemd-boot", STUB, None),
    ("arch-systemd-boot", SYSTEMD, None, IMAGE, "systemd-boot", SYSTEMD, "BOOT_IMAGE="),
    ("arch-uki", SYSTEMD, STUB, "root=x", "uki", STUB, None),
    ("arch-uki", None, STUB, "root=x", "uki", STUB, None),
    ("arch-uki", SYSTEMD, None, "root=x", "uki", SYSTEMD, "no StubInfo"),
    ("arch-uki", "rEFInd 0.14.2", STUB, "root=x", "uki", "rEFInd", None),
    ("opensuse-sdbootutil", GRUB, None, IMAGE, "sdbootutil", GRUB, None),
    ("opensuse-sdbootutil", SYSTEMD, None, "root=x", "sdbootutil", SYSTEMD, None),
    ("proxmox-8", "rEFInd 0.14.2", None, "root=x", "proxmox", "uuids", "another loader"),
    ("raspios-12", None, None, None, "rpi", "config.txt", None),
    # a Pi with UEFI firmware
    ("raspios-12", GRUB, None, IMAGE, "rpi", GRUB, "another loader"),
    ("armbian", None, None, None, "armbian", "armbianEnv.txt", None),
    ("silverblue", SYSTEMD, STUB, "root=x", "ostree", "ostree", None),
    # the files of systemd-boot on a machine that has no EFI
    ("debian-systemd-boot", None, None, None, "systemd-boot", "entries", "not started by UEFI"),
]


def started():
    """What started a captured machine agrees with the loader in charge, or it is said."""
    for name, loader, stub, line, backend, why, doubt in STARTED:
        files = dict(ROOTS[name][1])
        files["/proc/cmdline"] = (line or "root=x") + "\n"
        for variable, value in (("LoaderInfo", loader), ("StubInfo", stub),
                                ("OsIndicationsSupported", None)):
            if line and (value or variable.startswith("Os")):
                files[LOADER_VARIABLE.format(variable)] = (
                    struct.pack("<I", 6) + ((value or "") + "\0").encode("utf-16le"))

        def body(root, before):
            result = subprocess.run([PROGRAM, f"--snapshot={root}", "status", "--json"], env=ENV,
                                    text=True, capture_output=True, check=False)
            status = json.loads(result.stdout)
            case = f"{name} started by {loader}, {stub}, {line}"
            check(status["boot"]["backend"] == backend, f"{case}: {status['boot']}")
            check(why in status["boot"]["why"], f"{case}: {status['boot']['why']}")
            said = [w["text"] for w in status["warnings"] if "tarted" in w["text"] or
                    "BOOT_IMAGE" in w["text"]]
            check(len(said) == bool(doubt) and (not doubt or doubt in said[0]), f"{case}: {said}")
        with_root(files, body)
    print(f"ok started, {len(STARTED)} machines")
    return 1


def main():
    names = sys.argv[1:] or list(ROOTS)
    passed, failed, skipped = 0, 0, 0
    for name in names:
        try:
            note = one(name)
        except Failure as error:
            print(f"FAIL {name}: {error}")
            failed += 1
            continue
        passed += 1
        skipped += note.startswith("SKIP")
        print(f"ok {name} {note}")
    if not sys.argv[1:]:
        try:
            passed += device_trees()
            passed += documented()
            passed += recognised()
            passed += started()
            passed += long_lines()
            for name, note in cmdline_cases():
                print(note or f"ok {name}")
                passed += not note
                skipped += bool(note)
        except Failure as error:
            print(f"FAIL cases: {error}")
            failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
