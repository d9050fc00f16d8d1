#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The loaders' own tools, as Debian packages them, run by memcg-policy on a live root, and the same
tools as judges of what came out.

live.py [STEP...]; without steps all of them. A step gets a fresh root. Needs root.
"""

import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "vm")]

import disk  # noqa: E402
import loaders  # noqa: E402
import vm  # noqa: E402
from roots import MID, ROOTS, pe_of, uki  # noqa: E402

PROGRAM = pathlib.Path(os.environ.get("MEMCG_POLICY", HERE.parent.parent / "build/memcg-policy"))
PACKAGES = ["systemd", "systemd-boot", "systemd-boot-efi", "systemd-ukify", "sbsigntool",
            "openssl", "u-boot-menu", "u-boot-tools", "grub-common", "ostree"]
# of another architecture, and shell scripts: unpacked is installed enough
FLASH_KERNEL = ("dpkg --add-architecture arm64; apt-get update -q; cd /var/tmp; "
                "apt-get download flash-kernel:arm64; dpkg-deb -x flash-kernel_*.deb /; "
                "rm flash-kernel_*.deb; dpkg --remove-architecture arm64")
RELEASE = "6.12.48+deb13-amd64"
KERNEL_CONFIG = "# Linux/x86 6.12.48 Kernel Configuration\nCONFIG_CGROUPS=y\nCONFIG_MEMCG=y\n"
OFF = "cgroup_disable=memory"
LOADER = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"


def check(condition, text):
    if not condition:
        raise vm.Failed(text)


def base():
    """The unpacked system, cached."""
    tar = disk.bootstrap("trixie", PACKAGES, f'--customize-hook=chroot "$1" sh -ec "{FLASH_KERNEL}"')
    path = vm.cache_dir() / f"loaders-{tar.stem}"
    with vm.lock(path.name):
        if not path.exists():
            new = path.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(mode=0o755)
            disk.unpack(tar, new)
            new.rename(path)
    return path


class Live:
    """The system again, by hard links: its files are replaced, and never written in place."""

    def __init__(self, files):
        self._dir = tempfile.mkdtemp(prefix="live-", dir=vm.cache_dir())
        self.root = pathlib.Path(self._dir, "root")
        disk.run(["cp", "-al", base(), self.root])
        shutil.rmtree(self.root / "boot/extlinux")  # as u-boot-menu's installation made it
        self.write({
            "/etc/machine-id": MID + "\n",
            "/etc/fstab": "UUID=x / ext4 defaults 0 1\n",
            f"/usr/lib/modules/{RELEASE}/modules.order": "",
            f"/boot/vmlinuz-{RELEASE}": "a kernel\n",
            f"/boot/initrd.img-{RELEASE}": "an initrd\n",
            f"/boot/config-{RELEASE}": KERNEL_CONFIG,
            **files,
        })

    def write(self, files):
        for path, data in files.items():
            full = self.root / path.lstrip("/")
            full.parent.mkdir(parents=True, exist_ok=True)
            full.unlink(missing_ok=True)
            full.write_bytes(data.encode() if isinstance(data, str) else data)

    def variable(self, name, value, vendor=LOADER):
        """An EFI variable: text as UTF-16, or bytes. The loader's own makes it a machine whose
        images systemd's stub started."""
        if name == "LoaderInfo":
            self.variable("StubInfo", value.replace("-boot", "-stub"))
        if isinstance(value, str):
            value = (value + "\0").encode("utf-16le")
        self.write({f"/efivars/{name}-{vendor}": struct.pack("<I", 6) + value})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # ostree makes its deployments immutable
        for path in self.root.glob("ostree/deploy/*/deploy/*.0"):
            subprocess.run(["chattr", "-i", path], check=False)
        shutil.rmtree(self._dir)

    def run(self, script, program=PROGRAM):
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child",
                               "--propagation=private", "sh", str(HERE / "enter.sh"),
                               str(self.root), str(program), script],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout

    def must(self, script, status=0, program=PROGRAM):
        got, output = self.run(script, program)
        if got != status:
            raise vm.Failed(f"exit status {got} of: {script}\n{output}")
        return output

    def entries(self):
        return json.loads(self.must("memcg-policy entries --json 2>/dev/null"))["entries"]

    def files(self, *below):
        """path -> bytes."""
        found = {}
        for top in below:
            for path in sorted((self.root / top.lstrip("/")).rglob("*")):
                if path.is_file() and not path.is_symlink():
                    found["/" + str(path.relative_to(self.root))] = path.read_bytes()
        return found


def expect(m, want, ours=1):
    entries = [e for e in m.entries() if e["ours"]]
    check(len(entries) >= ours, f"{len(entries)} entries of ours: {m.entries()}")
    for entry in entries:
        check(entry["request"] == ("off" if want == "off" else "none"),
              f"{entry['id']} asks for {entry['request']}, not {want}")


# --- unified kernel images ---

ADDON = "/efi/loader/addons/memcg-policy.addon.efi"
IMAGE = "/efi/EFI/Linux/debian.efi"
OS_RELEASE = "ID=debian"


def uki_root(**more):
    return Live({
        "/etc/kernel/cmdline": "root=UUID=x ro quiet\n",
        IMAGE: uki("root=UUID=x ro quiet", RELEASE, "debian"),
        "/efi/EFI/systemd/systemd-bootx64.efi": "",
        **more,
    })


def ukify_says(m, path):
    """The command line of an add-on by systemd's own reader."""
    shown = json.loads(m.must(f"ukify --json=short inspect {path}"))
    return shown[".cmdline"]["text"].split("\0")[0].strip()


def ukify():
    """An add-on that ukify makes, and everything as before when it is taken back."""
    with uki_root() as m:
        m.variable("LoaderInfo", "systemd-boot 257.7-1")
        m.variable("SecureBoot", b"\0", GLOBAL)
        before = m.files("/efi", "/etc", "/boot")
        expect(m, "on")
        said = m.must("memcg-policy set off")
        check("ran: /usr/bin/ukify build --cmdline=" + OFF in said, said)
        check(ukify_says(m, ADDON) == OFF, "ukify reads something else")
        expect(m, "off")
        check(not (m.root / "var/lib/memcg-policy/memcg-policy.addon.efi").exists(),
              "what ukify left behind stayed")
        check("nothing to do" in m.must("memcg-policy apply"), "apply again does something")
        m.must("memcg-policy set on")
        check(not (m.root / ADDON[1:]).exists(), "set on leaves the add-on")
        expect(m, "on")
        m.must("memcg-policy undo")
        expect(m, "off")
        m.must("memcg-policy unset")
        check(m.files("/efi", "/etc", "/boot") == before, "unset leaves something behind")


def ukify_shared():
    """Beside another system's image: only ours gets the word, and later kernels by the file."""
    with uki_root(**{"/efi/EFI/Linux/other.efi": uki("root=y", "7.1", "other")}) as m:
        m.variable("LoaderInfo", "systemd-boot 257.7-1")
        m.variable("SecureBoot", b"\0", GLOBAL)
        before = m.files("/efi", "/etc")
        m.must("memcg-policy set off")
        check(ukify_says(m, f"{IMAGE}.extra.d/memcg-policy.addon.efi") == OFF, "not beside ours")
        expect(m, "off")
        check([e["request"] for e in m.entries() if not e["ours"]] == ["none"],
              "the other system's image was changed")
        m.must("memcg-policy unset")
        check(m.files("/efi", "/etc") == before, "unset leaves something behind")


def ukify_secure():
    """With Secure Boot on: signed, or not an add-on."""
    with uki_root() as m:
        m.variable("LoaderInfo", "systemd-boot 257.7-1")
        m.variable("SecureBoot", b"\1", GLOBAL)
        said = m.must("memcg-policy set off")
        check("kernel-install add-all" in said and not (m.root / ADDON[1:]).exists(), said)
        check(OFF in (m.root / "etc/kernel/cmdline").read_text(), "the file is not changed")
        m.must("memcg-policy unset")
        m.must("openssl req -new -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=test "
               "-keyout /etc/kernel/sb.key -out /etc/kernel/sb.crt")
        m.write({"/etc/kernel/uki.conf": "[UKI]\nSecureBootPrivateKey=/etc/kernel/sb.key\n"
                                         "SecureBootCertificate=/etc/kernel/sb.crt\n"})
        before = m.files("/efi", "/etc")
        m.must("memcg-policy set off")
        m.must(f"sbverify --cert /etc/kernel/sb.crt {ADDON}")
        check(ukify_says(m, ADDON) == OFF, "ukify reads something else")
        expect(m, "off")
        check("nothing to do" in m.must("memcg-policy apply"), "apply again does something")
        m.must("memcg-policy unset")
        check(m.files("/efi", "/etc") == before, "unset leaves something behind")


def ukify_fails():
    """One that fails, or makes something else: nothing was changed."""
    for script in ("#!/bin/sh\necho no memory >&2\nexit 3\n", "#!/bin/sh\nexit 0\n",
                   "#!/bin/sh\nfor a; do case $a in --output=*) echo x >${a#*=};; esac; done\n"):
        with uki_root(**{"/usr/bin/ukify": script}) as m:
            m.variable("LoaderInfo", "systemd-boot 257.7-1")
            m.variable("SecureBoot", b"\0", GLOBAL)
            m.must("chmod +x /usr/bin/ukify")
            before = m.files("/efi", "/etc")
            m.must("memcg-policy set off", 1)
            check(m.files("/efi", "/etc") == before, "a failed ukify leaves something behind")


def other_loader():
    """Another loader started the system than the one whose files are here: nothing is written,
    unless the policy names the loader, or with --force."""
    with uki_root() as m:
        m.variable("LoaderInfo", "systemd-boot 257.7-1")
        m.variable("SecureBoot", b"\0", GLOBAL)
        m.write({"/efivars/StubInfo-" + LOADER: b""})
        before = m.files("/efi", "/etc", "/boot")
        said = m.must("memcg-policy set off", 7)
        check("no StubInfo" in said and "Backend=" in said, said)
        check(m.files("/efi", "/etc", "/boot") == before, "a refused change wrote")
        m.must("memcg-policy set off --force")
        expect(m, "off")
        m.must("memcg-policy unset --force")
        m.write({"/etc/memcg-policy/policy.conf.d/60-loader.conf": "[Policy]\nBackend=uki\n"})
        m.must("memcg-policy set off")
        expect(m, "off")
        m.must("memcg-policy unset")


# --- U-Boot ---

def unset_leaves_nothing(m, *below):
    """One round; what unset leaves is what was there, the tool's own output apart."""
    before = m.files(*below)
    m.must("memcg-policy set off")
    expect(m, "off")
    check("nothing to do" in m.must("memcg-policy apply"), "apply again does something")
    m.must("memcg-policy set on")
    expect(m, "on")
    m.must("memcg-policy undo")
    expect(m, "off")
    m.must("memcg-policy unset")
    after = m.files(*below)
    # a checksum and the time of making are in U-Boot's images
    differ = [p for p in before | after if before.get(p) != after.get(p)
              and not p.endswith((".scr", ".bak"))]
    check(not differ, f"unset leaves something behind: {differ}")


def u_boot_menu():
    """u-boot-update, with and without a fallback to /etc/kernel/cmdline, and a fragment of others."""
    for files in ({}, {"/etc/kernel/cmdline": "root=UUID=y ro splash\n"},
                  {"/etc/u-boot-menu/conf.d/a.conf": 'U_BOOT_PARAMETERS="ro cgroup_enable=cpuset"\n'},
                  {"/etc/default/u-boot": 'U_BOOT_PARAMETERS="ro quiet $(true)"\n'}):
        with Live(files) as m:
            m.must("u-boot-update")
            lines = (m.root / "boot/extlinux/extlinux.conf").read_text().splitlines()
            before = [line.split() for line in lines if "append" in line]
            m.must("memcg-policy set off")
            lines = (m.root / "boot/extlinux/extlinux.conf").read_text().splitlines()
            for old, new in zip(before, [x.split() for x in lines if "append" in x], strict=True):
                check([w for w in new if w != OFF] == old and new.count(OFF) == 1,
                      f"{old} became {new}")
            m.must("memcg-policy unset")
            unset_leaves_nothing(m, "/etc", "/boot")


def u_boot_fails():
    """One that fails, and one that does nothing: everything is put back."""
    for script in ("#!/bin/sh\nexit 1\n", "#!/bin/sh\nexit 0\n"):
        with Live({}) as m:
            m.must("u-boot-update")
            m.write({"/usr/sbin/u-boot-update": script})
            m.must("chmod +x /usr/sbin/u-boot-update")
            before = m.files("/etc", "/boot")
            m.must("memcg-policy set off", 1)
            check(m.files("/etc", "/boot") == before, "a failed u-boot-update leaves something")


def u_boot_hangs():
    """One that hangs, and whose child does not mind SIGTERM: stopped, and everything put back."""
    hasty = next(PROGRAM.parent.glob("**/memcg-policy-hasty"), None)
    if not hasty:
        return "SKIP: memcg-policy-hasty is not built"
    with Live({}) as m:
        m.must("u-boot-update")
        m.write({"/usr/sbin/u-boot-update": "#!/bin/sh\n"
                 "(trap '' TERM HUP; sleep 1000; sleep 1000) &\nsleep 1000\n"})
        m.must("chmod +x /usr/sbin/u-boot-update")
        before = m.files("/etc", "/boot")
        said = m.must("memcg-policy set off; r=$?; ! pgrep sleep >/dev/null || exit 99; exit $r", 1,
                      hasty)
        check("still running after 2 seconds" in said, said)
        check(m.files("/etc", "/boot") == before, "a hanging u-boot-update leaves something")
    return ""


def flash_kernel():
    """flash-kernel's boot script for a generic board."""
    release = "6.12.48+deb13-arm64"
    with Live({
        "/etc/flash-kernel/machine": "Firefly-RK3399 Board\n",
        "/etc/default/flash-kernel": 'LINUX_KERNEL_CMDLINE="quiet"\n'
                                     'LINUX_KERNEL_CMDLINE_DEFAULTS=""\n',
        f"/boot/vmlinuz-{release}": "a kernel\n", f"/boot/initrd.img-{release}": "an initrd\n",
        f"/boot/config-{release}": KERNEL_CONFIG, f"/usr/lib/modules/{release}/modules.order": "",
        f"/usr/lib/linux-image-{release}/rockchip/rk3399-firefly.dtb": "",
        # of the other architecture
        "/usr/bin/dpkg-arch": "",
        "/etc/u-boot-menu/none": "",
    }) as m:
        m.must("rm /usr/sbin/u-boot-update; ln -sf vmlinuz-" + release + " /boot/vmlinuz; "
               "dpkg-divert --local --rename /usr/bin/dpkg >/dev/null; "
               "printf '#!/bin/sh\\n[ \"$1\" != --print-architecture ] || { echo arm64; exit; }\\n"
               "exec /usr/bin/dpkg.distrib \"$@\"\\n' >/usr/bin/dpkg; chmod +x /usr/bin/dpkg")
        m.must("flash-kernel")
        m.must("memcg-policy set off")
        shown = m.must("dumpimage -T script -p 0 -o /run/script /boot/boot.scr >/dev/null; "
                       "grep -a 'setenv bootargs' /run/script | tail -n 1")
        check(OFF in shown.replace('"', " ").split(), f"boot.scr says {shown}")
        m.must("memcg-policy unset")
        unset_leaves_nothing(m, "/etc", "/boot")


# --- ostree ---

OSTREE_ROOT = r"""
mkdir -p /tmp/tree/usr/lib/modules/6.1 /tmp/tree/usr/lib /tmp/tree/usr/etc
echo kernel >/tmp/tree/usr/lib/modules/6.1/vmlinuz
echo initrd >/tmp/tree/usr/lib/modules/6.1/initramfs.img
printf 'ID=x\nNAME=x\nVERSION=1\nPRETTY_NAME=x\n' >/tmp/tree/usr/lib/os-release
ostree admin init-fs --modern / >/dev/null 2>&1 || ostree admin init-fs /
ostree admin os-init x
ostree --repo=/ostree/repo commit -b x --tree=dir=/tmp/tree >/dev/null
ostree admin deploy --os=x --karg=root=UUID=1 --karg=quiet --karg=cgroup_enable=cpuset x
"""


def options(m):
    entries = sorted((m.root / "boot/loader/entries").iterdir())
    lines = [x for x in entries[0].read_text().splitlines() if x.startswith("options ")]
    return [w for w in lines[0].split()[1:] if not w.startswith("ostree=")]


def ostree():
    """ostree itself: the arguments of its first deployment."""
    with Live({}) as m:
        m.must(OSTREE_ROOT + "rm -f /usr/sbin/u-boot-update")
        before = options(m)
        check(before == ["root=UUID=1", "quiet", "cgroup_enable=cpuset"], f"{before}")
        said = m.must("memcg-policy set off")
        check("ostree admin instutil set-kargs" in said, said)
        check(options(m) == [*before, OFF], f"{options(m)}")
        expect(m, "off")
        check("nothing to do" in m.must("memcg-policy apply"), "apply again does something")
        m.must("memcg-policy set on")
        check(options(m) == before, f"{options(m)}")
        m.must("memcg-policy undo")
        check(options(m) == [*before, OFF], f"{options(m)}")
        m.must("memcg-policy unset")
        check(options(m) == before, f"{options(m)}")


# what rpm-ostree and bootc do to the arguments, staged as ostree stages them
FAKE = r"""#!/usr/bin/python3
import os, sys
staged, log = "/run/ostree/staged-deployment", "/var/log/calls"
open(log, "a").write(" ".join(sys.argv[1:]) + "\n")
try:
    words = open(staged).read().split("kargs\0\0\0")[1].split("\0")[:-2]
except OSError:
    words = "root=UUID=1 ro cgroup_enable=memory".split()
if sys.argv[1] == "kargs":
    for option in sys.argv[2:]:
        name, word = option.split("=", 1)
        if name == "--append-if-missing" and word not in words:
            words.append(word)
        if name == "--delete-if-present" and word in words:
            words.remove(word)
else:
    words = [w for w in words if "memory" not in w or "enable" in w]
    words += sys.argv[sys.argv.index("--options") + 1:] if "--options" in sys.argv else []
os.makedirs("/run/ostree", exist_ok=True)
open(staged, "w").write("target\0\0kargs\0\0\0" + "\0".join(words) + "\0\x05\x09\x0d\0as")
sys.exit(int(os.environ.get("FAIL", 0)))
# set-options-for-source
"""


def deployments(tool):
    return Live({
        f"/usr/bin/{tool}": FAKE,
        "/ostree/repo/config": "",
        "/boot/loader/entries/ostree-1-x.conf":
            "title x\nversion 1\nlinux /ostree/x/vmlinuz\n"
            "options root=UUID=1 ro cgroup_enable=memory ostree=/ostree/boot.1/x/0\n",
        "/boot/ostree/x/vmlinuz": "",
    })


def rpm_ostree():
    """rpm-ostree as it documents itself: what is staged follows our file in both directions."""
    with deployments("rpm-ostree") as m:
        said = m.must("chmod +x /usr/bin/rpm-ostree; mkdir /run/ostree; "
                      "memcg-policy set off; memcg-policy set off; memcg-policy set on; "
                      "memcg-policy undo; memcg-policy unset")
        calls = (m.root / "var/log/calls").read_text().splitlines()
        check(calls == [
            "kargs --append-if-missing=cgroup_disable=memory "
            "--delete-if-present=cgroup_enable=memory",
            "kargs --delete-if-present=cgroup_disable=memory",
            "kargs --append-if-missing=cgroup_disable=memory",
            "kargs --append-if-missing=cgroup_enable=memory "
            "--delete-if-present=cgroup_disable=memory",
        ], f"{calls}\n{said}")
        check(not (m.root / "var/lib/memcg-policy/kargs").exists(), "our file stayed")


def bootc():
    """bootc by source."""
    with deployments("bootc") as m:
        m.write({"/boot/loader/entries/ostree-1-x.conf":
                 "title x\nversion 1\nlinux /ostree/x/vmlinuz\noptions root=UUID=1 ro\n"})
        said = m.must("chmod +x /usr/bin/bootc; memcg-policy set off; memcg-policy set on; "
                      "memcg-policy undo; memcg-policy unset")
        calls = (m.root / "var/log/calls").read_text().splitlines()
        source = "loader-entries set-options-for-source --source memcg-policy"
        check(calls == [f"{source} --options {OFF}", source, f"{source} --options {OFF}", source],
              f"{calls}\n{said}")


# --- kernel-install, bootctl ---

def kernel_install():
    """A kernel installed after "set off" gets the word, and bootctl reads it in every entry."""
    with Live({
        "/etc/kernel/cmdline": "root=UUID=x ro quiet\n",
        "/etc/kernel/install.conf": "layout=bls\nBOOT_ROOT=/boot\ninitrd_generator=none\n",
        "/boot/EFI/systemd/systemd-bootx64.efi": "",
        "/boot/loader/loader.conf": "timeout 3\n",
        "/boot/loader/entries.srel": "type1\n",
    }) as m:
        m.variable("LoaderInfo", "systemd-boot 257.7-1")
        install = "kernel-install add {0} /boot/vmlinuz-{0} /boot/initrd.img-{0}"
        m.must("rm /usr/sbin/u-boot-update; " + install.format(RELEASE))
        entries = list((m.root / "boot/loader/entries").iterdir())
        check(len(entries) == 1, f"kernel-install made {entries}")
        before = m.files("/boot/loader", "/etc")
        m.must("memcg-policy set off")
        newer = "6.12.57+deb13-amd64"
        m.write({f"/boot/vmlinuz-{newer}": "a kernel\n", f"/boot/initrd.img-{newer}": "an initrd\n",
                 f"/usr/lib/modules/{newer}/modules.order": "",
                 f"/boot/config-{newer}": KERNEL_CONFIG})
        m.must(install.format(newer))
        expect(m, "off", 2)
        check("nothing to do" in m.must("memcg-policy apply"), "apply again does something")
        shown = json.loads(m.must("mkdir /run/e; mount -t tmpfs t /run/e; "
                                  "cp -r /boot/. /run/e; SYSTEMD_RELAX_ESP_CHECKS=1 "
                                  "bootctl --esp-path=/run/e list --json=short 2>/dev/null"))
        lines = [e["options"] for e in shown if e.get("type") == "type1"]
        check(len(lines) == 2 and all(OFF in line.split() for line in lines), f"bootctl: {lines}")
        m.must(f"kernel-install remove {newer}; memcg-policy unset")
        check(m.files("/boot/loader", "/etc") == before, "unset leaves something behind")


def made_up_image(chance, name):
    """A unified kernel image with or without profiles, and what its entries ask for."""
    os_release = "".join(f"{key}={value}\n" for key, value in (
        ("ID", chance.choice(["debian", "Arch", "fedora"])), ("PRETTY_NAME", "'A Linux'"),
        ("IMAGE_ID", chance.choice(["", "zzz", "debian"])),
        ("VERSION_ID", chance.choice(["", "1", "12", "13~rc1"])),
        ("BUILD_ID", chance.choice(["", "7"]))) if value)
    base = {"sdmagic": "#### LoaderInfo: systemd-stub 257.7 ####", "linux": "MZ",
            "osrel": os_release, "uname": f"6.{chance.randint(1, 17)}\0"}
    if chance.random() < 0.8:
        base["cmdline"] = f"root=x {chance.choice(['', OFF])}"
    sections = list(base.items())
    for n in range(chance.choice([0, 0, 1, 2, 3])):
        sections.append(("profile", chance.choice([f"ID=p{n}\nTITLE=P {n}\n", "", "TITLE=x\n"])))
        if chance.random() < 0.7:
            sections.append(("cmdline", f"root=x {name} {chance.choice(['', OFF])}"))
        if chance.random() < 0.2:
            sections.append(("osrel", "ID=other\n"))
    return pe_of(sections)


def made_up_entry(chance):
    lines = [f"title {chance.choice('xyz')}"]
    for key, values in (("sort-key", ["debian", "Arch", "zzz"]), ("version", ["1", "12", "13", "2"]),
                        ("machine-id", [MID, "f" * 32])):
        if chance.random() < 0.6:
            lines.append(f"{key} {chance.choice(values)}")
    lines.append(chance.choice(["linux /vmlinuz", "linux /vmlinuz", "linux /vmlinuz",
                                "efi /EFI/other/x.efi", "efi /EFI/Linux/a.efi"]))
    if chance.random() < 0.8:
        lines.append(f"options root=x {chance.choice(['', OFF])}")
    return "\n".join(lines) + "\n"


def menu_order():
    """Made-up menus of both types: the same entry is booted next, with the same line, as bootctl
    says."""
    seed = int(os.environ.get("MEMCG_POLICY_SEED") or 11)
    chance = random.Random(seed)
    menus = 40
    names = ["a", "B", "debian-6.1", "debian-6.12", "arch-linux", "x-1", "x", "old+0-3", "new+3"]
    with Live({}) as m:
        m.must("rm -f /usr/sbin/u-boot-update")
        m.write({"/efivars/LoaderInfo-" + LOADER: b"\6\0\0\0" + "systemd-boot 257.7\0".encode("utf-16le")})
        for turn in range(menus):
            files = {f"/menus/{turn}/EFI/systemd/systemd-bootx64.efi": "",
                     f"/menus/{turn}/vmlinuz": "", f"/menus/{turn}/EFI/other/x.efi": "",
                     f"/menus/{turn}/loader/loader.conf": chance.choice(
                         ["", "", "default debian*\n", "default a.efi\n", "default *@p1\n",
                          "default x.conf\n", "default NOTHING\n", "default *.conf\n"])}
            for name in chance.sample(names, chance.randint(0, 4)):
                files[f"/menus/{turn}/EFI/Linux/{name}.efi"] = made_up_image(chance, name)
            for name in chance.sample(names, chance.randint(1, 4)):
                files[f"/menus/{turn}/loader/entries/{name}.conf"] = made_up_entry(chance)
            m.write(files)
        said = m.must(
            f"for i in $(seq 0 {menus - 1}); do umount /efi 2>/dev/null; mkdir -p /efi; "
            "mount -t tmpfs t /efi; cp -r /menus/$i/. /efi; "
            "SYSTEMD_RELAX_ESP_CHECKS=1 bootctl --esp-path=/efi list --json=short 2>/dev/null "
            "|| echo '[]'; memcg-policy entries --json=short 2>/dev/null; done").splitlines()
        compared = 0
        for turn in range(menus):
            theirs, ours = json.loads(said[2 * turn]), json.loads(said[2 * turn + 1])["entries"]
            theirs = [e for e in theirs if e["type"] in ("type1", "type2") and e.get("isDefault")]
            ours = [e for e in ours if e["default"]]
            where = f"seed {seed}, menu {turn}: {theirs} and {ours}"
            check(len(ours) <= 1, where)
            if not theirs:
                continue
            path = theirs[0]["path"]
            text = (m.root / f"menus/{turn}" / path.removeprefix("/efi/")).read_bytes()
            if not ours:  # a program of the partition
                check(path.endswith(".conf") and b"\nefi " in text, where)
                continue
            compared += 1
            line = theirs[0].get("options") or ""
            check((ours[0]["request"] == "off") == (OFF in line.split()), where)
            if ours[0]["source"] != path:  # an entry without options, for an image
                check(b"efi /EFI/Linux/a.efi" in text and b"\noptions" not in text
                      and ours[0]["source"].endswith("/a.efi"), where)
            elif path.endswith(".efi"):
                # bootctl calls the first profile by its name too, and systemd-boot does not
                name, _, profile = theirs[0]["id"].lower().partition("@")
                check(ours[0]["id"].lower() in (theirs[0]["id"].lower(),
                                                name if profile in ("p0", "0") else None), where)
        check(compared > menus / 2, f"only {compared} menus could be compared")
        return f"{compared} of {menus} menus"


# --- GRUB 2.14's own blscfg ---

class Grub:
    """grub-emu of sid: what GRUB would boot, entry by entry, by its own commands."""

    def __init__(self):
        tar = disk.bootstrap("sid", ["grub-emu", "grub-common"])
        self._dir = tempfile.mkdtemp(prefix="grub-", dir=vm.cache_dir())
        disk.unpack(tar, self._dir)
        self.root = pathlib.Path(self._dir)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self._dir)

    def line(self, number):
        """The command line of an entry, or None behind the last."""
        cfg = self.root / "boot/grub/grub.cfg"
        cfg.write_text("set pager=0\nset debug=linux\n"
                       "if [ -f (host)/boot/grub/env ]; then\n"
                       "load_env -f (host)/boot/grub/env\nfi\n"
                       "blscfg --path (host)/boot/loader/entries\n"
                       f"set timeout=0\nset default={number}\n")
        process = subprocess.Popen(["chroot", self._dir, "grub-emu", "-d", "/boot/grub", "-r",
                                    "host"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env={**os.environ, "TERM": "dumb"})
        said = b""
        # it says what it would run, and then waits for a key
        while b"use 'grub-emu" not in said and b"rror" not in said.replace(b"Mirror", b""):
            byte = os.read(process.stdout.fileno(), 4096)
            if not byte or len(said) > 1 << 20:
                break
            said += byte
        process.kill()
        process.wait()
        # a line that is too long for the screen is cut at a blank
        text = " ".join(re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", said).decode().split())
        found = re.search(r"--command-line=(.*?)'? ?use 'grub-emu", text)
        if not found:
            raise vm.Failed(f"grub-emu says: {text}")
        return found[1].rstrip("'").split()

    def lines(self, entries, kernels, environment=None):
        """The words of each entry of a directory, in the order of the menu."""
        target = self.root / "boot/loader/entries"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(entries, target)
        (self.root / "boot/grub").mkdir(parents=True, exist_ok=True)
        (self.root / "boot/grub/device.map").touch()
        (self.root / "boot/grub/env").unlink(missing_ok=True)
        if environment and environment.exists():
            shutil.copy(environment, self.root / "boot/grub/env")
        for kernel in kernels:
            path = self.root / kernel.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return [self.line(i) for i in range(len(list(target.iterdir())))]


def offline(root, *words):
    done = subprocess.run([PROGRAM, f"--root={root}", *words], capture_output=True, text=True,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}, check=False)
    check(done.returncode == 0, f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def blscfg():
    """Fixture roots of Fedora and RHEL: GRUB reads off, and then on, in every entry of ours."""
    with Grub() as grub, tempfile.TemporaryDirectory() as name:
        for release in BLS_ROOTS:
            root = pathlib.Path(name, release)
            loaders.make(root, ROOTS[release][1])
            for want in ("off", "on"):
                offline(root, "set", want)
                entries = json.loads(offline(root, "entries", "--json"))["entries"]
                kernels = [line.split()[1] for path in (root / "boot/loader/entries").iterdir()
                           for line in path.read_text().splitlines()
                           if line.startswith(("linux ", "initrd "))]
                words = grub.lines(root / "boot/loader/entries", kernels,
                                   root / "boot/grub2/grubenv")
                check(len(words) == len(entries), f"{release}: {len(words)} entries to GRUB")
                ours = [w for w, e in zip(words, entries, strict=True) if e["ours"]]
                check(ours and all((OFF in w) == (want == "off") for w in ours),
                      f"{release} {want}: GRUB reads {words}")
    return f"{len(BLS_ROOTS)} releases"


STEPS = [ukify, ukify_shared, ukify_secure, ukify_fails, other_loader, u_boot_menu, u_boot_fails,
         u_boot_hangs, flash_kernel,
         ostree, rpm_ostree, bootc, kernel_install, menu_order, blscfg]
BLS_ROOTS = [name for name, what in ROOTS.items() if what[0] == "bls"]


def main(names):
    if os.geteuid() != 0:
        print("SKIP live: needs root")
        return 77
    failed = 0
    for step in STEPS:
        if names and step.__name__ not in names:
            continue
        try:
            note = step()
            print(f"ok {step.__name__} {note or ''}".strip(), flush=True)
        except vm.Failed as error:
            failed += 1
            print(f"FAIL {step.__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except vm.Skipped as reason:
        print(f"SKIP live: {reason}")
        sys.exit(77)
