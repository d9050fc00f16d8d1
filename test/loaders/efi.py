#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Emulated machines with UEFI firmware (OVMF), booted by systemd-boot: `set off`, reboot, memcg is
off; `unset`, reboot, it is on again. Debian 13, with its ESP, its EFI variables and its tools.

efi.py [MACHINE...]; without machines all of them. Needs root.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "vm")]

import disk  # noqa: E402
import initramfs  # noqa: E402
import vm  # noqa: E402
from roots import MID  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("MEMCG_POLICY", HERE.parent.parent / "build/memcg-policy"))
PACKAGES = ["linux-image-cloud-amd64", "initramfs-tools", "kmod", "zstd", "systemd",
            "systemd-boot", "systemd-boot-efi", "systemd-ukify"]
FIRMWARE = pathlib.Path("/usr/share/OVMF")
OFF = "cgroup_disable=memory"
ARGS = "root=/dev/vda ro console=ttyS0"
ESP_START, ESP_SIZE = 1 << 20, 256 << 20
INIT = """#!/bin/sh
export PATH=/opt/test:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root ASAN_OPTIONS=detect_leaks=0
mount -o remount,rw /
mount -t efivarfs efivarfs /sys/firmware/efi/efivars
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount /boot/efi
exec sh /usr/local/lib/vm-agent
"""
# at every stop, or at each so many
EVERY = int(os.environ.get("MEMCG_POLICY_EVERY") or 1)
NAMES = """
entry=/boot/efi/loader/entries/a-memcg-policy-trial.conf
chosen=/sys/firmware/efi/efivars/LoaderEntryOneShot-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f
is_chosen() {
	tr -d '\\0' <$chosen 2>/dev/null | grep -q a-memcg-policy-trial
}
"""
TRIAL_KILLED = NAMES + """
n=0 kills=0

fail() {
	echo "stop $n: $*"
	cat /run/said
	exit 1
}
policy() {
	memcg-policy "$@" >/run/said 2>&1 || fail "memcg-policy $*"
}
is_whole() {
	cmp -s $entry /run/whole
}

policy trial off
cp $entry /run/whole
policy unset
while :; do
	n=$((n + EVERY))
	bootctl set-oneshot "" >/run/said 2>&1 || fail "bootctl"
	killer /run/out $n writes /opt/test/memcg-policy trial off >/run/said 2>&1 || fail "killer"
	read -r word rest </run/out
	[ "$word" = killed ] || break
	kills=$((kills + 1))
	[ ! -e $entry ] || is_whole || fail "the entry is torn"
	policy status
	# the next run is another one, or the same again
	if [ $((kills % 2)) = 0 ]; then
		policy apply
		[ ! -e $entry ] || is_whole || fail "apply: the entry is torn"
	fi
	policy trial off
	is_chosen && is_whole || fail "the next run does not end where an unharmed one does"
	policy unset
	[ ! -e $entry ] || fail "unset leaves the entry"
	[ -z "$(find /boot/efi /var/lib/memcg-policy -name '.memcg-policy.*')" ] || fail "a temporary stayed"
done
policy unset
echo $kills kills
"""
REBOOT = "cd /; sync; umount /boot/efi; mount -o remount,ro /; echo b >/proc/sysrq-trigger"


def check(condition, text):
    if not condition:
        raise vm.Failed(text)


class Base:
    """A Debian 13 with systemd-boot's tools: its file system, and the tree it was made of."""

    def __init__(self):
        vm.need("mmdebstrap", "mke2fs", "mkfs.vfat", "mcopy", "sgdisk", "qemu-img")
        if not (FIRMWARE / "OVMF_CODE_4M.fd").exists():
            raise vm.Skipped("no OVMF (Debian package ovmf)")
        tar = disk.bootstrap("trixie", PACKAGES, f"--essential-hook={disk.INITRAMFS}")
        agent = (HERE.parent / "vm/agent.sh").read_text()
        name = f"efi-{disk.key(tar.name, INIT, agent)}"
        self.image = vm.cache_dir() / f"{name}.img"
        self.tree = vm.cache_dir() / name
        with vm.lock(name):
            if not self.image.exists():
                self._build(tar, agent)
        self.release = next((self.tree / "usr/lib/modules").iterdir()).name

    def _build(self, tar, agent):
        shutil.rmtree(self.tree, ignore_errors=True)
        self.tree.mkdir(mode=0o755)
        disk.unpack(tar, self.tree)
        for path, text in {
            "usr/sbin/init": INIT, "usr/local/lib/vm-agent": agent, "etc/machine-id": MID + "\n",
            "etc/fstab": "/dev/vda / ext4 defaults 0 1\n/dev/vdb1 /boot/efi vfat umask=0077 0 1\n",
        }.items():
            (self.tree / path).write_text(text)
        (self.tree / "usr/sbin/init").chmod(0o755)
        (self.tree / "boot/efi").mkdir(exist_ok=True)
        new = self.image.with_suffix(".new")
        with open(new, "wb") as f:
            f.truncate(2 << 30)
        disk.run(["mke2fs", "-q", "-t", "ext4", "-d", self.tree, new])
        new.rename(self.image)

    def file(self, path):
        return (self.tree / path.lstrip("/")).read_bytes()

    def kernel(self):
        return self.file(f"/boot/vmlinuz-{self.release}")

    def initrd(self):
        return self.file(f"/boot/initrd.img-{self.release}")

    def uki(self, line, os_release=None):
        """A unified kernel image, as ukify makes it."""
        with tempfile.TemporaryDirectory(dir=self.tree / "tmp") as name:
            inside = "/tmp/" + pathlib.Path(name).name
            os_release = os_release or self.file("/etc/os-release").decode()
            pathlib.Path(name, "os-release").write_text(os_release)
            disk.run(["chroot", self.tree, "ukify", "build",
                      f"--linux=/boot/vmlinuz-{self.release}",
                      f"--initrd=/boot/initrd.img-{self.release}", f"--cmdline={line}",
                      f"--uname={self.release}", f"--os-release=@{inside}/os-release",
                      f"--output={inside}/x.efi"])
            return pathlib.Path(name, "x.efi").read_bytes()

    def loader(self):
        return self.file("/usr/lib/systemd/boot/efi/systemd-bootx64.efi")


def make_esp(path, files):
    """A disk with one partition, the EFI system partition."""
    with open(path, "wb") as f:
        f.truncate(ESP_START + ESP_SIZE + (1 << 20))
    disk.run(["sgdisk", f"-n1:{ESP_START // 512}:+{ESP_SIZE // 1024}K", "-t1:ef00", path])
    disk.run(["mkfs.vfat", "-F", "32", "--offset", ESP_START // 512, path, ESP_SIZE // 1024])
    with tempfile.TemporaryDirectory() as tree:
        for name, data in files.items():
            full = pathlib.Path(tree, name.lstrip("/"))
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_bytes(data.encode() if isinstance(data, str) else data)
        disk.run(["mcopy", "-s", "-i", f"{path}@@{ESP_START}",
                  *sorted(pathlib.Path(tree).iterdir()), "::"])


def inputs():
    """The program with its libraries, also those that it opens on demand."""
    files = {"/opt/test/program": PROGRAM}
    wanted = initramfs.libraries(PROGRAM, "libjson-c.so.5", "libmount.so.1", "libarchive.so.13", "libz.so.1")
    for library in wanted:
        files["/opt/test/" + os.path.basename(library)] = library
    linker = next(os.path.basename(x) for x in wanted if "/ld-" in x)
    return files, ("#!/bin/sh\n"
                   f'exec /opt/test/{linker} --library-path /opt/test /opt/test/program "$@"\n')


# --- steps ---

def state(machine):
    """What the kernel says, not what the tool does."""
    answer = machine.run("cat /proc/cmdline /sys/fs/cgroup/cgroup.controllers")
    line, controllers = answer.output.splitlines()[:2]
    return line.split(), controllers.split()


def status(machine):
    return json.loads(machine.run("memcg-policy status --json 2>/dev/null").output)


def esp_files(machine):
    return machine.run("cd /boot/efi && find . -type f ! -name random-seed -exec sha256sum {} + | sort -k2").output


class Run:
    """One machine: its ESP, what is expected of it, and its steps."""

    backend = "systemd-boot"

    def __init__(self, base):
        self.base = base
        self.before = None

    def boots(self, machine):
        machine.start()
        machine.run("mkdir -p /opt/test; tar -xf /dev/vdc -C /; chmod +x /opt/test/*")
        line, controllers = state(machine)
        check("memory" in controllers and OFF not in line, f"{line} {controllers}")
        boot = status(machine)["boot"]
        check(boot["backend"] == self.backend, f"found {boot}")
        self.before = esp_files(machine)

    def set_off(self, machine):
        said = machine.run("memcg-policy set off").output
        check(OFF in said, said)
        again = machine.run("memcg-policy apply").output
        check("nothing to do" in again, again)
        machine.run("memcg-policy check", expect=4)  # a reboot is needed
        self.judge(machine, True)
        machine.reboot(command=REBOOT)
        line, controllers = state(machine)
        check(OFF in line and "memory" not in controllers, f"{line} {controllers}")
        check(line.count(OFF) == 1, f"{line}")
        machine.run("memcg-policy check")

    def unset(self, machine):
        machine.run("memcg-policy unset")
        after = esp_files(machine)
        check(after == self.before, f"unset leaves something on the ESP:\n{self.before}\n{after}")
        self.judge(machine, False)
        machine.reboot(command=REBOOT)
        line, controllers = state(machine)
        check("memory" in controllers and OFF not in line, f"{line} {controllers}")

    def judge(self, machine, off):
        """bootctl: the entry that is booted next, and its line."""
        shown = machine.run("SYSTEMD_RELAX_ESP_CHECKS=1 bootctl --esp-path=/boot/efi list "
                            "--json=short 2>/dev/null").output
        entries = [e for e in json.loads(shown) if e["type"] in ("type1", "type2")]
        default = [e for e in entries if e.get("isDefault")]
        ours = [e for e in json.loads(machine.run("memcg-policy entries --json 2>/dev/null").output)
                ["entries"] if e["default"]]
        check(len(default) == 1 and len(ours) == 1, f"{default} {ours}")
        name = os.path.basename(default[0]["path"])
        check(os.path.basename(ours[0]["source"]) == name, f"bootctl: {name}, ours: {ours}")
        if self.says_options:
            said = OFF in default[0]["options"].split()
            check(said == off, f"bootctl reads {default[0]['options']}")
        check((ours[0]["if_booted"] == "off") == off, f"{ours}")

    says_options = True

    def trial(self, machine):
        """Off once; then the plug is pulled, and it is on as before."""
        said = machine.run("memcg-policy trial off").output
        check("the next boot has memcg off; those behind it are as before" in said, said)
        boot = status(machine)["boot"]
        check(boot["next"] == "off" and boot["after"] == "on", f"{boot}")
        check(boot["trial"] == {"memcg": "off", "armed": True, "running": False}, f"{boot}")
        check("nothing to do" in machine.run("memcg-policy trial off").output, "a trial twice")
        machine.reboot(command=REBOOT)
        line, controllers = state(machine)
        check(OFF in line and "memory" not in controllers, f"{line} {controllers}")
        boot = status(machine)["boot"]
        check(boot["trial"] == {"memcg": "off", "armed": False, "running": True}, f"{boot}")
        machine.kill()
        machine.start()
        line, controllers = state(machine)
        check("memory" in controllers and OFF not in line, f"{line} {controllers}")
        machine.run("memcg-policy undo")
        after = esp_files(machine)
        check(after == self.before, f"undo leaves something on the ESP:\n{self.before}\n{after}")

    def trial_killed(self, machine):
        """Killed at each open for writing, rename, unlink and sync: whatever is left, a choice names
        an entry that is whole, and the next run leaves neither."""
        said = machine.run(f"EVERY={EVERY}\n{TRIAL_KILLED}", timeout=1500).output
        check(re.fullmatch("[0-9]+ kills\n", said) and int(said.split()[0]) * EVERY > 12, said)
        print(said.strip(), flush=True)
        # a choice is left that names no entry: the loader passes over it, and takes it away
        machine.run(f"{NAMES} is_chosen")
        machine.reboot(command=REBOOT)
        line, controllers = state(machine)
        check("memory" in controllers and OFF not in line, f"{line} {controllers}")
        machine.run(f"{NAMES} [ ! -e $chosen ]")
        after = esp_files(machine)
        check(after == self.before, f"something is left on the ESP:\n{self.before}\n{after}")

    def steps(self):
        return [("boots", self.boots), ("trial off, reboot twice", self.trial),
                ("trial off, killed", self.trial_killed),
                ("set off, reboot", self.set_off), ("unset, reboot", self.unset)]


class Entry(Run):
    """systemd-boot and an entry of type 1."""

    def esp(self):
        release = self.base.release
        return {
            "/EFI/BOOT/BOOTX64.EFI": self.base.loader(),
            "/EFI/systemd/systemd-bootx64.efi": self.base.loader(),
            "/loader/loader.conf": "timeout 0\n",
            "/loader/entries.srel": "type1\n",
            f"/{MID}/{release}/linux": self.base.kernel(),
            f"/{MID}/{release}/initrd": self.base.initrd(),
            f"/loader/entries/{MID}-{release}.conf":
                f"title      Debian\nversion    {release}\nmachine-id {MID}\n"
                f"sort-key   debian\noptions    {ARGS} systemd.machine_id={MID}\n"
                f"linux      /{MID}/{release}/linux\ninitrd     /{MID}/{release}/initrd\n",
        }


class Image(Run):
    """systemd-boot and a unified kernel image, another system's beside it: an add-on in
    X.efi.extra.d."""

    backend = "uki"
    says_options = False  # bootctl shows the image's own line

    def esp(self):
        return {
            "/EFI/BOOT/BOOTX64.EFI": self.base.loader(),
            "/EFI/systemd/systemd-bootx64.efi": self.base.loader(),
            "/loader/loader.conf": "timeout 0\ndefault debian*\n",
            "/EFI/Linux/debian.efi": self.base.uki(ARGS),
            "/EFI/Linux/other.efi": self.base.uki("root=/dev/none", "ID=other\n"),
        }

    def judge(self, machine, off):
        super().judge(machine, off)
        addon = "/boot/efi/EFI/Linux/debian.efi.extra.d/memcg-policy.addon.efi"
        machine.run(f"[ -e {addon} ]", expect=0 if off else 1)
        if off:
            shown = machine.run(f"ukify inspect {addon}").output
            check(OFF in shown, shown)


class Alone(Image):
    """The firmware starts the image itself; the add-on is for all of the partition."""

    def trial(self, machine):
        said = machine.run("memcg-policy trial off", expect=5).output
        check("did not say at this boot that it takes a choice for one boot" in said, said)

    def steps(self):
        return [step for step in super().steps() if "killed" not in step[0]]

    def esp(self):
        return {"/EFI/BOOT/BOOTX64.EFI": self.base.uki(ARGS)}

    def judge(self, machine, off):
        machine.run("[ -e /boot/efi/loader/addons/memcg-policy.addon.efi ]",
                    expect=0 if off else 1)


MACHINES = {"entry": Entry, "image": Image, "alone": Alone}


def main(names):
    if os.geteuid() != 0:
        raise vm.Skipped("needs root")
    base = Base()
    report = vm.Report()
    with tempfile.TemporaryDirectory(dir=vm.cache_dir(), prefix="efi-") as scratch:
        scratch = pathlib.Path(scratch)
        files, script = inputs()
        (scratch / "script").write_text(script)
        files["/opt/test/memcg-policy"] = scratch / "script"
        subprocess.run(["cc", "-O2", "-static", "-o", scratch / "killer",
                        HERE.parent / "kill/killer.c"], check=True)
        files["/opt/test/killer"] = scratch / "killer"
        drive = disk.input_drive(scratch / "input.tar", files)
        for name in names or MACHINES:
            run = MACHINES[name](base)
            make_esp(scratch / "esp.img", run.esp())
            root, variables = scratch / "root.qcow2", scratch / "vars.fd"
            disk.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", base.image, "-F", "raw", root])
            shutil.copy(FIRMWARE / "OVMF_VARS_4M.fd", variables)
            flash = ["-drive", f"if=pflash,format=raw,readonly=on,file={FIRMWARE}/OVMF_CODE_4M.fd",
                     "-drive", f"if=pflash,format=raw,file={variables}"]
            drives = [f"file={root},format=qcow2,cache=unsafe",
                      f"file={scratch}/esp.img,format=raw,cache=unsafe", drive]
            with vm.Machine(f"efi-{name}", drives, options=flash) as machine:
                report.run(name, run.steps(), machine)
    return report.close()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except vm.Skipped as reason:
        print(f"SKIP efi: {reason}")
        sys.exit(77)
