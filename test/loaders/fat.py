#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boot partitions of FAT, written by a real kernel (user-mode Linux): set, apply, unset, undo, SIGKILL
at every write, no room, read-only. fsck.fat and mtools judge the partition afterwards.

fat.py [CASE...]; without cases all of them.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "vm")]

import vm  # noqa: E402
from roots import MID, PI, ROOTS, pi, uki  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("MEMCG_POLICY", HERE.parent.parent / "build/memcg-policy"))
UML = HERE.parent / "vm/uml.sh"
OFF = "cgroup_disable=memory"
RELEASE = "6.12.48+deb13-amd64"


def check(condition, text):
    if not condition:
        raise vm.Failed(text)


# --- what the machine does ---

# every way there and back; what was there before is there again, and nothing else
WHOLE = """
fat >/run/before
must 0 policy set off
fat >/run/off
! cmp -s /run/before /run/off || fail "set off wrote nothing"
must 0 policy apply
grep -q "nothing to do" /run/said || fail "apply again does something"
fat | cmp -s - /run/off || fail "apply again wrote"
must 0 policy entries --json
case $(cat /run/said) in *'"request":"off"'* | *'"request": "off"'*) ;; *) fail "no entry asks for off" ;; esac
must 0 policy set on
must 0 policy set off
must 0 policy undo
must 0 policy undo
must 0 policy unset
fat >/run/after
cmp /run/before /run/after || { diff /run/before /run/after; fail "unset leaves something behind"; }
must 0 policy set off
"""

# killed at each call that writes: the file is the old or the new one, and the next run goes on
KILL = """
fat >/run/before
must 0 strace -f -qq -o /run/trace -e trace=renameat,renameat2,unlinkat,write,fsync,syncfs,mkdirat \\
	"$program" --root=$R set off
cp -a "$R/$place" /run/new
must 0 policy unset
fat | cmp -s - /run/before || fail "unset leaves something behind"
cp -a "$R/$place" /run/old
n=0
for call in $calls; do
	count=$(grep -c " $call(" /run/trace || :)
	i=0
	while [ $i -lt "$count" ]; do
		i=$((i + 1))
		code=0
		strace -f -qq -o /dev/null -e trace=$call -e inject=$call:signal=KILL:when=$i \\
			"$program" --root=$R set off >/run/said 2>&1 || code=$?
		[ $code != 0 ] || break # the first run had more to make
		(cd "$R/$place" && find . -type f ! -name ".memcg-policy.*" ! -name "*.memcg-bak") |
			while read -r file; do
				cmp -s "$R/$place/$file" "/run/old/$file" ||
					cmp -s "$R/$place/$file" "/run/new/$file" || echo "$file"
			done >/run/torn
		[ ! -s /run/torn ] || fail "$call $i: torn: $(cat /run/torn)"
		must 0 policy set off
		[ -z "$(find "$R/$place" -name ".memcg-policy.*")" ] || fail "$call $i: a temporary stayed"
		must 0 policy unset
		fat | diff - /run/before || fail "$call $i: unset leaves something behind"
		n=$((n + 1))
	done
done
[ $n -gt 4 ] || fail "only $n places to die at"
echo "$n kills"
must 0 policy set off
"""

# no room at all, then room for one temporary and not for two
FULL = """
fat >/run/before
codes=
for left in 0 1 2 9; do
	dd if=/dev/zero of="$R/$place/fill" bs=512 2>/dev/null || :
	# the last clusters again, one by one
	truncate -s $(($(stat -c %s "$R/$place/fill") - left * cluster)) "$R/$place/fill"
	code=0
	policy set off >/run/said 2>&1 || code=$?
	rm "$R/$place/fill"
	if [ $code = 0 ]; then
		must 0 policy unset
	else
		[ $code = 1 ] || fail "exit status $code: $(cat /run/said)"
		grep -qi "no space" /run/said || fail "says $(cat /run/said)"
	fi
	fat | diff /run/before - || fail "$left clusters left, exit status $code: not as before"
	codes="$codes $code"
done
case $codes in *1*) ;; *) fail "there was always room" ;; esac
echo "exit status with 0, 1, 2, 9 clusters left:$codes"
must 0 policy set off
"""

READ_ONLY = """
fat >/run/before
must 7 policy set off
grep -q "read-only" /run/said || fail "says $(cat /run/said)"
fat | cmp - /run/before || fail "wrote"
must 0 policy entries
mount -o remount,rw "$R/$place"
must 0 policy set off
"""


# --- partitions: what is on them ---

def split(files, place):
    """The root without what is on the partition, and the partition."""
    return ({p: d for p, d in files.items() if not p.startswith(place + "/")},
            {p.removeprefix(place): d for p, d in files.items() if p.startswith(place + "/")})


def systemd_boot(place="/boot/efi"):
    entry = "title Debian\nversion {0}\nmachine-id {1}\noptions root=UUID=x ro quiet\nlinux /{1}/linux\n"
    return {
        **ROOTS["debian-systemd-boot"][1],
        # more than one, as boots are counted, and in capitals as FAT may have them
        f"{place}/loader/entries/{MID}-6.1.0-40-amd64.conf": entry.format("6.1.0-40-amd64", MID),
        f"{place}/loader/entries/HAND.CON": "no entry\n",
        "/usr/lib/modules/6.1.0-40-amd64/modules.dep": "",
        f"{place}/loader/loader.conf": "timeout 3\n",
    }


# as long as FAT's names may be: a copy's, with more behind it, would be longer
LONG = "x" * 250 + ".conf"


def long_name():
    """An entry of that name, and one beside it that is written first or last."""
    entry = "title Debian\nlinux /vmlinuz\noptions root=UUID=x ro\n"
    return {"/boot/EFI/systemd/systemd-bootx64.efi": "", "/boot/vmlinuz": "",
            f"/boot/loader/entries/{LONG}": entry, "/boot/loader/entries/b\u00f6se.conf": entry}


PARTITIONS = {
    # root, place, options of the mount, file, its text afterwards
    "pi": (pi("/boot/firmware", PI + "\n"), "/boot/firmware", "rw", "/cmdline.txt", f"{PI} {OFF}\n"),
    # another name for the same file: config.txt spells it as it likes
    "pi-case": (pi("/boot/firmware", PI + "\n", "[all]\nCmdLine=CMDLINE.TXT\n"), "/boot/firmware",
                "rw", "/cmdline.txt", f"{PI} {OFF}\n"),
    # the older place, names in short form only
    "pi-short": (pi("/boot", PI), "/boot", "rw,shortname=winnt", "/CMDLINE.TXT", f"{PI} {OFF}"),
    "entries": (systemd_boot(), "/boot/efi", "rw",
                f"/loader/entries/{MID}-{RELEASE}+3-1.conf",
                f"title Debian\nversion {RELEASE}\nmachine-id {MID}\n"
                f"options root=UUID=x ro quiet systemd.machine_id={MID} {OFF}\nlinux /{MID}/linux\n"),
    "long": (long_name(), "/boot", "rw,iocharset=utf8", f"/loader/entries/{LONG}",
             f"title Debian\nlinux /vmlinuz\noptions root=UUID=x ro {OFF}\n"),
    "uki": ({**ROOTS["arch-uki"][1], "/efi/EFI/Linux/arch-linux.efi": uki("root=UUID=x rw quiet\n")},
            "/efi", "rw", None, None),
}
CASES = {
    "pi": ("pi", WHOLE, "rw"), "pi-case": ("pi-case", WHOLE, "rw"),
    "pi-short": ("pi-short", WHOLE, "rw"), "long": ("long", WHOLE, "rw"), "entries": ("entries", WHOLE, "rw"),
    "pi-kill": ("pi", KILL, "rw"), "entries-kill": ("entries", KILL, "rw"),
    "pi-full": ("pi", FULL, "rw"), "entries-full": ("entries", FULL, "rw"),
    "pi-read-only": ("pi", READ_ONLY, "ro"), "entries-read-only": ("entries", READ_ONLY, "ro"),
}
# where to die: all of them are ./dev kill's
CALLS = ("renameat renameat2 unlinkat fsync syncfs mkdirat"
         if os.environ.get("MEMCG_POLICY_KILL") == "all" else "renameat renameat2 unlinkat syncfs")
SIZE = {"pi-full": 2048, "entries-full": 2048}


def write_tree(top, files):
    for path, data in files.items():
        full = pathlib.Path(top, path.lstrip("/"))
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(data.encode() if isinstance(data, str) else data)


def make_partition(path, files, kib):
    done = subprocess.run(["mkfs.vfat", "-C", path, str(kib)], capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0, done.stderr)
    with tempfile.TemporaryDirectory() as tree:
        write_tree(tree, files)
        subprocess.run(["mcopy", "-s", "-i", path, *sorted(pathlib.Path(tree).iterdir()), "::"],
                       check=True, env={**os.environ, "MTOOLS_SKIP_CHECK": "1"})


def case(name, scratch):
    partition, script, mode = CASES[name]
    files, place, options, changed, wanted = PARTITIONS[partition]
    root, boot = split(files, place)
    image, tree = scratch / "image", scratch / "tree"
    make_partition(image, boot, SIZE.get(name, 8192))
    tree.mkdir()
    write_tree(tree, root)
    (scratch / "script").write_text(f"cluster=2048\ncalls='{CALLS}'\n{script}")
    done = subprocess.run(
        [UML, "-t", "900", "-w", str(scratch), "-k", f"ubd0={image}", "--", "sh",
         str(HERE / "fat.sh"), str(PROGRAM), str(tree), place.lstrip("/"), f"{mode},{options[3:]}"
         if options != "rw" else mode, str(scratch / "script")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}")
    judged = subprocess.run(["fsck.fat", "-n", image], capture_output=True, text=True, check=False)
    check(judged.returncode == 0, f"fsck.fat: {judged.stdout}{judged.stderr}")
    if changed:
        read = subprocess.run(["mtype", "-i", image, f"::{changed}"], capture_output=True, text=True,
                              check=False)
        check(read.stdout == wanted, f"mtools reads {read.stdout!r} {read.stderr}")
    return done.stdout.strip()


def main(names):
    vm.need("linux.uml", "mkfs.vfat", "mcopy", "fsck.fat", "strace", "busybox")
    failed = 0
    for name in names or CASES:
        with tempfile.TemporaryDirectory(prefix="fat-") as scratch:
            try:
                print("ok", name, case(name, pathlib.Path(scratch)), flush=True)
            except vm.Failed as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except vm.Skipped as reason:
        print(f"SKIP fat: {reason}")
        sys.exit(77)
