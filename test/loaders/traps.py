#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The traps that boot loaders' files set, one by one: what must come out. Those that another test
springs are named with it, so that the list is whole.

usage: traps.py [NUMBER...]      MEMCG_POLICY names the program
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import loaders
from loaders import Failure, check, make, run, run_ok, snapshot
from roots import ARGS, MID, MKCONFIG, PI, RECOGNISED, ROOTS, bls, pi, redhat, uki_of_profiles

OFF = "cgroup_disable=memory"
KERNEL = "6.17.4-300.fc43.x86_64"


def with_files(files, body):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        make(root, files)
        body(root, snapshot(root))


def set_changes(files, want, wanted, code=0, said=None):
    """"set want" on these files: the path -> text that it changes, and nothing else."""
    def body(root, before):
        result = run(root, "set", want)
        check(result.returncode == code, f"exit status {result.returncode}: {result.stderr}")
        if said:
            check(said in result.stdout + result.stderr, f"does not say {said!r}: {result.stderr}")
        after = snapshot(root)
        changed = {p: after[p].decode("latin-1") if p in after else None
                   for p in set(before) | set(after) if before.get(p) != after.get(p)}
        wanted_here = {p: t(before[p].decode("latin-1")) if callable(t) else t
                       for p, t in wanted.items()}
        check(changed == wanted_here, f"changed {changed}")
        if code == 0:
            run_ok(root, "apply")
            run_ok(root, "unset")
            loaders.compare(before, snapshot(root), "unset")
    with_files(files, body)


def entry(options, name="arch", extra="", linux="/vmlinuz-linux", end="\n"):
    """A root of systemd-boot with one entry; and the path of that."""
    path = f"/boot/loader/entries/{name}.conf"
    return path, {
        "/boot/EFI/systemd/systemd-bootx64.efi": "", "/boot/vmlinuz-linux": "",
        path: f"title Arch{end}linux {linux}{end}{extra}{options}",
    }


def fedora(options=ARGS, cmdline=ARGS + "\n", defaults="rhgb quiet", env=None):
    path = f"/boot/loader/entries/{MID}-{KERNEL}.conf"
    return path, redhat([KERNEL], options, defaults, cmdline, env)


def append(text):
    """What "off" makes of a file whose last line is the command line."""
    body = text.rstrip("\n")
    return f"{body} {OFF}{text[len(body):]}"


def plus(word, old=None):
    """Puts it behind the command line, or in place of a word."""
    return lambda text: text.replace(old, word) if old else text.replace(ARGS, f"{ARGS} {word}")


# --- GRUB's defaults ---

def no_dropin():
    """1: grub.d is not written where nothing reads it."""
    for name in ("arch-grub", "alpine-grub"):
        def body(root, before):
            run_ok(root, "set", "off")
            check(not (root / "etc/default/grub.d").exists(), f"{name}: wrote grub.d")
        with_files(ROOTS[name][1], body)


def xen_line():
    """4: the hypervisor's own line is no kernel's."""
    path, files = fedora()
    files["/etc/default/grub"] += f'GRUB_CMDLINE_XEN="{OFF}"\nGRUB_CMDLINE_XEN_DEFAULT="{OFF}"\n'
    set_changes(files, "on", {})


def both_words():
    """10, 11, 12: other members of a list and other words of the name stay; both words are told."""
    line = f"{ARGS} cgroup_enable=cpuset cgroup_disable=pressure,memory cgroup_enable=memory,cpu"
    path, files = entry("options " + line + "\n")
    set_changes(files, "off", {path: lambda t: t.replace("=memory,cpu", "=cpu")})
    set_changes(files, "on", {path: lambda t: t.replace("pressure,memory", "pressure")})


def quoted_and_init():
    """13, 14: a quoted blank parts no words, and what is for init stays last."""
    path, files = entry('options root=x dyndbg="file cgroup_disable=memory +p" ro -- single\n')
    set_changes(files, "off", {path: lambda t: t.replace("ro --", f"ro {OFF} --")})
    path, files = entry('options root=x "a b\n')
    set_changes(files, "off", {}, 1, "quote")


def variables():
    """15: tuned's and RHEL's variables stay as they are written."""
    path, files = fedora(ARGS + " $tuned_params")
    set_changes(files, "off", {path: lambda t: t.replace("$tuned_params", f"$tuned_params {OFF}"),
                               "/etc/kernel/cmdline": plus(OFF),
                               "/etc/default/grub": plus(f"rhgb quiet {OFF}", "rhgb quiet")})


def order_of_times():
    """16: the file that was the newer one is the newer one afterwards."""
    def body(root, before):
        run_ok(root, "set", "off")
        loaders.mtime_rule(root)
        run_ok(root, "set", "on")
        loaders.mtime_rule(root)
        run_ok(root, "unset")
        loaders.mtime_rule(root)
    with_files(fedora()[1], body)


def no_generator():
    """17, 18, 47: no grub2-mkconfig is run where GRUB reads the entries itself."""
    path, files = fedora()
    files["/usr/sbin/grub2-mkconfig"] = MKCONFIG + "touch /ran; exit 1\n"

    def body(root, before):
        said = run_ok(root, "set", "off").stdout
        check("grub2-mkconfig" not in said and not (root / "ran").exists(), said)
    with_files(files, body)


def no_root_word():
    """19, 20: /etc/kernel/cmdline is not made without knowing the line, least of all the host's."""
    path, files = fedora(cmdline=None)

    def body(root, before):
        run_ok(root, "set", "off")
        check(not (root / "etc/kernel/cmdline").exists(), "made /etc/kernel/cmdline")
    with_files(files, body)


def comments():
    """21: a comment in /etc/kernel/cmdline gets no word, and is no line either."""
    path, files = entry(f"options {ARGS}\n")
    files["/etc/kernel/cmdline"] = f"# our line\n{ARGS}\n# {OFF}\n"
    set_changes(files, "off", {path: plus(OFF), "/etc/kernel/cmdline": plus(OFF)})
    # nothing else in it, and no line end: not behind the comment, and not nowhere
    files["/etc/kernel/cmdline"] = f"# {OFF}"
    set_changes(files, "off", {path: plus(OFF), "/etc/kernel/cmdline": f"# {OFF}\n{OFF}\n"})


def quotes():
    """systemd-boot takes quotes around a whole value off: none are left there by chance."""
    path, files = entry(f'options {OFF} "root=x y"\n')
    set_changes(files, "on", {}, 5, "would begin and end with a quote")
    path, files = entry(f'options {OFF} "root=x y" ro\n')
    set_changes(files, "on", {path: lambda t: t.replace(OFF + " ", "")})


def others_entries():
    """22: rescue, boom's, another installation's: left alone."""
    path, files = fedora()
    other = "f" * 32
    for name, text in {
        f"{MID}-9b7ad2e-{KERNEL}": bls(KERNEL, ARGS, extra="#OsIdentifier: 9b7ad2e\n"),
        f"{other}-6.1.0": bls("6.1.0", ARGS), "arch-rescue": bls(KERNEL, ARGS),
    }.items():
        files[f"/boot/loader/entries/{name}.conf"] = text
    set_changes(files, "off", {path: plus(OFF), "/etc/kernel/cmdline": plus(OFF),
                               "/etc/default/grub": plus(f"rhgb quiet {OFF}", "rhgb quiet")})


def counted():
    """23: boots are counted in the file's name; renamed meanwhile, unset finds nothing of it."""
    path, files = entry(f"options {ARGS}\n", "arch+3")
    set_changes(files, "off", {path: plus(OFF)})

    def body(root, before):
        run_ok(root, "set", "off")
        (root / path[1:]).rename(root / path[1:].replace("+3", "+2-1"))
        found = json.loads(run_ok(root, "entries", "--json").stdout)["entries"]
        check([(e["id"], e["request"]) for e in found] == [("arch", "off")], f"{found}")
        run_ok(root, "unset")
    with_files(files, body)


def odd_texts():
    """24: several options lines, CR LF, tabs, no last line end, quotes, blanks behind."""
    for options, wanted in (
        (f"options root=x\noptions {ARGS}\n", f"options root=x {OFF}\noptions {ARGS}\n"),
        ("options root=x ro\r\n", f"options root=x ro {OFF}\r\n"),
        ("options\troot=x\tro\t\n", f"options\troot=x\tro {OFF}\t\n"),
        ("options root=x ro", f"options root=x ro {OFF}"),
        ("  options   root=x ro  \n", f"  options   root=x ro {OFF}  \n"),
        ('options "root=x ro"\n', f'options "root=x ro {OFF}"\n'),
        (f"options root=x {OFF}\noptions quiet\n", None),
        ("# options root=y\noptions root=x\n", f"# options root=y\noptions root=x {OFF}\n"),
        # no such line: systemd-boot boots it all the same
        ("", f"options {OFF}\n"),
    ):
        path, files = entry(options)
        head = files[path][:len(files[path]) - len(options)] if options else files[path]
        try:
            set_changes(files, "off", {} if wanted is None else {path: head + wanted})
        except Failure as error:
            raise Failure(f"{options!r}: {error}") from error


def dracut():
    """26: kernel_cmdline= of dracut is for the initrd, or breaks an image: never touched."""
    path, files = fedora()
    files["/etc/dracut.conf.d/a.conf"] = f'kernel_cmdline+=" {OFF} "\n'
    set_changes(files, "on", {})


# --- boards ---

def pi_files():
    """27: cmdline.txt as people have it."""
    where = "/boot/firmware/cmdline.txt"
    for line, wanted, code in (
        (PI, f"{PI} {OFF}", 0),
        (PI + "\n\n\n", f"{PI} {OFF}\n\n\n", 0),
        (PI + "\r\n", f"{PI} {OFF}\r\n", 0),
        ("\n" + PI + "\n", None, 7),  # the firmware reads an empty line
        (PI + "\n# cgroup_enable=memory\n", None, 7),
        ("# " + PI + "\n", f"# {PI} {OFF}\n", 0),  # no comments there: words
        (PI + "\0\n", None, 1),
        ("\ufeff" + PI + "\n", f"\ufeff{PI} {OFF}\n", 0),
        (PI + " systemd.run=/boot/firstrun.sh\n", None, 7),
        ("", OFF, 0),
    ):
        files = pi("/boot/firmware", line)
        if wanted is not None:
            wanted = wanted.encode().decode("latin-1")

        def body(root, before):
            result = run(root, "set", "off")
            got = (root / where[1:]).read_bytes().decode("latin-1")
            check(result.returncode == code, f"{line!r}: exit status {result.returncode}: "
                                             f"{result.stderr}")
            check(got == (wanted if wanted is not None else line), f"{line!r}: became {got!r}")
            run_ok(root, "unset")
            loaders.compare(before, {p: d for p, d in snapshot(root).items()}, f"{line!r}: unset")
        with_files(files, body)


def pi_places():
    """27: cmdline=, os_prefix=, includes, filters that hold for every board or for none."""
    for config, name in (
        ("cmdline=other.txt\n", "other.txt"), ("[all]\ncmdline=a.txt\ncmdline=b.txt\n", "b.txt"),
        ("[none]\ncmdline=a.txt\n[all]\n", "cmdline.txt"), ("include more.txt\n", "inc.txt"),
        ("#cmdline=a.txt\n", "cmdline.txt"), ("cmdline=other.txt\r\n", "other.txt"),
        ("[tryboot]\ncmdline=try.txt\n", "cmdline.txt"), ("CMDLINE=up.txt\n", "cmdline.txt"),
    ):
        files = {**pi("/boot/firmware", PI + "\n", config),
                 "/boot/firmware/more.txt": "cmdline=inc.txt\n"}
        for other in ("other", "a", "b", "inc", "try", "up"):
            files[f"/boot/firmware/{other}.txt"] = PI + "\n"

        def body(root, before):
            run_ok(root, "set", "off")
            after = snapshot(root)
            changed = [p for p in before if before[p] != after.get(p)]
            check(changed == [f"/boot/firmware/{name}"], f"{config!r}: changed {changed}")
        with_files(files, body)


def armbian():
    """28: docker_optimizations puts its word behind ours."""
    env = "/boot/armbianEnv.txt"
    for text, want, wanted in (
        ("extraargs=a\n", "off", f"extraargs=a {OFF}\ndocker_optimizations=off\n"),
        ("extraargs=a\ndocker_optimizations=off\n", "off",
         f"extraargs=a {OFF}\ndocker_optimizations=off\n"),
        (f"extraargs=a {OFF}\ndocker_optimizations=off\n", "on",
         "extraargs=a\ndocker_optimizations=off\n"),
        # not shell: a quote is a byte of the value, and toggles for the kernel
        ('extraargs="a b"\ndocker_optimizations=off\n', "off",
         f'extraargs="a b" {OFF}\ndocker_optimizations=off\n'),
        ("extraargs=a\nextraargs=b\ndocker_optimizations=off\n", "off",
         f"extraargs=a\nextraargs=b {OFF}\ndocker_optimizations=off\n"),
    ):
        try:
            set_changes({env: text}, want, {env: wanted})
        except Failure as error:
            raise Failure(f"{text!r}: {error}") from error


def extlinux():
    """Hand-written extlinux.conf: case, tabs, several APPEND, INCLUDE, "append -"."""
    where = "/boot/extlinux/extlinux.conf"
    for text, wanted, code in (
        ("LABEL a\n\tKERNEL /k\n\tAPPEND root=x\n", f"LABEL a\n\tKERNEL /k\n\tAPPEND root=x {OFF}\n", 0),
        ("label a\n linux /k\n append root=x\nlabel b\n linux /k\n append root=x quiet",
         f"label a\n linux /k\n append root=x {OFF}\nlabel b\n linux /k\n append root=x quiet {OFF}", 0),
        ("label a\r\n linux /k\r\n append root=x\r\n",
         f"label a\r\n linux /k\r\n append root=x {OFF}\r\n", 0),
        ("label a\n linux /k\n append -\n", None, None),
        ("include other.conf\nlabel a\n linux /k\n append root=x\n", None, None),
    ):
        def body(root, before):
            result = run(root, "set", "off")
            got = (root / where[1:]).read_bytes().decode()
            if code is None:
                check(result.returncode in (0, 5, 7) and (result.returncode or got == text),
                      f"{text!r}: {result.returncode} {result.stderr}")
                check(got == text, f"{text!r}: became {got!r}")
            else:
                check(result.returncode == code and got == wanted,
                      f"{text!r}: {result.returncode} {got!r} {result.stderr}")
        with_files({where: text, "/boot/k": "", "/k": ""}, body)

    def bare(root, before):
        said = run_ok(root, "set", "off")
        check('"a" has no arguments that could be edited' in said.stderr
              and "what boots by default is that one" in said.stdout, f"{said}")
    with_files({where: "label a\n linux /k\nlabel b\n linux /k\n append root=x\n", "/k": ""}, bare)


# --- GRUB's other files ---

def stub():
    """31: the stub on the ESP is no menu of its own, and stays."""
    path, files = fedora()
    files["/boot/efi/EFI/fedora/grub.cfg"] = ("search --no-floppy --root-dev-only --fs-uuid "
                                              "--set=dev 1\nset prefix=($dev)/grub2\n"
                                              "configfile $prefix/grub.cfg\n")
    set_changes(files, "off", {path: plus(OFF), "/etc/kernel/cmdline": plus(OFF),
                               "/etc/default/grub": plus(f"rhgb quiet {OFF}", "rhgb quiet")})


def full_environment():
    """34: no room in grubenv is said, and nothing is cut."""
    path, files = fedora("$kernelopts", None, env=f"kernelopts={ARGS} {'a' * 910}\n")
    set_changes(files, "off", {}, 5, "no room")


def odd_environment():
    """grubenv of another size is no environment block: nothing is written into it."""
    path, files = fedora("$kernelopts", None, env=f"kernelopts={ARGS}\n")
    files["/boot/grub2/grubenv"] = files["/boot/grub2/grubenv"][:600]
    set_changes(files, "off", {}, 5, "is not there")


# --- systems ---

def no_loader():
    """36: a target without a loader yet keeps the policy; what is looked for is said."""
    set_changes({"/etc/machine-id": MID + "\n"}, "off", {}, 0, "only the policy is stored")


def read_only():
    """35: a part of the root that is read-only is named, and nothing is written."""
    if os.geteuid() != 0:
        print("SKIP read_only: not root")
        return
    script = ('mount --bind "$0/boot" "$0/boot" && mount -o remount,ro,bind "$0/boot" && exec "$@"')

    def body(root, before):
        result = run(root, "set", "off", prefix=("unshare", "--mount", "sh", "-c", script, str(root)))
        check(result.returncode == 7 and "/boot: error: is read-only" in result.stderr,
              f"exit status {result.returncode}: {result.stderr}")
        loaders.compare(before, snapshot(root), "read-only")
    with_files(ROOTS["arch-systemd-boot"][1], body)


def not_permitted():
    """35: what the kernel does not permit (an immutable file) is no refusal that --force helps with."""
    if not shutil.which("strace"):
        print("SKIP not_permitted: strace is not installed")
        return

    def body(root, before):
        for call in ("renameat", "mkdirat", "fsync"):
            result = run(root, "set", "off", prefix=(
                "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                "-e", f"inject={call}:error=EPERM:when=1"))
            check(result.returncode == 1 and "--force" not in result.stderr,
                  f"{call}: exit status {result.returncode}: {result.stderr}")
            loaders.compare(before, snapshot(root), f"{call}: not permitted")
    with_files(ROOTS["arch-systemd-boot"][1], body)


def none_of_ours():
    """22: entries of another installation alone: not done, and said."""
    other = "f" * 32
    set_changes({
        "/boot/EFI/systemd/systemd-bootx64.efi": "", "/etc/machine-id": MID + "\n",
        f"/boot/loader/entries/{other}-6.1.0.conf": bls("6.1.0", ARGS),
    }, "off", {}, 5, "none of the entries is this system's")


def unmounted():
    """35: a /boot that is in fstab and not there."""
    files = {"/etc/fstab": "UUID=1 / ext4 defaults 0 1\nUUID=2\t/boot/efi vfat umask=0077 0 2\n"}
    set_changes(files, "off", {}, 5, "mount /boot/efi")


def crash_kernel():
    """39: the crash kernel's own word is no request of this system."""
    path, files = fedora()
    files["/etc/sysconfig/kdump"] = f'KDUMP_COMMANDLINE_APPEND="irqpoll {OFF}"\n'
    set_changes(files, "on", {})


def installing():
    """42: no entries yet, no machine id: the defaults are written, and nothing else is."""
    path, files = fedora()
    for name in [p for p in files if p.startswith("/boot/loader")] + ["/etc/machine-id"]:
        del files[name]

    def body(root, before):
        run_ok(root, "set", "off")
        check(OFF in (root / "etc/default/grub").read_text(), "the defaults are not changed")
    with_files(files, body)


def links():
    """44: an absolute link leads nowhere out of the root."""
    path, files = fedora()

    def body(root, before):
        with tempfile.TemporaryDirectory() as outside:
            victim = pathlib.Path(outside, "cmdline")
            victim.write_text("root=host\n")
            (root / "etc/kernel/cmdline").unlink()
            (root / "etc/kernel/cmdline").symlink_to(victim)
            run(root, "set", "off")
            check(victim.read_text() == "root=host\n", "wrote outside of the root")
    with_files(files, body)


def left_entries():
    """49: entries beside a grub.cfg that does not read them, and without GRUB_ENABLE_BLSCFG."""
    path, files = fedora()
    files["/etc/default/grub"] = files["/etc/default/grub"].replace("BLSCFG=true", "BLSCFG=false")
    files["/boot/grub2/grub.cfg"] = (f"menuentry 'Fedora' {{\n linux /vmlinuz-{KERNEL} {ARGS}\n}}\n")

    def body(root, before):
        status = json.loads(run_ok(root, "status", "--json").stdout)
        check(status["boot"]["backend"] == "grub-default", status["boot"]["backend"])
        run_ok(root, "set", "off")
        check(snapshot(root)[path] == before[path], "an entry that nothing reads was changed")
    with_files(files, body)


def damaged():
    """Bytes turned and cut at random: entries are told or left out, and nothing breaks."""
    seed = int(os.environ.get("MEMCG_POLICY_SEED") or 7)
    chance = random.Random(seed)
    staged = "target\0\0kargs\0\0\0root=x\0cgroup_disable=memory\0\x05\x09\0as"
    roots = {name: what[1] for name, what in RECOGNISED.items()}
    roots |= {name: ROOTS[name][1] for name in (
        "arch-uki", "fedora-uki", "bootc-image", "silverblue", "rhel-8", "debian-systemd-boot",
        "raspios-12", "armbian", "jetson", "alpine-extlinux", "flash-kernel")}
    roots["silverblue"] = {**roots["silverblue"], "/run/ostree/staged-deployment": staged}
    for name, files in roots.items():
        for turn in range(4):
            path = chance.choice([p for p in sorted(files) if files[p]] or [None])
            if not path:
                continue
            data = files[path]
            data = bytearray(data.encode() if isinstance(data, str) else data)
            for _ in range(chance.randint(1, 6)):
                data[chance.randrange(len(data))] = chance.choice(b"\0\n\r\t \"'=/:[]\xff\x80a0")
            if turn == 3:
                del data[chance.randrange(len(data)):]
            with tempfile.TemporaryDirectory() as where:
                make(pathlib.Path(where), {**files, path: bytes(data)})
                result = subprocess.run([loaders.PROGRAM, f"--snapshot={where}", "entries",
                                         "--json"], env=loaders.ENV, capture_output=True,
                                        text=True, errors="replace", check=False)
                check(result.returncode in (0, 1) and "Sanitizer" not in result.stderr,
                      f"seed {seed}: {name}: {path} as {bytes(data)!r}: exit status "
                      f"{result.returncode}: {result.stderr[-800:]}")
                if result.returncode == 0:
                    json.loads(result.stdout)


def profiles():
    """Profiles of a unified image: each has the line that its kernel gets, the first is booted."""
    files = dict(ROOTS["uki-profiles"][1])
    for lines, base, wanted in (
        ((None, OFF, None), "root=x", ["none", "off", "none"]),
        ((OFF, None), "root=x", ["off", "none"]),
        (("root=x", None), OFF, ["none", "off"]),
        ((), OFF, ["off"]),
    ):
        files["/efi/EFI/Linux/arch-linux.efi"] = uki_of_profiles(*lines, base=base)

        def body(root, before):
            entries = json.loads(run_ok(root, "entries", "--json").stdout)["entries"]
            check([e["request"] for e in entries] == wanted, f"{lines} {base}: {entries}")
            names = ["arch-linux.efi"] + [f"arch-linux.efi@p{n}" for n in range(1, len(lines))]
            check([e["id"] for e in entries] == names, f"{lines}: {entries}")
            check([e["default"] for e in entries] == [True] + [False] * (len(names) - 1),
                  f"{lines}: {entries}")
        with_files(files, body)


GRUB = "test/grub"
LIVE = "test/loaders/live.py"
TRAPS = [
    (1, no_dropin), (2, GRUB + " truth"), (3, GRUB + " truth (cloudimg)"), (4, xen_line),
    (5, GRUB + " truth (XEN_REPLACE)"), (6, GRUB + " cases"), (7, "unit shell-edit"),
    (8, "test/packaging"), (9, GRUB + " truth (contents)"), (10, both_words), (11, both_words),
    (12, both_words), (13, quoted_and_init), (14, quoted_and_init), (15, variables),
    (16, order_of_times), (17, no_generator), (18, no_generator), (19, no_root_word),
    (20, no_root_word), (21, comments), (22, others_entries), (23, counted), (24, odd_texts),
    (25, LIVE + " ukify_secure"), (26, dracut), (27, pi_files), (27, pi_places), (28, armbian),
    (29, LIVE + " u_boot_menu"), (30, "test/loaders/loaders.py recognised (zipl)"), (31, stub),
    (32, GRUB + " truth"), (33, GRUB + " trial"), (34, full_environment), (34, odd_environment),
    (35, "test/faults"), (35, unmounted), (35, read_only), (35, not_permitted), (22, none_of_ours), (36, no_loader), (37, "unit grub"), (38, "unit refuse"),
    (39, crash_kernel), (40, GRUB), (41, "test/loaders/loaders.py long_lines"), (42, installing),
    (43, "golden roots"), (44, links), (45, "test/faults"), (46, LIVE + " u_boot_fails"),
    (47, LIVE + " u_boot_fails"), (48, "test/loaders/loaders.py silverblue"), (49, left_entries),
    (50, "base/spawn.c: LC_ALL=C"), ("extlinux", extlinux), ("quotes", quotes),
    ("profiles", profiles), ("damaged", damaged),
]


def main(names):
    failed = 0
    for number, what in TRAPS:
        if names and str(number) not in names:
            continue
        if isinstance(what, str):
            print(f"-- {number}: {what}")
            continue
        try:
            what()
            print(f"ok {number}: {what.__name__}")
        except Failure as error:
            failed += 1
            print(f"FAIL {number}: {what.__name__}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
