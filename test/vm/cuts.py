#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Power cuts during `set off`.

  cuts.py [SUITE...] [--seed=N] [--deb=PACKAGE]     built in a root of the suite when not given

QEMU records every write and flush of the disk while a booted Debian runs `set off`. Replayed to
every flush, and to random writes in between with any of the unflushed ones missing, the raw image
is what a power cut leaves. GRUB itself (grub-fstest) must read a whole menu from each of them, the
old or the new one: it replays no journal. Some of the images are booted, and the next run of the
program must finish the change or take it back.
"""

import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "test/packaging"))

import boots  # noqa: E402
import deb  # noqa: E402
import disk  # noqa: E402
import vm  # noqa: E402

expect = boots.expect
MARK = b"memcg-policy: the change begins here\n"
RANDOM_CUTS = 100
REAL_BOOTS = 3
FLUSH, DISCARD = 1, 4
ENTRY = struct.Struct("<QQQQ")


class Log:
    """What QEMU's blklogwrites wrote, in the format of dm-log-writes."""

    MAGIC = 0x6A736677736872

    def __init__(self, path):
        self._file = open(path, "rb")
        magic, version, count, size = struct.unpack("<QQQI", self._file.read(28))
        expect(magic == self.MAGIC and version == 1, "not a log of writes")
        self.sector = size
        self.entries = []  # (flags, place on the disk, bytes, place in the log)
        at = size
        for _ in range(count):
            self._file.seek(at)
            sector, sectors, flags, _ = ENTRY.unpack(self._file.read(ENTRY.size))
            at += size
            self.entries.append((flags, sector * size, sectors * size, at))
            if not flags & DISCARD:
                at += sectors * size

    def data(self, entry):
        self._file.seek(entry[3])
        return self._file.read(entry[2])

    def writes(self, begin, end):
        return [e for e in self.entries[begin:end] if e[2] and not e[0] & DISCARD]

    def find(self, text):
        for i, entry in enumerate(self.entries):
            if entry[2] and not entry[0] & DISCARD and text in self.data(entry):
                return i
        raise vm.Failed("the mark of the beginning is not in the log")


class Image:
    """A raw disk that writes are replayed on."""

    def __init__(self, path):
        self.path = path
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

    def menu(self):
        """The menu as GRUB reads it from the raw image."""
        done = subprocess.run(
            ["grub-fstest", self.path, "cat", "(loop0,gpt2)/boot/grub/grub.cfg"], capture_output=True
        )
        if done.returncode:
            raise vm.Failed(f"GRUB cannot read the menu: {done.stderr.decode(errors='replace')}")
        return done.stdout


class Cuts:
    def __init__(self, suite, work, package, seed):
        self.suite, self.work, self.package = suite, work, package
        self.random = random.Random(seed)
        self.base = work / "base.img"
        self.log = None
        self.menus = []
        self.begin = 0
        self.flushes = []  # those of the change, as indices of the log

    def _machine(self, drive, name):
        return vm.Machine(f"{self.suite}-{name}", [drive, disk.input_drive(self.work / "input.tar", {"/root/p.deb": self.package})])

    def prepares(self):
        vm.need("grub-fstest", "grub-script-check")
        disk.run(["cp", "--sparse=always", disk.Disk(self.suite).image, self.base])
        with self._machine(f"file={self.base},format=raw,cache=unsafe", "prepare") as machine:
            machine.start()
            machine.run("tar -xf /dev/vdb -C / && dpkg -i /root/p.deb && update-grub")
            machine.power_off()

    def records(self):
        copy, log = self.work / "recorded.img", self.work / "writes.log"
        disk.run(["cp", "--sparse=always", self.base, copy])
        log.touch()
        # flushes are seen only when the cache honours them
        drive = "driver=blklogwrites,cache.direct=off,cache.no-flush=off"
        drive += f",file.driver=raw,file.file.driver=file,file.file.filename={copy}"
        drive += f",log.driver=file,log.filename={log}"
        with self._machine(drive, "record") as machine:
            machine.start()
            machine.run("systemctl is-system-running --wait", None)
            self.menus.append(machine.run(f"cat {boots.MENU}").output.encode())
            machine.run(f"printf '%s' '{MARK.decode()}' >/root/mark && sync")
            machine.run("memcg-policy set off --force")
            self.menus.append(machine.run(f"cat {boots.MENU}").output.encode())
            machine.run("echo done >/root/mark && sync")
            machine.power_off()
        expect(self.menus[0] != self.menus[1], "set off did not change the menu")
        self.log = Log(log)
        self.begin = self.log.find(MARK)
        entries = self.log.entries
        self.flushes = [i for i, e in enumerate(entries) if e[0] & FLUSH and i >= self.begin]

    def _judge(self, image, where):
        menu = image.menu()
        if menu not in self.menus:
            (vm.cache_dir() / "broken-menu").write_bytes(menu)
            raise vm.Failed(f"{where}: GRUB reads {len(menu)} bytes that are neither the old menu nor the new one")
        return self.menus.index(menu)

    def replays(self):
        """Every flush, then random cuts with a random part of what was not flushed."""
        log = self.log
        disk.run(["cp", "--sparse=always", self.base, self.work / "replay.img"])
        image = Image(self.work / "replay.img")
        counts = [0, 0]
        done = 0
        for this in self.flushes:
            image.write(log, log.writes(done, this + 1))
            done = this + 1
            counts[self._judge(image, f"flush {this}")] += 1
        print(
            f"{self.suite}: {len(self.flushes)} flushes: {counts[0]} with the old menu, {counts[1]} with the new one"
        )
        expect(counts[1] > 0, "the new menu never reached the disk")
        self._random_cuts()

    def _random_cuts(self):
        log = self.log
        steps = list(zip(self.flushes, self.flushes[1:]))
        chosen = sorted(self.random.choice(range(len(steps))) for _ in range(RANDOM_CUTS))
        disk.run(["cp", "--sparse=always", self.base, self.work / "replay.img"])
        image = Image(self.work / "replay.img")
        counts, done = [0, 0], 0
        for n in chosen:
            last, following = steps[n]
            if last + 1 > done:
                image.write(log, log.writes(done, last + 1))
                done = last + 1
            pending = log.writes(done, self.random.randint(done, following))
            kept = [e for e in pending if self.random.random() < 0.5]
            old = image.read(kept)
            image.write(log, kept)
            counts[self._judge(image, f"after flush {last}, {len(kept)} of {len(pending)} writes")] += 1
            image.restore(old)
        print(f"{self.suite}: {len(chosen)} random cuts: {counts[0]} with the old menu, {counts[1]} with the new one")

    def recovers(self):
        """Cut, boot, and the next run makes it whole: all off, or all as before."""
        for n in range(1, REAL_BOOTS + 1):
            at = self.flushes[len(self.flushes) * n // (REAL_BOOTS + 1)]
            copy = self.work / "cut.img"
            disk.run(["cp", "--sparse=always", self.base, copy])
            Image(copy).write(self.log, self.log.writes(0, at + 1))
            with self._machine(f"file={copy},format=raw,cache=unsafe", f"cut-{at}") as machine:
                machine.start()
                status = machine.run("memcg-policy check", None)
                machine.run("memcg-policy apply --force")
                machine.run("memcg-policy check", (0, 4))
                lines = [x for x in machine.run(f"grep -P '^\\tlinux\\t' {boots.MENU}").output.splitlines()]
                words = {boots.WORD in x for x in lines}
                expect(len(words) == 1, f"cut at {at}: some entries have the word and some do not")
                policy = machine.run("test -e /etc/memcg-policy/policy.conf.d/50-set.conf", None).status == 0
                expect(policy == words.pop(), f"cut at {at}: policy and menu do not agree")
                print(f"{self.suite}: cut at flush {at}: check said {status.status}, whole after apply")


STEPS = [
    ("package and disk", Cuts.prepares),
    ("record set off", Cuts.records),
    ("GRUB reads each cut", Cuts.replays),
    ("boot after a cut", Cuts.recovers),
]


def main(arguments):
    if os.geteuid() != 0:
        print("SKIP power cuts: not root")
        return 77
    options = dict(a[2:].split("=", 1) for a in arguments if a.startswith("--"))
    seed = int(options.get("seed") or random.randrange(1 << 32))
    print(f"--seed={seed}")
    report = vm.Report()
    for suite in [a for a in arguments if not a.startswith("--")] or ["bookworm"]:
        with tempfile.TemporaryDirectory(prefix="cuts-", dir=vm.cache_dir()) as work:
            work = pathlib.Path(work)
            if "deb" in options:
                package = pathlib.Path(options["deb"])
            else:
                built = deb.Packages(suite, work)
                built.build_in_root()
                package = built.deb()
            report.run(suite, STEPS, Cuts(suite, work, package, seed))
    return report.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
