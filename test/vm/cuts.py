#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Power cuts during `set off`.

  cuts.py [DISK...] [--seed=N] [--cuts=N] [--boots=N] [--deb=PACKAGE] [--what=menu|entries|firmware]

DISK is a file system that holds all (ext4, xfs, btrfs) or that of a /boot of its own beside a root
of ext4 (/boot=ext4, /boot=xfs, /boot=btrfs, /boot=vfat); all seven when none is named. What is
changed is GRUB's menu, ten boot loader entries that go to the disk together, or (on FAT) a Raspberry
Pi's cmdline.txt; all of them when not said.

A Debian 12 runs `set off` in user-mode Linux while dm-log-writes records every write and flush.
Replayed to every flush, and to random places in between with any of the unflushed writes missing,
the raw image is what a power cut leaves. GRUB itself (grub-fstest) must read a whole menu from each
of them, the old one or the new: it replays no journal. From a sample of them the next run of the
program must finish the change or take it back; some of those are booted by GRUB in an emulated
machine first.
"""

import os
import pathlib
import random
import shutil
import struct
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
sys.path.insert(0, str(TREE / "test/packaging"))

import boots  # noqa: E402
import deb  # noqa: E402
import disk  # noqa: E402
import rawdisk  # noqa: E402
import vm  # noqa: E402

expect = boots.expect
DISKS = ["ext4", "xfs", "btrfs", "/boot=ext4", "/boot=xfs", "/boot=btrfs", "/boot=vfat"]
RECOVERIES = 6

NEXT_RUN = """
memcg-policy check >/dev/null 2>&1
echo "check: $?"
fail() {
	echo "$*"
	exit 1
}
memcg-policy apply --force >/run/said 2>&1 || fail "apply: $(cat /run/said)"
said=$(memcg-policy check 2>&1) || [ $? = 4 ] || fail "check after apply: $said"
said=$(memcg-policy --json=short apply)
case $said in
*'"result":"unchanged"'*) ;;
*) fail "a second apply: $said" ;;
esac
left=$(find /boot /etc -name '.memcg-policy.*')
[ -z "$left" ] || fail "left: $left"
test -e /etc/memcg-policy/policy.conf.d/50-set.conf && echo "policy: off" || echo "policy: none"
sync
"""


class Log:
    """What dm-log-writes wrote: a write is in it when it has ended, and so are the flushes."""

    MAGIC = 0x6A736677736872
    ENTRY = struct.Struct("<QQQQ")
    FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8

    def __init__(self, path):
        self._file = open(path, "rb")
        magic, version, count, size = struct.unpack("<QQQI", self._file.read(28))
        expect(magic == self.MAGIC and version == 1, "not a log of writes")
        self.entries = []  # (flags, place on the disk, bytes, place in the log)
        self.marks = {}
        at = size
        for _ in range(count):
            self._file.seek(at)
            block = self._file.read(size)
            sector, sectors, flags, length = self.ENTRY.unpack_from(block)
            at += size
            if flags & self.MARK:
                name = block[self.ENTRY.size : self.ENTRY.size + length].rstrip(b"\0").decode()
                self.marks[name] = len(self.entries)
                continue
            self.entries.append((flags, sector * size, sectors * size, at))
            if not flags & self.DISCARD:
                at += sectors * size
        expect("begin" in self.marks and "end" in self.marks, f"marks of the log: {self.marks}")

    def data(self, entry):
        self._file.seek(entry[3])
        return self._file.read(entry[2])

    def writes(self, begin, end):
        return [e for e in self.entries[begin:end] if e[2] and not e[0] & self.DISCARD]

    def flushes(self):
        """After how many entries the disk has acknowledged a flush, while the change was made."""
        durable = self.FLUSH | self.FUA
        begin, end = self.marks["begin"], self.marks["end"]
        return [begin] + [i + 1 for i in range(begin, end) if self.entries[i][0] & durable] + [end]


class Replay:
    """A copy of a disk that writes are replayed on."""

    def __init__(self, base, path):
        self.disk = base.copy(path)
        self._file = open(path, "r+b", buffering=0)

    def write(self, log, entries):
        for entry in entries:
            self._file.seek(entry[1])
            self._file.write(log.data(entry))

    def read(self, entries):
        old = []
        for _, at, size, _ in entries:
            self._file.seek(at)
            old.append((at, self._file.read(size)))
        return old

    def restore(self, old):
        for at, data in reversed(old):
            self._file.seek(at)
            self._file.write(data)


class Cuts:
    """A menu that grub-mkconfig makes."""

    WHAT = "menu"

    def __init__(self, disk_name, work, root, seed, cuts, boots_wanted):
        self.name = name = f"{disk_name} {self.WHAT}"
        self.disk_name, self.work, self.root = disk_name, work, root
        self.random = random.Random(f"{seed} {name}")
        self.cuts, self.boots_wanted = cuts, boots_wanted
        self.base = rawdisk.RawDisk(disk_name, work / "base.img")
        self.log = None
        self.menus = []

    def _script(self, text):
        path = self.work / "script"
        path.write_text(text)
        return path

    # what differs by what is changed

    def _prepare(self):
        vm.need("grub-script-check")
        return f"grub-mkconfig -o {boots.MENU}\n"

    def _read(self, image):
        return image.menu()

    def _lines(self, menu):
        """What the kernels get."""
        return [line for line in menu.decode().splitlines() if line.startswith("\tlinux\t")]

    def _check(self, menu):
        (self.work / "menu").write_bytes(menu)
        disk.run(["grub-script-check", self.work / "menu"])

    def _which(self, menu, where):
        """0: the old one, 1: the new one."""
        if menu not in self.menus:
            (vm.cache_dir() / "broken-menu").write_bytes(menu)
            raise vm.Failed(f"{where}: GRUB reads {len(menu)} bytes that are neither the old menu nor the new one")
        return self.menus.index(menu)

    # the steps

    def makes(self):
        self.base.make(self.root)
        self.base.uml("run", self._script(self._prepare()))
        self.menus.append(self._read(self.base))

    def records(self):
        copy, log = self.base.copy(self.work / "recorded.img"), self.work / "writes.log"
        with open(log, "wb") as f:
            f.truncate(2 << 30)
        copy.uml("record", self._script("memcg-policy set off --force\n"), log)
        self.menus.append(self._read(copy))
        self.log = Log(log)
        for menu, words in zip(self.menus, (False, True)):
            self._check(menu)
            lines = self._lines(menu)
            expect(lines and all((boots.WORD in line) == words for line in lines), f"the menu has {lines}")
        copy.path.unlink()

    def _judge(self, image, where):
        try:
            menu = self._read(image)
        except vm.Failed as e:
            raise vm.Failed(f"{where}: {e}") from None
        return self._which(menu, where)

    def _replay(self):
        return Replay(self.base, self.work / "replay.img")

    def replays(self):
        log, flushes = self.log, self.log.flushes()
        replay, counts, done = self._replay(), [0, 0], 0
        for n, flush in enumerate(flushes):
            replay.write(log, log.writes(done, flush))
            done = flush
            counts[self._judge(replay.disk, f"flush {n} of {len(flushes)}")] += 1
        print(f"{self.name}: {len(flushes)} flushes: {counts[0]} with the old menu, {counts[1]} with the new one")
        expect(all(counts), "the old or the new menu was never on the disk")

    def cuts_at_random(self):
        log, flushes = self.log, self.log.flushes()
        replay, counts, done, lost = self._replay(), [0, 0], 0, 0
        for n in sorted(self.random.choice(range(len(flushes) - 1)) for _ in range(self.cuts)):
            replay.write(log, log.writes(done, flushes[n]))
            done = flushes[n]
            pending = log.writes(done, self.random.randint(done, flushes[n + 1]))
            kept = [e for e in pending if self.random.random() < 0.5]
            old = replay.read(kept)
            replay.write(log, kept)
            counts[self._judge(replay.disk, f"after flush {n}, {len(kept)} of {len(pending)} writes")] += 1
            lost += len(pending) - len(kept)
            replay.restore(old)
        print(
            f"{self.name}: {self.cuts} random cuts, {lost} writes lost: {counts[0]} with the old menu,"
            f" {counts[1]} with the new one"
        )

    def _cut(self, n):
        replay = self._replay()
        replay.write(self.log, self.log.writes(0, self.log.flushes()[n]))
        return replay.disk

    def _some(self, count):
        flushes = range(len(self.log.flushes()))
        return sorted(self.random.sample(flushes, min(count, len(flushes))))

    def _expect_whole(self, image, said, where):
        """The next run has finished, or has taken back: policy and menu agree."""
        lines = self._lines(self._read(image))
        words = {boots.WORD in x for x in lines}
        # another machine's grub-mkconfig writes other hints for its disks: the kernel lines count
        expect(len(words) == 1, f"{where}, after the next run: some entries have the word, some do not: {lines}")
        off = words.pop()
        expect(f"policy: {'off' if off else 'none'}" in said, f"{where}: policy and menu do not agree:\n{said}")
        return "finished" if off else "taken back"

    def recovers(self):
        counts = {"finished": 0, "taken back": 0}
        for n in self._some(RECOVERIES):
            image = self._cut(n)
            said = image.uml("run", self._script(NEXT_RUN))
            counts[self._expect_whole(image, said, f"flush {n}")] += 1
        print(f"{self.name}: next run: {counts['finished']} finished the change, {counts['taken back']} took it back")

    def boots(self):
        """GRUB boots what a cut left, by the menu that it read there, and the next run mends it."""
        for n in self._some(self.boots_wanted):
            image = self._cut(n)
            menu = self._judge(image, f"flush {n}")
            with image.machine("cut-" + self.disk_name.strip("/").replace("=", "-")) as machine:
                machine.start()
                line = machine.run("cat /proc/cmdline").output
                expect((boots.WORD in line) == bool(menu), f"flush {n}: GRUB's menu has another line than {line}")
                said = machine.run(NEXT_RUN).output
                machine.run("umount /boot; mount -o remount,ro /; sync", None)
            how = self._expect_whole(image, said, f"flush {n}")
            print(f"{self.name}: flush {n} booted with the {('old', 'new')[menu]} menu; next run: {how}")


class Entries(Cuts):
    """Boot loader entries as Fedora has them, which go to the disk together. GRUB reads them here;
    there is nothing to boot."""

    WHAT = "entries"
    IDS = [f"0123456789abcdef0123456789abcdef-6.17.{n}-300.fc43.x86_64" for n in range(10)]
    OPTIONS = "root=UUID=6d1c5a54-77b3-4e2e-8e05-0f2a4f8a1c11 ro quiet"

    def _prepare(self):
        lines = [
            "rm -r /usr/sbin/grub-mkconfig /usr/sbin/update-grub /etc/default/grub /boot/grub",
            "printf '#!/bin/sh\n# --no-grubenv-update\n' >/usr/sbin/grub2-mkconfig",
            "chmod 755 /usr/sbin/grub2-mkconfig",
            f"echo '{self.IDS[0][:32]}' >/etc/machine-id",
            "mkdir -p /boot/grub2 /boot/loader/entries /etc/kernel",
            "echo blscfg >/boot/grub2/grub.cfg",
            "printf 'GRUB_CMDLINE_LINUX=\"quiet\"\nGRUB_ENABLE_BLSCFG=true\n' >/etc/default/grub",
            f"echo '{self.OPTIONS}' >/etc/kernel/cmdline",
        ]
        for id_ in self.IDS:
            release = id_[33:]
            text = f"title Fedora\nversion {release}\nlinux /vmlinuz-{release}\noptions {self.OPTIONS}\n"
            lines.append(f"printf '{text}' >/boot/loader/entries/{id_}.conf".replace("\n", "\\n"))
            lines.append(f": >/boot/vmlinuz-{release}; mkdir -p /usr/lib/modules/{release}")
        return "\n".join(lines) + "\n"

    def _read(self, image):
        return tuple(image.read(f"/boot/loader/entries/{id_}.conf") for id_ in self.IDS)

    def _lines(self, menu):
        return [line for entry in menu for line in entry.decode().splitlines() if line.startswith("options")]

    def _check(self, menu):
        expect(len(set(menu)) == len(self.IDS), "an entry is there twice")

    def _which(self, menu, where):
        """Each must be whole; a mixture is what the next run finishes or takes back."""
        for id_, now, *known in zip(self.IDS, menu, *self.menus):
            expect(now in known, f"{where}: GRUB reads in {id_}, neither the old nor the new entry: {now[:200]}")
        return int(menu == self.menus[1])


class Firmware(Cuts):
    """A Raspberry Pi's cmdline.txt, in a directory of several sectors. GRUB reads it in the firmware's
    place; there is nothing to boot."""

    WHAT = "firmware"
    LINE = "console=tty1 root=PARTUUID=4e639091-02 rootfstype=ext4 fsck.repair=yes rootwait"

    def _prepare(self):
        return (
            "rm -r /usr/sbin/grub-mkconfig /usr/sbin/update-grub /etc/default/grub /boot/*\n"
            "for n in 1 2 3 4 5 6 7 8 9; do : >/boot/a-board-with-a-long-name-$n.dtb; done\n"
            f"echo arm_64bit=1 >/boot/config.txt; : >/boot/start4.elf; echo {self.LINE} >/boot/cmdline.txt\n"
        )

    def _read(self, image):
        return image.read("/boot/cmdline.txt")

    def _lines(self, menu):
        return menu.decode().splitlines()

    def _check(self, menu):
        expect(len(self._lines(menu)) == 1, "it has several lines")


STEPS = [
    ("disk", Cuts.makes),
    ("record set off", Cuts.records),
    ("GRUB reads it after every flush", Cuts.replays),
    ("GRUB reads it after random cuts", Cuts.cuts_at_random),
    ("next run", Cuts.recovers),
    ("booted by GRUB", Cuts.boots),
]
WHATS = {"menu": (Cuts, STEPS), "entries": (Entries, STEPS[:-1]), "firmware": (Firmware, STEPS[:-1])}


def main(arguments):
    if os.geteuid() != 0:
        print("SKIP power cuts: not root")
        return 77
    options = dict(a[2:].split("=", 1) for a in arguments if a.startswith("--"))
    seed = options.get("seed") or random.randrange(1 << 32)
    print(f"--seed={seed}", flush=True)
    report = vm.Report()
    with tempfile.TemporaryDirectory(prefix="cuts-", dir=vm.cache_dir()) as work:
        work = pathlib.Path(work)
        if "deb" in options:
            package = pathlib.Path(options["deb"])
        else:
            built = deb.Packages("bookworm", work)
            env = dict(os.environ, DEB_BUILD_OPTIONS="nocheck")
            disk.run([TREE / "packaging/deb/build.sh", built.out], env=env)
            package = built.deb()
        root = rawdisk.tree(work / "tree")
        shutil.copy(package, root / "tmp/p.deb")
        disk.run(["chroot", root, "dpkg", "-i", "/tmp/p.deb"])
        disks = [a for a in arguments if not a.startswith("--")] or DISKS
        whats = [options["what"]] if "what" in options else list(WHATS)
        for name, (kind, steps) in [(name, WHATS[what]) for what in whats for name in disks
                                    if what != "firmware" or name == "/boot=vfat"]:
            with tempfile.TemporaryDirectory(prefix="disk-", dir=work) as scratch:
                one = kind(name, pathlib.Path(scratch), root, seed, int(options.get("cuts", 500)), int(options.get("boots", 1)))
                report.run(one.name, steps, one)
    return report.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
