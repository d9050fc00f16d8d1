#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The RPM packages: built from the spec with rpmbuild, read by rpmlint, installed with rpm --root
into an empty root, verified and erased."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "test/vm"))

import disk  # noqa: E402
import vm  # noqa: E402


def expect(condition, text):
    if not condition:
        raise vm.Failed(text)


class Packages:
    def __init__(self, work):
        self.out = pathlib.Path(work) / "out"
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

    def builds(self):
        vm.need("rpmbuild", "rpm")
        disk.run([TREE / "packaging/rpm/build.sh", self.out])
        names = sorted(p.name.rsplit("-", 2)[0] for p in self.out.iterdir())
        expect(names == ["memcg-policy", "memcg-policy", "memcg-policy-dracut"], f"built: {names}")

    def lint(self):
        vm.need("rpmlint")
        rpms = sorted(self.out.iterdir())
        spec = TREE / "packaging/rpm/memcg-policy.spec"
        said = disk.run(["rpmlint", "-r", TREE / "packaging/rpm/rpmlintrc", *rpms, spec])
        expect(" 0 errors, 0 warnings" in said, said)

    def installs(self):
        """Into a root that has a shell for the scriptlets and nothing else."""
        vm.need("busybox")
        (self.root / "bin").mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), self.root / "bin/sh")
        before = self.files()
        binaries = [str(p) for p in sorted(self.out.iterdir()) if not p.name.endswith(".src.rpm")]
        self.rpm("--install", "--nodeps", *binaries)
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
        for when in ("in", "postun"):
            wanted = f"transfiletrigger{when} scriptlet (using /bin/sh) -- /etc/systemd/system, /usr/lib/systemd/system"
            expect(wanted in scripts, f"file triggers: {scripts}")
        priorities = self.rpm("--query", "--queryformat", "[%{TRANSFILETRIGGERPRIORITIES} ]", "memcg-policy")
        expect(priorities.split() == ["100000"] * 2, f"priorities of the file triggers: {priorities}")

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


STEPS = [
    ("build", Packages.builds),
    ("rpmlint", Packages.lint),
    ("install into an empty root, verify", Packages.installs),
    ("file triggers", Packages.triggers),
    ("erase", Packages.erases),
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
