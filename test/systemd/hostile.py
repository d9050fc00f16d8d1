#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Unit trees made to hurt: "units --root" ends, stays small, and is right about the sane units among them.

hostile.py --once ONCE [--full] [NAME...]

Each tree holds sane.service, whose limit a drop-in lowers and which multi-user.target wants by an alias;
whatever else is there, that must come out. Printed: wall seconds and peak resident memory (ru_maxrss) of
each run. Times are not judged, but a run that takes minutes is stopped and has failed; memory is judged
where it must not grow. --full: ten times as many of everything, as an attacker would.
"""
import argparse
import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading

parser = argparse.ArgumentParser()
parser.add_argument("--once", required=True, help="test/bench/once.c, built")
parser.add_argument("--full", action="store_true")
parser.add_argument("names", nargs="*")
args = parser.parse_args()
program = os.environ.get("MEMCG_POLICY", "build/memcg-policy")
FACTOR = 10 if args.full else 1
TIMEOUT = 180 * FACTOR
# a sanitizer keeps freed memory back, which is not what is measured here
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:detect_leaks=0"}
# where 100,000 files cost nothing, if there is room
MEMORY = "/dev/shm"
ROOMY = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 512 << 20 and "TMPDIR" not in os.environ
PLACE = MEMORY if ROOMY else None
LIMIT = "[Service]\nExecStart=/bin/true\nMemoryMax={}\n"
QUIET = "[Unit]\nDescription=Nothing of interest\n[Service]\nExecStart=/bin/true\n"
trees = {}


def tree(function):
    trees[function.__name__.replace("_", "-")] = function
    return function


class Tree:
    def __init__(self, top):
        self.top = pathlib.Path(top)
        self.whole = True  # all of it is read
        self.etc = self.top / "etc/systemd/system"
        self.usr = self.top / "usr/lib/systemd/system"
        for directory in (self.etc, self.usr):
            directory.mkdir(parents=True)
        self.write("sane.service", LIMIT.format("1G"))
        self.write("sane.service.d/50-less.conf", "[Service]\nMemoryMax=64M\n")
        self.link("sane-alias.service", "sane.service")
        self.link("multi-user.target.wants/sane-alias.service", "../sane-alias.service")

    def write(self, name, text, where=None):
        path = (where or self.etc) / name
        if "/" in name:
            path.parent.mkdir(exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def link(self, name, target, where=None):
        path = (where or self.etc) / name
        if "/" in name:
            path.parent.mkdir(exist_ok=True)
        os.symlink(target, path)

    def many(self, names, text):
        """Files of the same text: links to one file where the file system lets them be that many."""
        directory = os.open(self.etc, os.O_RDONLY | os.O_DIRECTORY)
        source = None
        for number, name in enumerate(names):
            if number % 30000 == 0:
                source = name
                self.write(name, text)
            else:
                os.link(source, name, src_dir_fd=directory, dst_dir_fd=directory)
        os.close(directory)

    def names(self, kind):
        """kind has a place for the number"""
        return (kind % n for n in range(self.count))

    def run(self, *wrapper):
        """wrapper: what starts the program, which is then a copy that anybody may run"""
        out, start = self.top / "out", [program]
        if wrapper:
            start = [*wrapper, shutil.copy(program, self.top / "program")]
        done = subprocess.run([args.once, out, *start, "units", f"--root={self.top}", "--json"],
                              env=ENVIRONMENT, stdout=subprocess.PIPE, check=True, timeout=TIMEOUT)
        wall, cpu, peak, status = map(int, done.stdout.split())
        text = out.read_bytes()
        assert status in (0, 6), f"exit status {status}: {text[-2000:].decode(errors='replace')}"
        # the warnings of stderr come first
        begin = text.index(b'{"schema"')
        self.result = json.JSONDecoder().raw_decode(text[begin:].decode())[0]
        self.said = text[:begin].decode(errors="backslashreplace")
        self.findings = self.result["findings"]
        self.peak = peak / 1024
        print(f"    {wall / 1e9:7.2f} s wall {cpu / 1e9:7.2f} s CPU {self.peak:7.1f} MiB "
              f"{len(self.findings):6} findings", flush=True)
        return self.findings

    def of(self, unit):
        return [f for f in self.findings if f["unit"] == unit]

    def value(self, unit, setting="MemoryMax"):
        found = [f["value"] for f in self.of(unit) if f["setting"] == setting and f["state"] != "invalid"]
        assert len(found) == 1, f"{unit}: {self.of(unit)}"
        return found[0]

    def warnings(self, word):
        return [w for w in self.result["warnings"] if word in w["text"]]

    def check_sane(self):
        if not self.whole:
            return
        sane = self.of("sane.service")
        assert len(sane) == 1 and sane[0]["value"] == "64M" and sane[0]["enabled"] == "enabled" and \
            sane[0]["source"]["path"].endswith("/sane.service.d/50-less.conf"), sane


def check_memory(title, peaks, most):
    assert peaks[-1] - peaks[0] <= most, f"{title}: {peaks} MiB, should grow by at most {most}"


# --- many files ---

@tree
def many_files():
    """10,000 and 100,000 unit files without a memory setting: the same memory"""
    peaks = []
    for count in (10000, 100000):
        with tempfile.TemporaryDirectory(prefix="memcg-hostile-", dir=PLACE) as top:
            t = Tree(top)
            t.many((f"unit-{n}.service" for n in range(count)), QUIET)
            t.run()
            t.check_sane()
            assert len(t.findings) == 1, t.findings
            peaks.append(t.peak)
    check_memory("files without findings", peaks, 1)


@tree
def many_dropin_directories(t):
    """20,000 drop-in directories without their units, none with a memory setting"""
    for n in range(10000 * FACTOR):
        t.write(f"unit-{n}.service.d/a.conf", "[Service]\nNice=1\n")
        os.mkdir(t.usr / f"other-{n}.service.d")
    t.run()
    assert len(t.findings) == 1, t.findings


@tree
def one_huge_dropin_directory(t):
    """20,000 drop-ins of one unit; the last of them decides"""
    for n in range(20000 * FACTOR):
        t.write(f"huge.service.d/{n:07}.conf", f"[Service]\nMemoryMax={n + 1}M\n")
    t.write("huge.service", QUIET)
    t.run()
    assert t.value("huge.service") == f"{20000 * FACTOR}M"


@tree
def prefixes(t):
    """names of 120 prefixes, a drop-in for each of them; 200 units that all share one"""
    name = "-".join(f"{n % 10}" for n in range(120)) + ".service"
    t.write(name, LIMIT.format("1G"))
    stem = name.removesuffix(".service")
    while "-" in stem:
        stem = stem.rpartition("-")[0]
        t.write(f"{stem}-.service.d/{stem.count('-'):03}.conf", f"[Service]\nMemoryMax={stem.count('-') + 1}M\n")
    for n in range(200):
        t.write(f"0-1-{n}-x.service", LIMIT.format("1G"))
    t.run()
    assert t.value(name) == "119M"  # the longest prefix has the last file name
    assert all(t.value(f"0-1-{n}-x.service") == "2M" for n in range(3, 200))


@tree
def units_times_dropins(t):
    """4,000 units that share 1,000 drop-ins: more reads than are done; what was not read is unknown"""
    for n in range(1000):
        t.write(f"shared-.service.d/{n:04}.conf", f"[Service]\nMemoryHigh={n + 1}M\n")
    t.many((f"shared-{n:05}.service" for n in range(4000)), LIMIT.format("1G"))
    t.run()
    assert t.warnings("the rest was not read"), t.result["warnings"]
    cut = {f["unit"] for f in t.findings if f["why"].startswith("there are more files than are read")}
    whole = {f["unit"] for f in t.findings} - cut - {"sane.service"}
    assert all(t.value(unit, "MemoryHigh") == "1000M" for unit in whole) and len(whole) > 400 and len(cut) > 3000


# --- links ---

@tree
def loops(t):
    """aliases that lead in circles, to nowhere, and through chains as long as systemd follows and longer"""
    t.link("self.service", "self.service")
    for n in range(1000 * FACTOR):
        t.link(f"ring-{n}.service", f"ring-{(n + 1) % (1000 * FACTOR)}.service")
        t.link(f"nowhere-{n}.service", f"missing-{n}.service")
    t.write("end.service", LIMIT.format("5M"))
    for n in range(30):
        t.link(f"chain{n}.service", f"chain{n - 1}.service" if n else "end.service")
    t.link("loop.service.d", "loop.service.d")
    t.link("up.service.d", "..")
    t.link("all.service.d", ".")
    t.link("multi-user.target.wants/chain29.service", "../chain29.service")
    t.run()
    assert t.value("end.service") == "5M"
    assert t.of("end.service")[0]["enabled"] == "static"


@tree
def names_of_one_unit(t):
    """10,000 aliases of one unit, the last of which has the drop-in that counts and is what boot wants"""
    count = 10000 * FACTOR
    t.write("one.service", LIMIT.format("1G"))
    for n in range(count):
        t.link(f"name-{n}.service", "one.service")
    t.write(f"name-{count - 1}.service.d/z.conf", "[Service]\nMemoryMax=3M\n")
    t.link("multi-user.target.wants/name-7.service", "../one.service")
    t.run()
    assert t.value("one.service") == "3M" and t.of("one.service")[0]["enabled"] == "enabled"


@tree
def names_with_prefixes(t):
    """5,000 aliases of 30 prefixes, most of them with drop-in directories: each is looked into once"""
    names = ["-".join(str((n >> bit) & 1) for bit in range(30)) + ".service" for n in range(5000 * FACTOR)]
    t.write("one.service", LIMIT.format("1G"))
    for name in names:
        t.link(name, "one.service")
    for n in range(500):
        t.write(f"0-.service.d/{n:03}.conf", f"[Service]\nMemoryMax={n + 1}M\n")
    for n in range(1000):
        t.write(f"{names[n]}.d/000-own.conf", "[Service]\nMemoryMax=1M\n")
    for n in range(64):
        (t.usr / ("-".join(str((n >> bit) & 1) for bit in range(6)) + "-.service.d")).mkdir()
    t.run()
    assert t.value("one.service") == "500M" and not t.warnings("the rest was not read")


@tree
def slices(t):
    """2,000 services in slices 60 deep, all of which a drop-in of their prefix concerns"""
    t.write("a-.slice.d/x.conf", "[Slice]\nMemoryMax=1G\n")
    deep = "a" + "-b" * 58
    for n in range(2000):
        t.write(f"in-{n}.service", f"[Service]\nExecStart=/bin/true\nSlice={deep}-{n % 7}.slice\nMemoryMax=2G\n")
    t.run()
    assert t.value(f"{deep}-6.slice") == "1G" and t.value("in-1999.service") == "2G"
    assert len([f for f in t.findings if f["unit"].endswith(".slice")]) >= 58 + 7


@tree
def complaints(t):
    """5,000 files with 100 lines each that are in the wrong section: told of, but not each of them"""
    t.many((f"wrong-{n}.service" for n in range(5000 * FACTOR)), "[Unit]\n" + "MemoryMax=1G\n" * 100)
    t.run()
    assert 1000 <= len(t.result["warnings"]) <= 1100 and t.warnings("more messages")


@tree
def links_to_one_file(t):
    """10,000 units that are links to one file outside of the search path: linked units, each with the limit"""
    t.write("text", LIMIT.format("7M"), t.top)
    for n in range(10000 * FACTOR):
        t.link(f"linked-{n}.service", "/text")
    t.run()
    assert len(t.findings) == 10000 * FACTOR + 1 and t.value("linked-4711.service") == "7M"


@tree
def instances(t):
    """100,000 instances in .wants of a template without a memory setting, and 2,000 of one with"""
    wants = t.etc / "multi-user.target.wants"
    # no more than are looked at
    for n in range(min(100000 * FACTOR, 900000)):
        os.symlink("/etc/systemd/system/dull@.service", wants / f"dull@{n}.service")
    for n in range(2000 * FACTOR):
        os.symlink("/etc/systemd/system/tight@.service", wants / f"tight@{n}.service")
    t.write("dull@.service", QUIET)
    t.write("tight@.service", LIMIT.format("9M"))
    t.run()
    assert len(t.findings) == 2000 * FACTOR + 1 and t.of("tight@1999.service")[0]["enabled"] == "enabled"


@tree
def too_many_links(t):
    """1,100,000 links in .wants, more than are looked at: what starts the sane unit is unknown"""
    if FACTOR == 1:
        print("    SKIP too-many-links: only with --full")
        t.whole = False
        return
    wants = t.etc / "a-first.target.wants"
    wants.mkdir()
    for n in range(1100000):
        os.symlink("/etc/systemd/system/dull@.service", wants / f"dull@{n}.service")
    t.run()
    sane, = t.of("sane.service")
    assert sane["enabled"] == "unknown" and sane["state"] == "unknown", sane
    assert t.warnings("more unit files, links and drop-ins than are looked at")
    t.whole = False


# --- texts ---

@tree
def long_lines(t):
    """lines just short of, and of 1 MiB; 40 units of such comments; a file of nothing else"""
    mib = 1024 * 1024
    t.write("below.service", LIMIT.format("1M") + "#" + "x" * (mib - 3) + "\nMemoryHigh=1M\n")
    t.write("above.service", LIMIT.format("1M") + "#" + "x" * mib + "\nMemoryHigh=1M\n")
    for n in range(40 * FACTOR):
        t.write(f"comment-{n}.service", "#" * (mib - 100) + "\n" + LIMIT.format("2M"))
    t.write("zeros.service", b"\0" * (3 * mib))
    t.write("huge.service", "#\n" * (4 * mib) + LIMIT.format("1M"))
    t.write("many-lines.service", LIMIT.format("1M") + "MemoryMax=1e3\n" * 60000)
    t.write("many-words.service", LIMIT.format("1M") + "MemoryMax=1e3\n" * 200 + "MemoryMax=\nMemoryHigh=3M\n" * 30000)
    t.write("backslash.service", LIMIT.format("1M") + "Environment=a \\\n" * 60000 + "\nMemoryHigh=2M\n")
    t.run()
    assert t.value("below.service") == "1M" and t.value("below.service", "MemoryHigh") == "1M"
    assert all(f["state"] == "invalid" for f in t.of("above.service")), t.of("above.service")
    assert t.value("comment-39.service") == "2M"
    assert not t.of("zeros.service")
    # behind what is read of a file: not said to be anything, nor passed over in silence
    assert t.warnings("larger than any unit file")
    assert t.value("many-lines.service") == "1M" and len(t.of("many-lines.service")) <= 101
    assert t.value("many-words.service", "MemoryHigh") == "3M" and len(t.of("many-words.service")) <= 101


@tree
def growing(t):
    """a file that somebody writes to all the while"""
    stop = threading.Event()

    def write():
        with open(t.etc / "growing.service", "w", encoding="ascii") as file:
            file.write(LIMIT.format("1M"))
            while not stop.is_set():
                file.write("# more\n" * 1000)
                if file.tell() > 32 * 1024 * 1024:
                    file.truncate(0)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            t.run()
    finally:
        stop.set()
        writer.join()


@tree
def quadlets(t):
    """2,000 quadlets in 300 directories and loops of them, one of 512 KiB of comment for all"""
    top = t.top / "etc/containers/systemd"
    top.mkdir(parents=True)
    for n in range(300):
        (top / f"dir{n}").mkdir()
        os.symlink("..", top / f"dir{n}/up")
    for n in range(2000):
        (top / f"dir{n % 300}/c{n}.container").write_text("[Container]\nImage=x\n[Service]\nMemoryMax=1G\n")
    (top / "container.d").mkdir()
    (top / "container.d/all.conf").write_text("#" * (512 << 10) + "\n[Container]\nMemory=3g\n[Service]\nMemoryHigh=2G\n")
    t.run()
    assert t.value("c1999.container", "Memory") == "3g" and t.value("c1999.service", "MemoryHigh") == "2G"
    assert len(t.findings) == 1 + 3 * 2000 and t.peak < 150, (len(t.findings), t.peak)


# --- what is no file ---

@tree
def no_files(t):
    """FIFOs, sockets, devices, directories and dangling links where files belong; none is opened"""
    os.mkfifo(t.etc / "fifo.service")
    os.mkfifo(t.etc / "fifo.service.d")
    t.write("sane.service.d/a", "")
    os.mkfifo(t.etc / "sane.service.d/00-fifo.conf")
    os.mkfifo(t.etc / "multi-user.target.wants/fifo.service")
    os.mkfifo(t.top / "pipe")
    t.link("piped.service", "/pipe")
    t.link("sane.service.d/10-piped.conf", "/pipe")
    (t.etc / "directory.service").mkdir()
    t.link("directory-link.service", "/usr")
    (t.etc / "sane.service.d/20-directory.conf").mkdir()
    t.link("dangling.service", "/nowhere/x.service")
    t.link("sane.service.d/30-dangling.conf", "nowhere")
    t.link("dangling.service.d", "/nowhere")
    t.link("multi-user.target.wants/dangling.service", "/nowhere/x.service")
    with socket.socket(socket.AF_UNIX) as listener:
        old = os.getcwd()
        os.chdir(t.etc)  # the name of a socket is short
        listener.bind("socket.service")
        os.chdir(old)
    if os.getuid() == 0:
        # a serial line hangs up or blocks when it is opened; the number is one that nobody has
        os.mknod(t.etc / "device.service", stat.S_IFCHR | 0o600, os.makedev(4, 255))
        os.mknod(t.etc / "sane.service.d/40-device.conf", stat.S_IFBLK | 0o600, os.makedev(7, 255))
    t.run()
    assert len(t.findings) == 1, t.findings


@tree
def names(t):
    """control characters, escapes, bytes that are not UTF-8, backslashes, the longest names"""
    t.write("tab\there.service", LIMIT.format("1M"))
    t.write("new\nline.service", LIMIT.format("1M"))
    t.write("\x1b]0;owned\x07.service", LIMIT.format("1M"))
    t.write("sane.service.d/\x1b[31m.conf", "[Service]\nMemoryHigh=5M\nMemoryLow=1e3\n")
    os.rename(os.fsencode(t.etc / "sane.service.d/\x1b[31m.conf"), os.fsencode(t.etc) + b"/sane.service.d/60-\x1b[31m\xff.conf")
    t.write(r"dev-disk\x2dby.service", LIMIT.format("2M"))
    t.write("a" * 247 + ".service", LIMIT.format("3M"))
    t.write("b" * 240 + "@.service", LIMIT.format("3M"))
    t.link("multi-user.target.wants/" + "b" * 240 + "@123456.service", "/etc/systemd/system/" + "b" * 240 + "@.service")
    t.run()
    assert "\x1b" not in t.said and "\x07" not in t.said, t.said
    assert t.value(r"dev-disk\x2dby.service") == "2M" and t.value("a" * 247 + ".service") == "3M"
    assert t.value("b" * 240 + "@123456.service") == "3M"
    assert t.value("sane.service", "MemoryHigh") == "5M"
    assert len({f["unit"] for f in t.findings}) == 4, {f["unit"] for f in t.findings}
    t.findings = [f for f in t.findings if f["setting"] == "MemoryMax"]


@tree
def unreadable(t):
    """files and directories that an ordinary user may not read: what they say is unknown, not left out"""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        print("    SKIP unreadable: needs root and setpriv")
        t.whole = False
        return
    user = (shutil.which("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups")
    os.chmod(t.top, 0o755)
    t.write("open.service", LIMIT.format("1M"), t.usr)
    t.write("half.service", LIMIT.format("1M"), t.usr)
    t.write("half.service.d/secret.conf", "[Service]\nMemoryMax=2M\n")
    os.chmod(t.etc / "half.service.d/secret.conf", 0o600)
    t.run(*user)
    half, = t.of("half.service")
    assert half["state"] == "unknown" and "run this as root" in half["why"], half
    assert t.warnings("cannot be read: what it says"), t.result["warnings"]
    assert "root" not in t.of("open.service")[0]["why"]
    os.chmod(t.etc, 0o700)
    t.run(*user)
    assert all("run this as root" in f["why"] for f in t.findings) and len(t.findings) == 2, t.findings
    assert t.warnings("cannot be read: what it says") and t.result["warnings"][0]["path"] == "/etc/systemd/system"
    os.chmod(t.etc, 0o755)
    t.run()
    assert t.value("half.service") == "2M"
    t.findings = t.of("sane.service")


failed = 0
for key, function in trees.items():
    if args.names and key not in args.names:
        continue
    print(f"{key}: {function.__doc__}", flush=True)
    try:
        if function.__code__.co_argcount == 0:
            function()
            continue
        with tempfile.TemporaryDirectory(prefix="memcg-hostile-", dir=PLACE) as directory:
            built = Tree(directory)
            function(built)
            built.check_sane()
    except (AssertionError, subprocess.SubprocessError, ValueError) as error:
        print(f"    FAIL {str(error)[:3000]}", flush=True)
        failed += 1
sys.exit(1 if failed else 0)
