#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The RPM packages: built from the spec with rpmbuild, read by rpmlint, installed with rpm --root
into an empty root, verified and erased; in a root with an operating system, upgraded, and its file
triggers watched."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "test/vm"))

import deb  # noqa: E402
import disk  # noqa: E402
import vm  # noqa: E402

# a package of nothing but a unit: what file triggers are for
UNIT_SPEC = """Name: unit
Version: 1
Release: 1
Summary: x
License: x
BuildArch: noarch
%description
x
%install
mkdir -p %{buildroot}/usr/lib/systemd/system
printf '[Service]\\nExecStart=/bin/true\\n' >%{buildroot}/usr/lib/systemd/system/unit.service
%files
/usr/lib/systemd/system/unit.service
"""
expect = deb.expect


class Packages:
    def __init__(self, work):
        self.out = pathlib.Path(work) / "out"
        self.next = pathlib.Path(work) / "next"
        self.root = pathlib.Path(work) / "root"

    def rpm(self, *arguments):
        done = subprocess.run(
            ["rpm", "--root", self.root, "--dbpath", "/var/lib/rpm", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        expect(done.returncode == 0, f"rpm {' '.join(arguments)} exited with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def files(self):
        """All of the root but rpm's own database."""
        return {
            str(p.relative_to(self.root))
            for p in self.root.rglob("*")
            if not p.is_dir() and "lib/rpm" not in str(p)
        }

    @staticmethod
    def binaries(directory):
        return [str(p) for p in sorted(directory.glob("*.rpm")) if not p.name.endswith(".src.rpm")]

    def builds(self):
        vm.need("rpmbuild", "rpm")
        disk.run([TREE / "packaging/rpm/build.sh", self.out])
        names = sorted(p.name.rsplit("-", 2)[0] for p in self.out.iterdir())
        expect(names == ["memcg-policy", "memcg-policy", "memcg-policy-dracut"], f"built: {names}")

    def builds_next(self):
        """The same, as a newer release."""
        disk.run([TREE / "packaging/rpm/build.sh", self.next, "--nocheck", "--define", "dist .2"])
        (self.next / "unit.spec").write_text(UNIT_SPEC)
        disk.run(["rpmbuild", "-bb", "--define", f"_topdir {self.next}/unit", self.next / "unit.spec"])

    def lint(self):
        vm.need("rpmlint")
        rpms = sorted(self.out.iterdir())
        spec = TREE / "packaging/rpm/memcg-policy.spec"
        said = disk.run(["rpmlint", "-r", TREE / "packaging/rpm/rpmlintrc", *rpms, spec])
        expect(" 0 errors, 0 warnings" in said, said)

    def installs(self):
        """Into a root that has a shell for the scriptlets and nothing else."""
        vm.need("busybox")
        self.root.mkdir()
        (self.root / "bin").mkdir()
        shutil.copy(shutil.which("busybox"), self.root / "bin/sh")
        before = self.files()
        self.rpm("--install", "--nodeps", *self.binaries(self.out))
        listed = set(self.rpm("--query", "--all", "--list").split())
        new = {f"/{p}" for p in self.files() - before}
        expect(new <= listed, f"scriptlets made {sorted(new - listed)}")
        outside = [p for p in new if not p.startswith("/usr/")]
        expect(not outside, f"installed outside /usr: {outside}")
        said = self.rpm("--verify", "--nodeps", "--all")
        expect(not said.strip(), f"rpm --verify: {said}")

    def triggers(self):
        """Units of other packages are looked at after systemd's own trigger has reloaded."""
        scripts = self.rpm("--query", "--filetriggers", "memcg-policy")
        paths = "/usr/lib/systemd/system", "/etc/systemd/system"
        for when, where in (("in", ", ".join(reversed(paths))), ("postun", paths[0]), ("postun", paths[1])):
            wanted = f"transfiletrigger{when} scriptlet (using /bin/sh) -- {where}\n"
            expect(wanted in scripts, f"file triggers: {scripts}")
        priorities = self.rpm("--query", "--queryformat", "[%{TRANSFILETRIGGERPRIORITIES} ]", "memcg-policy")
        expect(priorities.split() == ["100000"] * 3, f"priorities of the file triggers: {priorities}")

    def erases(self):
        """What "set" wrote stays, and one line says so."""
        config = self.root / "etc/memcg-policy/policy.conf.d/50-set.conf"
        config.parent.mkdir(parents=True)
        config.write_text("[Policy]\nMemcg=off\n")
        said = self.rpm("--erase", "--nodeps", "memcg-policy-dracut", "memcg-policy").splitlines()
        said = [line for line in said if not line.startswith("rpm: ")]  # Debian's rpm warns of itself
        expect(len(said) == 1 and "memcg-policy unset" in said[0], f"erasing said: {said}")
        left = self.files() - {"bin/sh", str(config.relative_to(self.root))}
        expect(not left and config.exists(), f"left after erasing: {sorted(left)}")

    # --- in a root with an operating system, where the program runs ---

    def configuration(self):
        """path -> bytes of all that is configured and boots."""
        tops = [self.root / "etc", self.root / "boot", self.root / "var/lib/memcg-policy"]
        return {str(p): p.read_bytes() for top in tops for p in top.rglob("*") if p.is_file() and not p.is_symlink()}

    def system(self):
        shutil.rmtree(self.root)
        self.root.mkdir()
        disk.unpack(disk.bootstrap("bookworm", deb.CLEAN), self.root)
        for name, text in {
            "etc/default/grub": 'GRUB_CMDLINE_LINUX="quiet"\n',
            "etc/default/grub.d/x.cfg": "",
            "boot/grub/grub.cfg": "menu\n",
            "usr/sbin/grub-mkconfig": "#!/bin/sh\n# ${sysconfdir}/default/grub.d/*.cfg\n",
        }.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        before = self.configuration()
        self.rpm("--install", "--nodeps", *self.binaries(self.out))
        expect(self.configuration() == before, "installing changed a configuration")

    def triggers_fire(self):
        """A package with a unit comes and goes; a program that fails harms nobody."""
        program, calls = self.root / "usr/bin/memcg-policy", self.root / "calls"
        real = program.read_bytes()
        unit = str(next(self.next.glob("unit/RPMS/noarch/*.rpm")))
        for status, booted in ((0, False), (1, False), (0, True), (1, True)):
            if booted:
                (self.root / "run/systemd/system").mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\necho "$*" >>/calls\nexit {status}\n')
            for action, wanted in (
                (["--install", "--nodeps", unit], ["apply --hook", "warn"] if booted else ["apply --hook"]),
                (["--erase", "unit"], ["apply --hook"]),
            ):
                calls.write_text("")
                self.rpm(*action)
                seen = calls.read_text().splitlines()
                expect(seen == wanted, f"{action[0]}: the file trigger ran {seen}, expected {wanted}")
        shutil.rmtree(self.root / "run/systemd/system")
        calls.unlink()
        program.write_bytes(real)

    def upgrades(self):
        """What "set" wrote stays as it is, and so does all else; one release is left."""
        set_off = "memcg-policy --root=/ set off && memcg-policy --root=/ check"
        done = subprocess.run(["chroot", self.root, "sh", "-c", set_off], capture_output=True, text=True)
        expect(done.returncode in (0, 3, 4), f"{set_off}: {done.returncode}\n{done.stdout}{done.stderr}")
        before = self.configuration()
        expect(any("50-set.conf" in name for name in before), "set wrote no policy")
        said = self.rpm("--upgrade", "--nodeps", *self.binaries(self.next))
        expect("kept" not in said, f"an upgrade acted like a removal: {said}")
        expect(self.configuration() == before, "an upgrade changed a configuration")
        names = self.rpm("--query", "--queryformat", "%{NAME}-%{RELEASE} ", "memcg-policy", "memcg-policy-dracut")
        expect(names.split() == ["memcg-policy-1.2", "memcg-policy-dracut-1.2"], f"installed after the upgrade: {names}")
        said = self.rpm("--verify", "--nodeps", "--all")
        expect(not said.strip(), f"rpm --verify: {said}")
        said = self.rpm("--erase", "--nodeps", "memcg-policy-dracut", "memcg-policy")
        expect(said.count("memcg-policy unset") == 1, f"erasing said: {said}")
        expect(self.configuration() == before, "erasing changed a configuration")


STEPS = [
    ("build", Packages.builds),
    ("rpmlint", Packages.lint),
    ("install into an empty root, verify", Packages.installs),
    ("file triggers", Packages.triggers),
    ("erase", Packages.erases),
    ("a newer release", Packages.builds_next),
    ("install into a system", Packages.system),
    ("file triggers fire", Packages.triggers_fire),
    ("upgrade", Packages.upgrades),
]


def main():
    if os.geteuid() != 0:
        print("SKIP packaging: not root")
        return 77
    report = vm.Report()
    with tempfile.TemporaryDirectory(prefix="rpm-") as work:
        report.run("rpm", STEPS, Packages(work))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
