#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The loaders' own tools, as Debian packages them, run by memcg-policy on a live root, and the same
tools as judges of what came out.

live.py [STEP...]; without steps all of them. A step gets a fresh root. Needs root.
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "vm")]

import disk  # noqa: E402
import vm  # noqa: E402
from roots import MID, uki  # noqa: E402

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
        """An EFI variable: text as UTF-16, or bytes."""
        if isinstance(value, str):
            value = (value + "\0").encode("utf-16le")
        self.write({f"/efivars/{name}-{vendor}": struct.pack("<I", 6) + value})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self._dir)

    def run(self, script):
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child",
                               "--propagation=private", "sh", str(HERE / "enter.sh"),
                               str(self.root), str(PROGRAM.parent), script],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout

    def must(self, script, status=0):
        got, output = self.run(script)
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


STEPS = [ukify, ukify_shared, ukify_secure, ukify_fails]


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
