#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What goes wrong around a change: every file is old or new, the exit status says so, nothing is lost.

Also that "apply" with nothing to do writes nothing and runs nothing (by strace). Each case works on
a copy of the golden Debian root; mounts are made in a namespace of their own and need root.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(os.environ.get("MEMCG_POLICY_SOURCE", ".")).resolve()
program = pathlib.Path(os.environ["MEMCG_POLICY"]).resolve()
DROPIN = "etc/default/grub.d/zz-memcg-policy.cfg"
POLICY = "etc/memcg-policy/policy.conf.d/50-set.conf"
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "LC_ALL": "C.UTF-8"}
failures = []


def expect(name, condition, what):
    if not condition:
        failures.append(f"{name}: {what}")


def make_root(path):
    shutil.copytree(source / "test/roots/10-debian-grub/tree", path)
    for name in ("grub-mkconfig", "update-grub"):
        (path / "usr/sbin" / name).chmod(0o755)
    return path


def run(root, *arguments, prefix=()):
    return subprocess.run([*prefix, program, f"--root={root}", *arguments], capture_output=True,
                          stdin=subprocess.DEVNULL, env=ENVIRONMENT, timeout=120, check=False)


def files(root):
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*"))
            if p.is_file() and not p.is_symlink() and "var/lib/memcg-policy" not in str(p)}


def odd_files(top):
    """Something else than a text file in the place of one."""
    def fifo(path):
        os.mkfifo(path)

    def loop(path):
        path.symlink_to(path.name)

    def huge(path):
        with open(path, "wb") as f:
            f.truncate(1 << 30)

    def directory(path):
        path.mkdir()

    def device(path):
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))

    for place in ("etc/default/grub", DROPIN, POLICY):
        for make in (fifo, loop, huge, directory, device):
            name = f"{make.__name__} as {place}"
            root = make_root(top / "odd")
            path = root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            try:
                make(path)
            except PermissionError:
                print(f"SKIP faults {name}: not permitted here")
                shutil.rmtree(root)
                continue
            before = {k: v for k, v in files(root).items() if len(v) < 1 << 20}
            done = run(root, "set", "off")
            after = {k: v for k, v in files(root).items() if len(v) < 1 << 20}
            expect(name, done.returncode == 1, f"exit status {done.returncode}, not 1")
            expect(name, place.split("/")[-1].encode() in done.stderr, f"no path: {done.stderr!r}")
            expect(name, before == after, "files were changed")
            shutil.rmtree(root)


def full(top):
    """A file system that fills up: whatever fits, each file is old or new."""
    for blocks in (1, 2, 4, 8, 12, 16, 24, 32):
        mount = top / "full"
        mount.mkdir(exist_ok=True)
        script = (f"mount -t tmpfs -o size=4m tmpfs {mount} && cp -a {top}/base/. {mount}/ && "
                  f"dd if=/dev/zero of={mount}/ballast bs=4k 2>/dev/null; "
                  f"truncate -s -{blocks * 4}k {mount}/ballast; "
                  f"{program} --root={mount} set off; echo status=$?; "
                  f"rm {mount}/ballast; {program} --root={mount} set off -q >/dev/null; "
                  f"echo again=$?; cat {mount}/{DROPIN}; "
                  f"{program} --root={mount} unset -q >/dev/null; echo unset=$?; "
                  f"diff -r {top}/base/etc {mount}/etc && echo same")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True,
                              env=ENVIRONMENT, timeout=120, check=False)
        out = done.stdout.decode(errors="replace")
        name = f"{blocks} blocks left"
        expect(name, "status=0" in out or "status=1" in out, out + done.stderr.decode())
        expect(name, "again=0" in out and "cgroup_disable=memory" in out, f"no recovery: {out}")
        expect(name, "unset=0" in out and "same" in out, f"unset is not exact: {out}")


def read_only(top):
    script = (f"mount --bind {top}/base {top}/base && mount -o remount,ro,bind {top}/base && "
              f"{program} --root={top}/base set off; echo status=$?")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True,
                          env=ENVIRONMENT, timeout=60, check=False)
    expect("read-only", b"status=7" in done.stdout or b"status=1" in done.stdout, done.stdout)
    expect("read-only", b"read-only" in done.stderr.lower(), done.stderr)


def two_at_once(top):
    """Both end, and what is there is what one of them wrote."""
    root = make_root(top / "two")
    for _ in range(10):
        both = [subprocess.Popen([program, f"--root={root}", "set", want],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 env=ENVIRONMENT) for want in ("off", "on")]
        answers = [(p.communicate(timeout=120)[1], p.returncode) for p in both]
        expect("two at once", all(code in (0, 1) for _, code in answers), answers)
        policy = (root / POLICY).read_text()
        has_dropin = (root / DROPIN).exists()
        expect("two at once", ("Memcg=off" in policy) == has_dropin, f"{policy!r}, {has_dropin}")
    expect("two at once", run(root, "unset").returncode == 0, "unset failed")


def nothing_to_do(top):
    """apply twice = apply once: no write, no new file, no program."""
    if not shutil.which("strace"):
        print("SKIP faults nothing to do: strace is not installed")
        return
    for want in ("on", "off", "auto"):
        root = make_root(top / f"nothing-{want}")
        run(root, "set", want)
        times = {p: p.lstat().st_mtime_ns for p in root.rglob("*")}
        log = top / "strace.log"
        done = run(root, "apply", prefix=("strace", "-f", "-o", log))
        name = f"apply with nothing to do, {want}"
        expect(name, done.returncode == 0, done.stderr)
        calls = log.read_text().splitlines()
        expect(name, sum("execve(" in c for c in calls) == 1, "a program was run")
        writes = [c for c in calls if any(f in c for f in ("O_WRONLY", "O_RDWR", "O_CREAT"))
                  or any(f" {f}(" in c for f in ("rename", "renameat2", "unlinkat", "mkdirat",
                                                 "fsync", "syncfs", "utimensat"))]
        writes = [c for c in writes if "/dev/tty" not in c and "/dev/null" not in c]
        expect(name, not writes, "\n".join(writes))
        expect(name, times == {p: p.lstat().st_mtime_ns for p in root.rglob("*")}, "a time changed")


with tempfile.TemporaryDirectory(prefix="memcg-faults-") as directory:
    top = pathlib.Path(directory)
    make_root(top / "base")
    odd_files(top)
    two_at_once(top)
    nothing_to_do(top)
    if os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0:
        full(top)
        read_only(top)
    else:
        print("SKIP faults full disk, read-only: needs root and mount namespaces")
print("\n".join(failures) or "nothing was lost")
sys.exit(1 if failures else 0)
