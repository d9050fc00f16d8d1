#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writing verbs and the initrds that carry the dracut module, in a root whose dracut is a script
that runs the real module-setup.sh: which images are rebuilt, with what, and that nothing is left
half-done when dracut, the boot loader's tool or we ourselves die.

usage: rebuild.py      MEMCG_POLICY names the program
"""

import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from early import install, write

HERE = pathlib.Path(__file__).resolve().parent
MODULE = HERE.parent.parent / "dracut/50memcg-policy"
PROGRAM = os.environ.get("MEMCG_POLICY", "memcg-policy")
ENV = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "LC_ALL": "C"}
OLD, NEW = "6.1.0-43-amd64", "6.1.0-44-amd64"
LEAVE, OFF, ON = [f"decision={d}\nrequired={r}\n" for d, r in (("leave", "no"), ("off", "no"), ("on", "yes"))]
CONFIGURED = 'add_dracutmodules+=" memcg-policy "\n'
PROGRAMS = ("sh", "bash", "cpio", "gzip", "mkdir", "cat", "rm", "sleep", "dash", PROGRAM)

# what dracut does, as far as it matters: modules, --kver, an image at the place given
DRACUT = r"""#!/bin/bash
echo "$*" >> /dracut.called
[ ! -e /dracut.fails ] || { echo "dracut[E]: no space left"; exit 1; }
[ ! -e /dracut.hangs ] || sleep 60
while [ $# -gt 1 ]; do shift; done
image=$1 initdir=/var/tmp/initdir moddir=/usr/lib/dracut/modules.d/50memcg-policy
rm -rf $initdir
mkdir -p $initdir/usr/lib/dracut
echo memcg-policy > $initdir/usr/lib/dracut/modules.txt
inst_multiple() { :; }
inst_hook() { :; }
dwarn() { :; }
. $moddir/module-setup.sh
add_dracutmodules=
for conf in /etc/dracut.conf.d/*.conf; do [ ! -e "$conf" ] || . "$conf"; done
case "$add_dracutmodules" in
*memcg-policy*) install ;;
*) check && install ;;
esac
[ ! -e /dracut.forgets ] || rm $initdir/usr/lib/memcg-policy/initrd
cd $initdir
find_all() { echo usr/lib/dracut/modules.txt; [ ! -e usr/lib/memcg-policy/initrd ] || echo usr/lib/memcg-policy/initrd; }
find_all | cpio -o -H newc --quiet | gzip -c > "$image"
[ ! -e /dracut.damages ] || echo rubbish > "$image"
"""
MKCONFIG = r"""#!/bin/bash
sysconfdir=/etc
[ ! -e /mkconfig.fails ] || exit 1
[ ! -e /mkconfig.hangs ] || sleep 60
. /etc/default/grub
for x in ${sysconfdir}/default/grub.d/*.cfg ; do
  if [ -e "${x}" ]; then
    . "${x}"
  fi
done
{
	echo '### BEGIN /etc/grub.d/10_linux ###'
	for v in %s; do
		echo "menuentry 'Debian GNU/Linux, with Linux $v' --class debian \$menuentry_id_option 'gnulinux-$v' {"
		echo "	linux	/boot/vmlinuz-$v root=UUID=1 ro $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT"
		echo "	initrd	/boot/initrd.img-$v"
		echo "}"
	done
	echo '### END /etc/grub.d/10_linux ###'
} > "$2"
""" % f"{NEW} {OLD}"


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def member(name, data):
    data = data.encode()
    name = name.encode() + b"\0"
    head = b"070701" + b"".join(b"%08x" % n for n in (1, 0o100644, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0))
    out = head + name
    out += b"\0" * (-len(out) % 4) + data
    return out + b"\0" * (-len(out) % 4)


def image(text, dracut=True, early=True):
    """An image as dracut makes it: microcode first, then the compressed part."""
    first = member("kernel/x86/microcode/AuthenticAMD.bin", "x") + member("TRAILER!!!", "")
    rest = member("usr/lib/dracut/modules.txt", "base\n") if dracut else member("conf/initramfs.conf", "")
    if text:
        rest += member("usr/lib/memcg-policy/initrd", text)
    rest += member("TRAILER!!!", "")
    return (first + b"\0" * (-len(first) % 512) if early else b"") + gzip.compress(rest, mtime=0)


def baked(path):
    """What an image carries, read by cpio; None: not the module."""
    data = path.read_bytes()
    at = data.find(b"\x1f\x8b\x08")
    done = subprocess.run(["cpio", "-i", "--quiet", "--to-stdout", "usr/lib/memcg-policy/initrd"],
                          input=gzip.decompress(data[at:]), capture_output=True, check=True)
    return done.stdout.decode() or None


class Root:
    def __init__(self, base):
        self.path = base
        for program in PROGRAMS:
            install(program, base)
        (base / "usr/bin").mkdir(parents=True, exist_ok=True)
        shutil.move(base / "bin" / pathlib.Path(PROGRAM).name, base / "usr/bin/memcg-policy")
        for name, text in (("usr/bin/dracut", DRACUT), ("usr/sbin/grub-mkconfig", MKCONFIG),
                           ("usr/sbin/update-grub", "#!/bin/sh\nexec grub-mkconfig -o /boot/grub/grub.cfg\n"),
                           ("etc/grub.d/10_linux", "#!/bin/sh\n")):
            write(base, name, text).chmod(0o755)
        shutil.copytree(MODULE, base / "usr/lib/dracut/modules.d/50memcg-policy")
        for name in ("dev", "proc", "sys", "var/tmp", "run"):
            (base / name).mkdir(parents=True, exist_ok=True)
        self.reset()

    def reset(self, carries=LEAVE):
        """Asked for by dracut's configuration, and nothing decided yet."""
        for name in ("boot", "etc/memcg-policy", "var/lib/memcg-policy", "etc/dracut.conf.d", "etc/default"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for flag in self.path.glob("*.*"):
            flag.unlink()
        write(self.path, "etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=quiet\nGRUB_CMDLINE_LINUX=\n")
        (self.path / "etc/default/grub.d").mkdir()
        for version in (OLD, NEW):
            write(self.path, f"boot/vmlinuz-{version}", "")
            write(self.path, f"boot/config-{version}", "CONFIG_CGROUPS=y\nCONFIG_MEMCG=y\n")
            (self.path / f"boot/initrd.img-{version}").write_bytes(image(carries))
        self.image(NEW).chmod(0o600)
        write(self.path, "etc/dracut.conf.d/a.conf", CONFIGURED)
        (self.path / "boot/grub").mkdir()
        done = subprocess.run(["chroot", self.path, "/usr/sbin/grub-mkconfig", "-o", "/boot/grub/grub.cfg"], check=False)
        expect(done.returncode == 0, "the menu cannot be made")

    def image(self, version):
        return self.path / f"boot/initrd.img-{version}"

    def flag(self, name):
        write(self.path, name, "")

    def called(self):
        path = self.path / "dracut.called"
        calls = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return calls

    def run(self, *args, refresh=True):
        command = [PROGRAM, f"--root={self.path}", "--no-pager", *(["--refresh"] if refresh else []), *args]
        return subprocess.run(command, env=ENV, capture_output=True, text=True, check=False)

    def ok(self, *args, **kwargs):
        done = self.run(*args, **kwargs)
        expect(done.returncode == 0, f"{' '.join(args)}: {done.returncode}: {done.stdout[-500:]}{done.stderr}")
        return done.stdout

    def carry(self, text, what):
        for version in (OLD, NEW):
            found = baked(self.image(version))
            expect(found == text, f"{what}: {version} carries {found!r}, expected {text!r}")

    def tidy(self, what):
        left = [str(p) for p in (self.path / "boot").rglob(".memcg-policy*")]
        expect(not left, f"{what}: left {left}")
        expect(not (self.path / "var/lib/memcg-policy/pending.json").exists(), f"{what}: a pending record")


def test_set_and_back(root):
    out = root.ok("set", "off")
    root.carry(OFF, "set off")
    expect(out.count("ran: /usr/bin/dracut --force --kver") == 2, f"not said: {out}")
    calls = root.called()
    expect(len(calls) == 2 and all("/boot/.memcg-policy." in c for c in calls), f"dracut: {calls}")
    expect(root.image(NEW).stat().st_mode & 0o777 == 0o600, "the mode is lost")
    expect(root.image(OLD).stat().st_mode & 0o777 == 0o644, "the mode is lost")
    root.ok("set", "off")
    root.ok("apply")
    root.ok("apply", "--hook")
    expect(not root.called(), "rebuilt although nothing changed")
    root.ok("set", "on")
    root.carry(ON, "set on")
    root.ok("undo")
    root.carry(OFF, "undo")
    root.ok("unset")
    root.carry(LEAVE, "unset")
    root.tidy("set, undo, unset")


def test_required_only(root):
    """In the image because memcg was required: no configuration asks for it."""
    root.reset(ON)
    (root.path / "etc/dracut.conf.d/a.conf").unlink()
    root.ok("set", "on")
    expect(not root.called(), "rebuilt although it carries that")
    root.ok("set", "off")
    root.carry(None, "set off, not asked for")


def test_which_images(root):
    (root.path / "etc/dracut.conf.d/a.conf").unlink()
    root.image(OLD).write_bytes(image(None))
    others = {"initramfs-0-rescue-abc.img": image(LEAVE), f"initramfs-{NEW}kdump.img": image(LEAVE),
              f"initramfs-{OLD}.img": image(None, dracut=False), f"initrd-{OLD}": b"rubbish"}
    for name, data in others.items():
        (root.path / "boot" / name).write_bytes(data)
    kernel_install = root.path / f"boot/0123456789abcdef/{OLD}/initrd"
    kernel_install.parent.mkdir(parents=True)
    kernel_install.write_bytes(image(LEAVE, early=False))
    root.ok("set", "off")
    expect(baked(root.image(NEW)) is None and baked(kernel_install) is None, "one that carries it was passed over")
    expect(root.image(OLD).read_bytes() == image(None), "one without the module was rebuilt")
    for name, data in others.items():
        expect((root.path / "boot" / name).read_bytes() == data, f"{name} was changed")
    expect(len(root.called()) == 2, "dracut runs")


def test_configured(root):
    write(root.path, "etc/dracut.conf.d/a.conf", "#" + CONFIGURED)
    root.image(OLD).write_bytes(image(None))
    root.ok("set", "off")
    expect(baked(root.image(OLD)) is None, "a comment asked for it")
    root.called()
    write(root.path, "etc/dracut.conf.d/a.conf", CONFIGURED)
    root.ok("apply", "--hook")
    expect(not root.called(), "the hook read images although nothing else changes")
    root.ok("apply")
    root.carry(OFF, "asked for by the configuration")
    root.called()
    root.ok("apply")
    expect(not root.called(), "rebuilt although nothing changed")
    root.ok("unset")
    root.carry(LEAVE, "unset, but asked for")


def test_not_here(root):
    before = root.image(NEW).read_bytes()
    out = root.ok("set", "off", refresh=False)
    expect(f"to be run in the system: /usr/bin/dracut --force --kver {NEW} /boot/initrd.img-{NEW}" in out, out)
    expect(root.image(NEW).read_bytes() == before and not root.called(), "rebuilt without --refresh")
    root.reset()
    out = root.ok("set", "off", "--dry-run")
    expect("runs: /usr/bin/dracut" in out and not root.called(), f"dry run: {out}")
    expect(root.image(NEW).read_bytes() == before, "a dry run wrote")
    dracut = root.path / "usr/bin/dracut"
    dracut.rename(root.path / "usr/bin/not-dracut")
    out = root.ok("set", "off")
    expect("dracut" not in out, f"without dracut: {out}")
    (root.path / "usr/bin/not-dracut").rename(dracut)


def test_failures(root):
    menu = (root.path / "boot/grub/grub.cfg").read_bytes()
    before = root.image(NEW).read_bytes()
    for flag, said in (("dracut.fails", "no space left"), ("dracut.damages", "it is damaged"),
                       ("mkconfig.fails", "failed with exit status 1")):
        root.flag(flag)
        done = root.run("set", "off")
        expect(done.returncode == 1 and said in done.stderr, f"{flag}: {done.returncode}: {done.stderr}")
        expect("put back" in done.stderr, f"{flag}: {done.stderr}")
        expect((root.path / "boot/grub/grub.cfg").read_bytes() == menu, f"{flag}: the menu changed")
        expect(not (root.path / "etc/memcg-policy/policy.conf.d/50-set.conf").exists(), f"{flag}: a policy is left")
        expect(root.image(NEW).read_bytes() == before, f"{flag}: the image changed")
        root.tidy(flag)
        (root.path / flag).unlink()
    root.flag("dracut.forgets")
    done = root.run("set", "off")
    expect(done.returncode == 1 and "does not carry this decision" in done.stderr, f"forgets: {done.stderr}")
    root.tidy("dracut.forgets")


def kill_while(root, flag, marker):
    """SIGKILL while the tool waits for a program."""
    root.flag(flag)
    child = subprocess.Popen([PROGRAM, f"--root={root.path}", "--refresh", "set", "off"], env=ENV,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not marker() and time.monotonic() < deadline and child.poll() is None:
        time.sleep(0.05)
    expect(child.poll() is None, f"{flag}: it did not wait")
    child.send_signal(signal.SIGKILL)
    child.wait()
    (root.path / flag).unlink()


def test_killed(root):
    before = root.image(NEW).read_bytes()
    kill_while(root, "dracut.hangs", lambda: (root.path / "dracut.called").exists())
    expect(root.image(NEW).read_bytes() == before, "killed: the image changed")
    done = root.run("apply")
    expect(done.returncode == 0 and "was finished first" in done.stderr, f"recovery: {done.stderr}")
    root.carry(OFF, "recovery")
    root.tidy("recovery")
    root.reset()
    # the new images are built, and not yet in their places
    built = lambda: len(list((root.path / "boot").glob(".memcg-policy.i*"))) == 2  # noqa: E731
    kill_while(root, "mkconfig.hangs", built)
    root.carry(LEAVE, "killed before the menu")
    root.ok("apply")
    root.carry(OFF, "recovery before the menu")
    root.tidy("recovery before the menu")


def main():
    if os.geteuid() != 0 or not all(shutil.which(p) for p in PROGRAMS):
        print(f"SKIP rebuild: not root, or not all of {' '.join(PROGRAMS)}")
        return 77
    failed = 0
    tests = [v for k, v in globals().items() if k.startswith("test_")]
    with tempfile.TemporaryDirectory(prefix="rebuild-") as tmp:
        root = Root(pathlib.Path(tmp))
        for test in tests:
            try:
                root.reset()
                test(root)
            except Failure as e:
                failed += 1
                print(f"rebuild: {test.__name__}: {e}", file=sys.stderr)
    print(f"rebuild: {len(tests)} tests, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
