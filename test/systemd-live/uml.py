# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Debian root with the program, its units and the settings to be judged, booted by user-mode Linux:
real systemd and a real kernel in a quarter of a minute, without KVM."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "vm"))
import disk  # noqa: E402
import vm  # noqa: E402

PACKAGES = ["systemd-sysv", "dbus", "libjson-c5", "systemd-oomd", "libpam-systemd"]
SLEEP = "[Service]\nExecStart=/bin/sleep infinity\n"
SERVICES = {
    "max.service": "MemoryMax=64M",
    "high.service": "MemoryHigh=64M",
    "min.service": "MemoryMin=1M",
    "limit.service": "MemoryLimit=64M",
    "both.service": "MemoryLimit=1G\nMemoryMax=64M",
    "oomd.service": "ManagedOOMSwap=kill",
    "inslice.service": "Slice=lim.slice\nMemoryMax=64M",
    "tpl@.service": "MemoryMax=64M",
    "deleg.service": "Delegate=yes\nMemoryMax=64M",
    "innomem.service": "Slice=nomem.slice\nMemoryMax=64M",
    "closed.service": "MemoryMax=64M",
    "bad.service": "MemoryMax=512MB",
    "pct.service": "MemoryMax=10%",
    "plain.service": "",
}
SLICES = {
    "lim.slice": "MemoryMax=128M",
    "nomem.slice": "DisableControllers=memory",
    "-.slice": "MemoryMax=1G",
}
# a file that alice owns, and the name of its drop-in: what it says must not look like a record of its own
LINKED = "linked.service"
EVIL = "x\n<0>forged: \x1b[2J all is well.conf"
# runs once everything has started; /live is this host's directory
LIVE_UNIT = """[Unit]
After=multi-user.target graphical.target memcg-policy-warn.service
[Service]
Type=oneshot
ExecStart=/bin/sh /live/script
ExecStopPost=/bin/systemctl poweroff -ff
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)
    return path


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def install(build, root):
    """What the package installs, as far as it plays a part here."""
    for source, target in (
        (build / "memcg-policy", "usr/bin"),
        (build / "memcg-policy-generator", "usr/lib/systemd/system-generators"),
        (SOURCE / "systemd/memcg-policy.catalog", "usr/lib/systemd/catalog"),
        (SOURCE / "policy.conf", "usr/lib/memcg-policy"),
    ):
        (root / target).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, root / target)
    service = (build / "systemd/memcg-policy-warn.service").read_text()
    write(root / "usr/lib/systemd/system/memcg-policy-warn.service", service.replace("/usr/local/", "/usr/"))
    shutil.copytree(SOURCE / "needs.d", root / "usr/lib/memcg-policy/needs.d",
                    ignore=shutil.ignore_patterns("meson.build"))
    # newer ones open files by /proc/self/fd
    disk.run(["unshare", "--mount", "sh", "-c",
              'mount -t proc proc "$1/proc" && chroot "$1" journalctl --update-catalog', "sh", root])


def add_alice(root):
    """A user who lingers: her manager is started at boot, and has units of her own."""
    for path, line in (
        ("etc/passwd", "alice:x:1000:1000::/home/alice:/bin/sh\n"),
        ("etc/group", "alice:x:1000:\n"),
        ("etc/shadow", "alice:!:19000:0:99999:7:::\n"),
    ):
        with open(root / path, "a") as f:
            f.write(line)
    units = root / "home/alice/.config/systemd/user"
    write(units / "mine.service", f"{SLEEP}MemoryMax=64M\n")
    link(units / "default.target.wants/mine.service", "../mine.service")
    write(root / "home/alice" / LINKED, f"{SLEEP}\n")
    write(root / "home/alice" / f"{LINKED}.d" / EVIL, "[Service]\nMemoryMax=64M\n")
    disk.run(["chown", "-R", "1000:1000", root / "home/alice"])
    write(root / "var/lib/systemd/linger/alice", "")


def make_root(suite, build, root):
    disk.unpack(disk.bootstrap(suite, PACKAGES), root)
    install(build, root)
    add_alice(root)
    units = root / "etc/systemd/system"
    wants = units / "multi-user.target.wants"
    for name, lines in SERVICES.items():
        write(units / name, f"{SLEEP}{lines}\n")
        link(wants / name.replace("@.", "@a."), f"../{name}")
    for name, lines in SLICES.items():
        write(units / name, f"[Slice]\n{lines}\n")
    link(units / LINKED, f"/home/alice/{LINKED}")
    link(units / f"{LINKED}.d", f"/home/alice/{LINKED}.d")
    link(wants / LINKED, f"../{LINKED}")
    write(units / "live.service", LIVE_UNIT)
    link(wants / "live.service", "../live.service")
    link(wants / "memcg-policy-warn.service", "/usr/lib/systemd/system/memcg-policy-warn.service")
    for name in ("systemd-udevd.service", "getty@tty1.service", "serial-getty@ttyS0.service"):
        link(units / name, "/dev/null")
    write(root / "etc/memcg-policy/policy.conf", "[Policy]\nFailClosed=closed.service\n")
    write(root / "etc/fstab", "")


def boot(root, script, *words, timeout=400):
    """Boots, runs the script and powers off; what it wrote is in /live. The script's last line is ours."""
    write(root / "live/script", f"exec >/live/log 2>&1\nset -x\n{script}\n: >/live/done\n")
    (root / "live/done").unlink(missing_ok=True)
    shutil.rmtree(root / "run", ignore_errors=True)
    (root / "run").mkdir()
    with tempfile.TemporaryDirectory() as tmp:
        command = [HERE.parent / "vm/linux-uml.sh", "root=/dev/root", "rootfstype=hostfs", f"rootflags={root}", "rw"]
        command += ["mem=768M", "con=null", "con0=null,fd:1", "console=tty0", f"uml_dir={tmp}"]
        command += ["init=/lib/systemd/systemd", *words]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                env={**os.environ, "TMPDIR": tmp},
            )
        except subprocess.TimeoutExpired as e:
            raise vm.Failed(f"no power-off: {(e.stdout or b'')[-1500:].decode(errors='replace')}") from None
    if not (root / "live/done").exists():
        log = root / "live/log"
        raise vm.Failed(
            f"the script did not end:\n{done.stdout[-1500:].decode(errors='replace')}\n"
            f"{log.read_text(errors='replace')[-1500:] if log.exists() else ''}"
        )
