#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Made-up command lines in the files of every loader, judged by readers of this test's own: off, on
and unset change what is asked of memcg and nothing else.

random-lines.py [COUNT]. COUNT lines for each kind of file, put together at random out of what the
kernel and the files allow: quotes, lists, '-' for '_', several lines, comments, CR LF, tabs, no last
line end. The same lines each time, others with MEMCG_POLICY_SEED=.
"""

import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import loaders
from loaders import Failure, check, make, run, run_ok, snapshot
from roots import ARGS, MID, ROOTS, pi, redhat

OFF, ON = "cgroup_disable=memory", "cgroup_enable=memory"
KERNEL = "6.17.4-300.fc43.x86_64"
ENTRY = f"/boot/loader/entries/{MID}-{KERNEL}.conf"
OURS = [
    OFF, ON, "cgroup-disable=memory", "cgroup-enable=memory", "cgroup_disable=pressure,memory",
    "cgroup_disable=memory,pids", "cgroup_disable=memory,memory", "cgroup_disable=,memory,",
    'cgroup_disable="memory"', '"cgroup_disable=memory"', 'cgroup_disable="memory,pids"',
    '"cgroup_enable=memory,cpuset"', "cgroup_enable=cpuset,memory", 'cgroup_enable="memory"',
    'cgroup_disable="pids memory,memory"',
]
OTHERS = [
    "quiet", "ro", "splash", "root=UUID=x", "root=/dev/sda1", "console=ttyS0,115200n8",
    "console=tty1", "cgroup_enable=cpuset", "cgroup_memory=1", "swapaccount=1",
    "cgroup_no_v1=memory", "cgroup.memory=nokmem", "cgroup_disable=memoryx", "cgroup_disable=",
    "cgroup_disable=Memory", "xcgroup_disable=memory", "cgroup_disable", "=cgroup_disable=memory",
    "cgroup_disable==memory", 'dyndbg="file a cgroup_disable=memory +p"', 'init="/bin/a b"',
    '"cgroup_enable=memory quiet"', "a=b=c", "x#y", "---", "-", "rd.memory=cgroup_disable=memory",
    "cgroup_disable=pids", 'x=""', "module.cgroup_disable=memory", "psi=1", "h\u00e9=1",
    'q="', '"',
]


# --- a second reader of the kernel's line: next_arg() and what is done with the words ---

def is_blank(c):
    return c in " \t\n\v\f\r\u00a0"


def kernel_words(line):
    """(name, value or None, as it is written), those for init too; and whether a quote is open."""
    words, i, open_quote = [], 0, False
    while i < len(line):
        if is_blank(line[i]):
            i += 1
            continue
        start, quoted, equals = i, line[i] == '"', 0
        i += quoted
        first, inside = i, quoted
        while i < len(line) and (inside or not is_blank(line[i])):
            if line[i] == "=" and not equals and i > first:
                equals = i
            if line[i] == '"':
                inside = not inside
            i += 1
        name, value, end = line[first:i], None, i
        if equals:
            name, value = line[first:equals], line[equals + 1:i]
            if value.startswith('"'):
                value = value[1:]
                value = value.removesuffix('"')
            elif quoted:
                value = value.removesuffix('"')
        elif quoted:
            name = name.removesuffix('"')
        words.append((name, value, line[start:end]))
        open_quote = inside
    return words, open_quote


def is_list(name):
    return name.replace("-", "_") in ("cgroup_enable", "cgroup_disable")


def meaning(line):
    """What memcg is asked, and all the rest in its order."""
    words, open_quote = kernel_words(line)
    asked, rest, for_init = [], [], False
    for name, value, text in words:
        for_init = for_init or (name == "--" and value is None)
        members = (value or "").split(",")
        if for_init or not is_list(name) or "memory" not in members:
            rest.append(text)
            continue
        asked.append(name.replace("-", "_"))
        others = [m for m in members if m not in ("memory", "")]
        if others:
            rest.append((name, others))
    return asked, rest, open_quote


def normal(rest):
    """Lists as lists, with or without memory in them."""
    made = []
    for item in rest:
        if isinstance(item, str):
            (name, value, _), = kernel_words(item)[0]
            others = [m for m in (value or "").split(",") if m]
            if is_list(name) and others and name != item:
                item = (name, others)
        made.append(item)
    return made


# --- the files ---

class Kind:
    """A file: write(lines, rng) makes its text, read(text) gives its command lines."""

    several = False
    refused = ()  # with these words

    def __init__(self, name, path, files):
        self.name, self.path, self.files = name, path, files

    def text(self, files):
        """What the reader reads, of a root's files."""
        return files[self.path].decode("latin-1")

    def takes(self, line):
        """Whether the file can hold it."""
        return bool(line.strip())

    def pieces(self, text):
        """Parts of which each must have its quotes closed."""
        return self.read(text)


class FirstLine(Kind):
    """cmdline.txt"""

    def write(self, lines, end, rng):
        return lines[0] + rng.choice(["", end])

    def read(self, text):
        return [text.split("\n")[0].removesuffix("\r")]


class AllLines(Kind):
    """/etc/kernel/cmdline: what is on the lines that are no comments, together."""

    several = True

    def write(self, lines, end, rng):
        if rng.random() < 0.3:
            lines = [f"# {OFF}"] + lines
        if rng.random() < 0.2:
            lines = lines + [f"\t# {ON}"]
        return end.join(lines) + rng.choice(["", end])

    def read(self, text):
        return [" ".join(self.pieces(text))]

    def pieces(self, text):
        lines = [x.removesuffix("\r") for x in text.split("\n")]
        return [x for x in lines if not x.lstrip(" \t").startswith("#")]


class Entry(Kind):
    """An entry of the Boot Loader Specification."""

    several = True
    refused = ("begin and end with a quote",)

    def write(self, lines, end, rng):
        text = [f"title X{end}version {KERNEL}{end}linux /vmlinuz-{KERNEL}{end}"]
        text += [f"options{rng.choice([' ', '   ', chr(9)])}{line}{end}" for line in lines]
        if rng.random() < 0.3:
            text.insert(1, f"# options {OFF}{end}")
        if rng.random() < 0.5:
            text.append(f"grub_class fedora{end}")
        text = "".join(text)
        return text.removesuffix(end) if rng.random() < 0.2 else text

    def read(self, text):
        return [" ".join(self.values(text))]

    def pieces(self, text):
        return self.values(text)

    def values(self, text):
        found = re.findall(r"^[ \t]*options[ \t]+(.*)$", text.replace("\r", ""), re.M)
        return [self.unquoted(x.strip(" \t")) for x in found]

    @staticmethod
    def unquoted(value):
        """systemd-boot takes quotes around a whole value off."""
        whole = len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"
        return value[1:-1] if whole else value


class GrubEntry(Entry):
    """The same for GRUB, which takes the first line of a key."""

    refused = ("without a value",)

    def read(self, text):
        return self.values(text)[:1]

    @staticmethod
    def unquoted(value):
        return value


class Value(Kind):
    """NAME=the line, in a file that is no shell script: the last one counts."""

    def write(self, lines, end, rng):
        text = f"verbosity=1{end}"
        if rng.random() < 0.2:
            text += f"extraargs={OFF}{end}"
        return text + f"extraargs={lines[0]}{end}docker_optimizations=off{rng.choice(['', end])}"

    def read(self, text):
        return re.findall(r"^extraargs=(.*)$", text.replace("\r", ""), re.M)[-1:]


class Append(Kind):
    """extlinux.conf"""

    def write(self, lines, end, rng):
        text = ["TIMEOUT 30"]
        for n, line in enumerate(lines):
            text += [f"LABEL l{n}", "\tLINUX /boot/Image",
                     f"{rng.choice([' ', chr(9)])}{rng.choice(['APPEND', 'append'])} {line}"]
        return end.join(text) + rng.choice(["", end])

    several = True

    def takes(self, line):
        # alone it is no word
        return bool(line.strip()) and "-" not in line.split()

    def read(self, text):
        return re.findall(r"^[ \t]*append[ \t]+(.*)$", text.replace("\r", ""), re.M | re.I)


class Shell(Kind):
    """A variable of a file that sh reads."""

    def __init__(self, name, path, files, variable):
        super().__init__(name, path, files)
        self.variable = variable

    def takes(self, line):
        return True

    def write(self, lines, end, rng):
        line = lines[0]
        if rng.random() < 0.5 and "'" not in line:
            value = f"'{line}'"
        else:
            value = '"' + re.sub(r'(["\\$`])', r"\\\1", line) + '"'
        # CR LF is no line end to sh
        return f"# a comment\n{self.variable}={value}{rng.choice(['', chr(10)])}"

    def read(self, text):
        with tempfile.NamedTemporaryFile("w", encoding="latin-1", newline="") as file:
            file.write(text)
            file.flush()
            done = subprocess.run(["sh", "-ec", f'. {file.name}; printf %s "${self.variable}"'],
                                  capture_output=True, check=False)
        check(done.returncode == 0, f"sh does not read it: {done.stderr}")
        return [done.stdout.decode("latin-1")]


class Fragment(Shell):
    """The same with a file of ours that is read after it."""

    def text(self, files):
        ours = files.get("/etc/u-boot-menu/conf.d/zz-memcg-policy.conf", b"")
        # what u-boot-update does without a value
        return super().text(files) + (f"\n: \"${{{self.variable}:=ro quiet}}\"\n") + ours.decode()


class Environment(Kind):
    """kernelopts in GRUB's environment block, as on RHEL 8."""

    def write(self, lines, end, rng):
        value = re.sub(r"([\\\n])", r"\\\1", lines[0])
        return f"# GRUB Environment Block\nsaved_entry=x\nkernelopts={value}\n".ljust(1024, "#")

    def read(self, text):
        check(len(text.encode("latin-1")) == 1024, "the environment block has another size")
        found = re.search(r"^kernelopts=((?:\\.|[^\\\n])*)$", text, re.M)
        return [re.sub(r"\\(.)", r"\1", found[1])]


def kinds():
    fedora = redhat([KERNEL], ARGS, "rhgb quiet", None)
    rhel = redhat([KERNEL], "$kernelopts", "", None)
    debian = ROOTS["debian-systemd-boot"][1]
    return [
        FirstLine("cmdline.txt", "/boot/firmware/cmdline.txt", pi("/boot/firmware", "")),
        FirstLine("raspi-extra-cmdline", "/etc/default/raspi-extra-cmdline",
                  ROOTS["debian-raspi-firmware"][1]),
        AllLines("/etc/kernel/cmdline", "/etc/kernel/cmdline", debian),
        Entry("systemd-boot", "/boot/loader/entries/arch.conf", {
              "/boot/EFI/systemd/systemd-bootx64.efi": "",
              f"/boot/vmlinuz-{KERNEL}": ""}),
        GrubEntry("GRUB's entries", ENTRY, fedora),
        Environment("grubenv", "/boot/grub2/grubenv", rhel),
        Value("armbianEnv.txt", "/boot/armbianEnv.txt", {}),
        Append("extlinux.conf", "/boot/extlinux/extlinux.conf", ROOTS["jetson"][1]),
        Shell("update-extlinux", "/etc/update-extlinux.conf", ROOTS["alpine-extlinux"][1],
              "default_kernel_opts"),
        Shell("flash-kernel", "/etc/default/flash-kernel", ROOTS["flash-kernel"][1],
              "LINUX_KERNEL_CMDLINE"),
        Fragment("u-boot-menu", "/etc/default/u-boot", ROOTS["u-boot-menu"][1], "U_BOOT_PARAMETERS"),
    ]


def line(rng):
    words = rng.choices(OTHERS, k=rng.choice([0, 1, 2, 3, 5, 8]))
    if rng.random() < 0.8:
        words = [w for w in words if w not in ('q="', '"')]
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        words.insert(rng.randint(0, len(words)), rng.choice(OURS))
    if rng.random() < 0.08:
        words.insert(rng.randint(0, len(words)), "--")
    text = ""
    for word in words:
        text += rng.choice([" ", " ", " ", "  ", "\t"]) * bool(text) + word
    if rng.random() < 0.15:
        text = text + rng.choice([" ", "\t", "  "])
    return text


# --- judging ---

def judge(kind, first, before, after, want):
    old, new = kind.read(before), kind.read(after)
    # a file of ours that goes again leaves what was there first
    most = max([1] + [meaning(x)[0].count("cgroup_disable") for x in kind.read(first)])
    check(len(old) == len(new), f"{len(old)} lines became {len(new)}")
    for a, b in zip(old, new):
        was, is_now = meaning(a), meaning(b)
        check(normal(was[1]) == normal(is_now[1]), f"other words changed:\n  {a!r}\n  {b!r}")
        unwanted = "cgroup_disable" if want == "on" else "cgroup_enable"
        check(unwanted not in is_now[0], f"{want}, and {unwanted} stayed:\n  {a!r}\n  {b!r}")
        check(want == "on" or "cgroup_disable" in is_now[0], f"not off:\n  {a!r}\n  {b!r}")
        check(is_now[0].count("cgroup_disable") <= max(most, was[0].count("cgroup_disable")),
              f"the word came twice:\n  {a!r}\n  {b!r}")
        if not was[0] and a != b and not isinstance(kind, Fragment):
            word = OFF if want == "off" else ON
            check(b.strip() == word and not a.strip() or any(b == a[:i] + extra + a[i:] for i in range(len(a) + 1)
                      for extra in (f" {word}", f"{word} ", word)),
                  f"more than one word came:\n  {a!r}\n  {b!r}")


def try_line(kind, text, seen):
    with tempfile.TemporaryDirectory(prefix="memcg-lines-") as name:
        root = pathlib.Path(name)
        make(root, {**kind.files, kind.path: text.encode("latin-1")})
        before = snapshot(root)
        open_quote = any(meaning(x)[2] for x in kind.pieces(text))
        for want in ("off", "on", "off"):
            was = snapshot(root)
            done = run(root, "set", want)
            check(done.returncode >= 0 and "Sanitizer" not in done.stderr, done.stderr)
            if done.returncode:
                seen[f"exit status {done.returncode}"] += 1
                loaders.compare(was, snapshot(root), f"set {want} was refused")
                check(open_quote or any(x in done.stderr for x in kind.refused),
                      f"set {want}: exit status {done.returncode}: {done.stderr}")
                continue
            now = snapshot(root)
            judge(kind, text, kind.text(was), kind.text(now), want)
            run_ok(root, "apply")
            loaders.compare(now, snapshot(root), f"set {want}, apply")
            seen["changed"] += was != now
        run_ok(root, "unset")
        loaders.compare(before, snapshot(root), "unset")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    seed = os.environ.get("MEMCG_POLICY_SEED") or "1"
    print(f"MEMCG_POLICY_SEED={seed}")
    failed = 0
    for kind in kinds():
        seen = collections.Counter()
        for number in range(count):
            rng = random.Random(f"{seed}/{kind.name}/{number}")
            end = "\n" if isinstance(kind, (Shell, Environment)) else rng.choice(["\n", "\n", "\r\n"])
            n = rng.choice([1, 1, 2, 3]) if kind.several else 1
            lines = [x for x in (line(rng) for _ in range(50)) if kind.takes(x)][:n]
            text = kind.write(lines, end, rng)
            try:
                try_line(kind, text, seen)
            except Failure as error:
                failed += 1
                print(f"FAIL {kind.name}, line {number}: {error}\n  {text!r}")
        print(f"-- {kind.name}: " + ", ".join(f"{n} {what}" for what, n in sorted(seen.items())))
        failed += not seen["changed"]
    return 1 if failed else 0


sys.exit(main())
