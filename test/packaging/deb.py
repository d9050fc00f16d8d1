#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian packages: built, looked at, installed, upgraded, removed and purged in a clean root.

  deb.py [SUITE...]       bookworm (the default), trixie, sid: built in a root of that suite
  deb.py --here           built on this system, twice with different surroundings: the same bytes

Nothing of the root is mounted or started: it is what an image build or a chroot is to dpkg.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "test/vm"))

import disk  # noqa: E402
import vm  # noqa: E402

BUILD = ["build-essential", "git", "lintian", "libjson-xs-perl"]
CLEAN = ["libjson-c5", "libsmartcols1", "systemd"]
TESTBED = [*CLEAN, "apt", "autopkgtest", "dpkg-dev", "dracut-core", "grub-common", "python3"]
DROPIN = "etc/default/grub.d/zz-memcg-policy.cfg"
HOOK = "/etc/kernel/postinst.d/zzz-memcg-policy"

# packages of nothing but a unit, in both names of the unit directory: what triggers are for
UNIT_PACKAGE = """set -e
mkdir -p x/DEBIAN x{dir}
printf '[Service]\\nExecStart=/bin/true\\n' >x{dir}/{name}.service
printf 'Package: {name}\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@example.org>\\n' >x/DEBIAN/control
printf 'Description: x\\n' >>x/DEBIAN/control
dpkg-deb -b x {name}.deb >/dev/null
"""


def expect(condition, text):
    if not condition:
        raise vm.Failed(text)


def build_dependencies(suite):
    """Their names; of alternatives the first is what newer releases have."""
    text = (TREE / "packaging/deb/control").read_text()
    field = re.search(r"^Build-Depends:(.*?)^\S", text, re.M | re.S).group(1)
    entries = [entry.split("|")[-1 if suite == "bookworm" else 0] for entry in field.split(",")]
    names = [re.split(r"[ (<]", entry.strip())[0] for entry in entries]
    return ["debhelper" if n == "debhelper-compat" else n for n in names]


def source_tar(path):
    """The tree as git sees it, with what is not committed yet."""
    names = subprocess.run(
        ["git", "-C", TREE, "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, check=True
    ).stdout
    subprocess.run(
        ["tar", "-C", TREE, "--null", "--ignore-failed-read", "-T", "-", "-cf", path],
        input=names, check=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def sums(directory):
    return {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(directory.iterdir())
        if p.suffix in (".deb", ".dsc", ".xz")
    }


def expect_same(directory, other):
    first, second = sums(directory), sums(other)
    different = [n for n in first.keys() | second.keys() if first.get(n) != second.get(n)]
    expect(first and not different, f"two builds differ in {' '.join(sorted(different))}")


class Packages:
    """One suite: where the packages are, and the root they are tried in."""

    def __init__(self, suite, work):
        self.suite = suite
        self.work = pathlib.Path(work)
        self.out = self.work / "out"
        self.root = self.work / "root"

    def deb(self, name="memcg-policy"):
        found = list(self.out.glob(f"{name}_*.deb"))
        expect(len(found) == 1, f"{len(found)} packages called {name} in {self.out}")
        return found[0]

    # --- building ---

    def build_here(self):
        """On this system, twice: another path (dpkg can map those without blanks), umask, zone, language and number of jobs."""
        vm.need("dpkg-buildpackage", "dh")
        script = str(TREE / "packaging/deb/build.sh")
        env = dict(os.environ, DEB_BUILD_OPTIONS="nocheck", TZ="UTC")
        disk.run([script, self.out], env=env)
        other = self.work / "elsewhere"
        (other / "tmp").mkdir(parents=True)
        env.update(
            DEB_BUILD_OPTIONS="nocheck parallel=2", TZ="Asia/Kathmandu", LC_ALL="C.UTF-8", TMPDIR=str(other / "tmp")
        )
        disk.run(["sh", "-c", 'umask 027; exec "$0" "$1"', script, other / "out"], env=env)
        expect_same(self.out, other / "out")

    def build_in_root(self):
        """In a root of the suite, with the tests that debian/rules runs and again without: the same
        bytes; then lintian of the suite."""
        packages = BUILD + [p for p in build_dependencies(self.suite) if p not in BUILD]
        with tempfile.TemporaryDirectory(prefix="deb-build-", dir=vm.cache_dir()) as root:
            root = pathlib.Path(root)
            root.chmod(0o755)
            disk.unpack(disk.bootstrap(self.suite, packages), root)
            (root / "src").mkdir()
            source_tar(root / "src.tar")
            disk.run(["tar", "-C", root / "src", "-xf", root / "src.tar"])
            # no network and no host processes; its own /proc, for tests and tools
            inside = ["unshare", "--mount", "--pid", "--net", "--fork", f"--mount-proc={root}/proc", "chroot", root]
            clean = [*inside, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"]
            disk.run([*clean, "/src/packaging/deb/build.sh", "/out"])
            other = ["TZ=Asia/Kathmandu", "DEB_BUILD_OPTIONS=nocheck parallel=2", "TMPDIR=/var/tmp"]
            disk.run([*clean, *other, "sh", "-c", "umask 027; exec /src/packaging/deb/build.sh /again"])
            expect_same(root / "out", root / "again")
            options = "--allow-root --pedantic -I --tag-display-limit 0"
            if self.suite != "bookworm":
                options += " --suppress-tags-from-file /src/packaging/deb/newer.tags"
            lint = disk.run([*inside, "sh", "-c", f"lintian {options} /out/*.changes"])
            shutil.copytree(root / "out", self.out)
        expect(not lint.strip(), f"lintian:\n{lint}")

    def lintian(self):
        vm.need("lintian")
        changes = next(self.out.glob("*.changes"))
        lint = disk.run(["lintian", "--allow-root", "--pedantic", "-I", "--tag-display-limit", "0", changes])
        expect(not lint.strip(), f"lintian:\n{lint}")

    def libraries(self):
        """Every library that the program opens on demand is in Depends or Recommends, by its
        priority, and none is recommended that it does not open."""
        vm.need("objcopy")
        tree = self.work / "unpacked"
        disk.run(["dpkg-deb", "-x", self.deb(), tree])
        note = self.work / "note"
        disk.run(["objcopy", "-O", "binary", "--only-section=.note.dlopen", tree / "usr/bin/memcg-policy", note])
        texts = re.findall(rb'\[\{"feature".*?\}\]', note.read_bytes())
        sonames = {"required": set(), "suggested": set()}
        for entry in (entry for text in texts for entry in json.loads(text)):
            sonames[entry["priority"]].update(entry["soname"])
        expect(all(sonames.values()), "the program's .note.dlopen lacks entries")
        # libfoo.so.1 is in libfoo1
        needed = {s.replace(".so.", "") for s in sonames["required"]}
        depends = re.split(r"[ (,|]+", disk.run(["dpkg-deb", "-f", self.deb(), "Depends"]))
        expect(needed <= set(depends), f"must be there, and is not in Depends: {needed}")
        field = disk.run(["dpkg-deb", "-f", self.deb(), "Recommends"]).strip()
        # t64 marks libraries with 64-bit time
        wanted = {"zlib1g" if s == "libz.so.1" else s.replace(".so.", "") for s in sonames["suggested"]}
        unmatched = []
        for group in field.split(", "):
            names = {n.strip().removesuffix("t64") for n in group.split("|")}
            if not names & wanted:
                unmatched.append(group)
            wanted -= names
        expect(not wanted, f"opened but not recommended: {' '.join(sorted(wanted))}; Recommends: {field}")
        expect(not unmatched, f"recommended but never opened: {', '.join(unmatched)}")

    # --- installing ---

    def chroot(self, script, status=0):
        done = subprocess.run(
            ["chroot", self.root, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "sh", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        expect(done.returncode == status, f"exit status {done.returncode}, expected {status}: {script}\n{done.stdout}")
        return done.stdout

    def snapshot(self):
        """What boots the machine and what is configured: path -> bytes or link."""
        seen = {}
        for top in ("boot", "etc", "var/lib/memcg-policy"):
            for p in sorted((self.root / top).rglob("*")):
                name = str(p.relative_to(self.root))
                if name.startswith(("etc/systemd/system/multi-user.target.wants", HOOK.lstrip("/"))):
                    continue  # the package's own unit and conffile
                if p.is_symlink():
                    seen[name] = os.readlink(p)
                elif p.is_file():
                    seen[name] = p.read_bytes()
        return seen

    def clean_root(self):
        self.root.mkdir()
        disk.unpack(disk.bootstrap(self.suite, CLEAN), self.root)
        for deb in (self.deb(), self.deb("memcg-policy-dracut")):
            shutil.copy(deb, self.root / "tmp" / deb.name.split("_")[0])
        # a boot loader whose calls can be counted
        (self.root / "boot/grub").mkdir(parents=True)
        (self.root / "boot/grub/grub.cfg").write_text("menu\n")
        update = self.root / "usr/sbin/update-grub"
        update.write_text("#!/bin/sh\necho called >>/tmp/update-grub.calls\n")
        update.chmod(0o755)

    def update_grub_calls(self):
        calls = self.root / "tmp/update-grub.calls"
        text = calls.read_text() if calls.exists() else ""
        calls.unlink(missing_ok=True)
        return text.count("called")

    def configure(self):
        """What "set" leaves behind, written by hand: these tests are about the scripts."""
        for name, text in {
            DROPIN: 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX cgroup_disable=memory"\n',
            "etc/memcg-policy/policy.conf.d/50-set.conf": "[Policy]\nMemcg=off\n",
            "var/lib/memcg-policy/history": "x\n",
        }.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def installs(self):
        before = self.snapshot()
        self.chroot("dpkg -i /tmp/memcg-policy")
        expect(self.snapshot() == before, "installing changed files below /etc, /boot or /var/lib/memcg-policy")
        expect(self.update_grub_calls() == 0, "installing ran update-grub")
        self.chroot("memcg-policy --version && dpkg -V memcg-policy")
        enabled = self.root / "etc/systemd/system/multi-user.target.wants/memcg-policy-warn.service"
        expect(enabled.is_symlink(), "memcg-policy-warn.service is not enabled")

    def hooks(self):
        """The kernel hook and the plugin behind it: they look, speak on stderr, and exit 0 always."""
        program = self.root / "usr/bin/memcg-policy"
        real = program.read_bytes()
        plugin = "/usr/lib/kernel/install.d/95-memcg-policy.install"
        calls = [
            # environment and command, does it look, what it calls the kernel
            (f"{HOOK} 6.1.0-1-amd64 /boot/vmlinuz-6.1.0-1-amd64", True, "6.1.0-1-amd64"),
            (f"DEB_MAINT_PARAMS=configure {HOOK} 6.1", True, "6.1"),
            (f"DEB_MAINT_PARAMS=\"'configure' '6.0'\" {HOOK} 6.1 /boot/x", True, "6.1"),
            (f"DEB_MAINT_PARAMS=\"'triggered' 'x'\" {HOOK} 6.1", False, ""),
            (f"DEB_MAINT_PARAMS='abort-remove' {HOOK} 6.1", False, ""),
            (f"DEB_MAINT_PARAMS='* configure' {HOOK} 6.1", False, ""),
            (f"{HOOK}", True, ""),
            (f"{HOOK} 'a b*' -n", True, "a b*"),
            (f"{plugin} add 6.1 /boot/x /boot/vmlinuz", True, "6.1"),
            (f"{plugin} remove 6.1 /boot/x", False, ""),
            (f"{plugin} inspect", False, ""),
            (f"{plugin}", False, ""),
        ]
        for status in (0, 1, 3, 4, 5, 6, 7, 127):
            program.write_text(f'#!/bin/sh\necho "$*" >>/tmp/checks\necho a problem\nexit {status}\n')
            for call, looks, kernel in calls:
                said = self.chroot(f"{call} 2>/tmp/stderr")
                expect(not said, f"{call}: on stdout: {said}")
                said = (self.root / "tmp/stderr").read_text()
                checks = self.root / "tmp/checks"
                seen = checks.read_text() if checks.exists() else ""
                checks.unlink(missing_ok=True)
                expect(seen == ("check\n" if looks else ""), f"{call}: ran {seen}")
                speaks = looks and status in (1, 3, 5)
                wanted = f"memcg-policy, after kernel {kernel}:\na problem\n" if speaks else ""
                expect(said == wanted, f"{call}, check exits with {status}: {said!r}, expected {wanted!r}")
        program.unlink()
        for call, _, _ in calls:
            said = self.chroot(f"{call} 2>&1")
            expect(not said, f"{call}, without the program: {said}")
        program.write_bytes(real)
        program.chmod(0o755)

    def triggered(self):
        """A package with a unit, in either directory, runs the re-check; a failing one harms nobody."""
        program = self.root / "usr/bin/memcg-policy"
        real = program.read_bytes()
        for status in (0, 1):
            program.write_text(f'#!/bin/sh\necho "$*" >>/tmp/checks\nexit {status}\n')
            for name, where in (("unit-a", "/lib/systemd/system"), ("unit-b", "/usr/lib/systemd/system")):
                made = UNIT_PACKAGE.format(dir=where, name=name)
                self.chroot(f"rm -rf /tmp/x; cd /tmp && {made} dpkg -i /tmp/{name}.deb && dpkg -P {name}")
                checks = self.root / "tmp/checks"
                seen = checks.read_text().splitlines() if checks.exists() else []
                checks.unlink(missing_ok=True)
                expect(seen == ["apply --hook"] * 2, f"a unit in {where}: the trigger ran {seen}")
        program.write_bytes(real)
        self.chroot("dpkg -V memcg-policy")

    def upgrades(self):
        self.configure()
        before = self.snapshot()
        said = self.chroot("dpkg -i /tmp/memcg-policy")
        expect(self.snapshot() == before, "an upgrade changed the configuration")
        expect("kept" not in said and self.update_grub_calls() == 0, f"an upgrade acted like a removal: {said}")

    def removes(self):
        before = self.snapshot()
        said = [line for line in self.chroot("dpkg -r memcg-policy").splitlines() if "memcg-policy: " in line]
        expect(self.snapshot() == before, "removing changed the configuration")
        expect(len(said) == 1 and "memcg-policy unset" in said[0], f"removing said: {said}")
        expect(f"/{DROPIN}" in said[0] and "/etc/memcg-policy" in said[0], f"removing said: {said}")
        expect(self.update_grub_calls() == 0, "removing ran update-grub")
        expect(not (self.root / "usr/bin/memcg-policy").exists(), "the program is still there")
        # what is left in /etc works without the program
        said = self.chroot(f"{HOOK} 6.1.0-1-amd64 /boot/vmlinuz-6.1.0-1-amd64; sh -n /{DROPIN}")
        expect(not said, f"the kernel hook without the program said: {said}")

    def purges(self):
        self.chroot("dpkg -P memcg-policy")
        expect(self.update_grub_calls() == 1, "purging did not run update-grub once")
        for path in (DROPIN, "etc/memcg-policy", "var/lib/memcg-policy", HOOK.lstrip("/")):
            expect(not (self.root / path).exists(), f"purging left /{path}")
        self.chroot("dpkg -i /tmp/memcg-policy && dpkg -P memcg-policy")
        expect(self.update_grub_calls() == 0, "purging ran update-grub although nothing was set")

    def purges_elsewhere(self):
        """No boot menu, no update-grub, one that fails, a container: purge does its part, or less."""
        menu, program = self.root / "boot/grub/grub.cfg", self.root / "usr/sbin/update-grub"
        for case in ("no menu", "no update-grub", "failing update-grub", "container"):
            self.chroot("dpkg -i /tmp/memcg-policy")
            self.configure()
            hidden = {"no menu": menu, "no update-grub": program}.get(case)
            kept = program.read_text()
            if hidden:
                hidden.rename(hidden.with_suffix(".hidden"))
            elif case == "container":
                (self.root / "run/systemd").mkdir(exist_ok=True)
                (self.root / "run/systemd/container").write_text("lxc\n")
            else:
                program.write_text(kept + "exit 1\n")
            said = self.chroot("dpkg -P memcg-policy")
            calls = self.update_grub_calls()
            expect(calls == (case == "failing update-grub"), f"{case}: {calls} calls of update-grub")
            expect(not calls or "update-grub failed" in said, f"{case}: nothing said of the failure")
            expect(("not mounted" in said) == (case == "no menu"), f"{case}: purging said {said}")
            expect(not (self.root / DROPIN).exists(), f"{case}: the drop-in is still there")
            if hidden:
                hidden.with_suffix(".hidden").rename(hidden)
            else:
                program.write_text(kept)
            (self.root / "run/systemd/container").unlink(missing_ok=True)

    def comes_and_goes(self):
        """States that dpkg and admins leave behind: none loses what was set, none stops dpkg."""
        self.configure()
        defaults, hook = self.root / "etc/default/grub", self.root / HOOK.lstrip("/")
        typed = 'GRUB_CMDLINE_LINUX="cgroup_disable=memory"\n'
        defaults.write_text(typed)
        policy_rc = self.root / "usr/sbin/policy-rc.d"
        policy_rc.write_text("#!/bin/sh\nexit 101\n")
        policy_rc.chmod(0o755)
        before = self.snapshot()
        for case, script in {
            "unpacked only, then removed": "dpkg --unpack /tmp/memcg-policy && dpkg -r memcg-policy",
            "unpacked twice, then configured": "dpkg --unpack /tmp/memcg-policy && dpkg --unpack /tmp/memcg-policy"
            " && dpkg --configure -a",
            "removed, installed again": "dpkg -r memcg-policy && dpkg -i /tmp/memcg-policy",
            "half-configured": "printf '#!/bin/sh\\nexit 1\\n' >/tmp/fails && chmod +x /tmp/fails"
            " && cp /var/lib/dpkg/info/memcg-policy.postinst /tmp/postinst && dpkg --unpack /tmp/memcg-policy"
            " && cp /tmp/fails /var/lib/dpkg/info/memcg-policy.postinst && ! dpkg --configure memcg-policy"
            " && cp /tmp/postinst /var/lib/dpkg/info/memcg-policy.postinst && dpkg --configure -a",
            "half-configured, then upgraded": "cp /var/lib/dpkg/info/memcg-policy.postinst /tmp/postinst"
            " && dpkg --unpack /tmp/memcg-policy && cp /tmp/fails /var/lib/dpkg/info/memcg-policy.postinst"
            " && ! dpkg --configure memcg-policy && dpkg -i /tmp/memcg-policy",
        }.items():
            self.chroot(script)
            expect(self.snapshot() == before, f"{case}: a configuration changed")
            expect(self.update_grub_calls() == 0, f"{case}: update-grub was run")
        # places that cannot be written, or are full, while maintainer scripts run
        for where in ("/boot", "/etc/systemd", "/var/lib/systemd"):
            for options in ("ro", "size=4k,nr_inodes=1"):
                mount = f"mount -t tmpfs -o {options} none {where}"
                command = ["unshare", "--mount", "chroot", self.root, "sh", "-c", f"{mount} && dpkg -i /tmp/memcg-policy"]
                disk.run(command)
                expect(self.snapshot() == before, f"{where} ({options}): a configuration changed")
        # the hook is a conffile: an edited one is its owner's
        hook.write_text("#!/bin/sh\n# mine\n")
        self.chroot("dpkg -i /tmp/memcg-policy </dev/null && dpkg -r memcg-policy && dpkg -i /tmp/memcg-policy </dev/null")
        expect("# mine" in hook.read_text(), "an upgrade replaced an edited conffile")
        self.chroot("dpkg -r memcg-policy && dpkg -P memcg-policy")
        expect(not hook.exists() and not (self.root / DROPIN).exists(), "purge left the hook or the drop-in")
        expect(defaults.read_text() == typed, "purge took out a word that the admin had typed")
        expect(self.update_grub_calls() == 1, "purge did not run update-grub once")
        for path in (defaults, policy_rc):
            path.unlink()

    def purges_others(self):
        """Other loaders, set by the real program: a file of our own goes, an edited one is named and left."""
        menu = self.root / "boot/grub/grub.cfg"
        menu.rename(menu.with_suffix(".hidden"))
        cases = {
            "u-boot-update": ("etc/u-boot-menu/conf.d/zz-memcg-policy.conf", "etc/default/u-boot", "\n"),
            "flash-kernel": (
                None,
                "etc/default/flash-kernel",
                'LINUX_KERNEL_CMDLINE="quiet"\nLINUX_KERNEL_CMDLINE_DEFAULTS=""\n',
            ),
        }
        (self.root / "boot/extlinux").mkdir(exist_ok=True)
        (self.root / "boot/extlinux/extlinux.conf").write_text("")
        (self.root / "etc/u-boot-menu").mkdir(exist_ok=True)
        for name, (own, edited, text) in cases.items():
            self.chroot("dpkg -i /tmp/memcg-policy")
            program = self.root / "usr/sbin" / name
            program.write_text("#!/bin/sh\n# reads /etc/u-boot-menu/conf.d\necho called >>/tmp/update-grub.calls\n")
            program.chmod(0o755)
            (self.root / edited).write_text(text)
            self.chroot("memcg-policy --root=/ set off")
            expect(not own or (self.root / own).exists(), f"{name}: {own} is not there")
            changed = (self.root / edited).read_text()
            expect(bool(own) == (changed == text), f"{name}: {edited} has {changed}")
            self.update_grub_calls()
            said = self.chroot("dpkg -r memcg-policy")
            expect(f"/{own or edited}" in said, f"{name}: removing said {said}")
            said = self.chroot("dpkg -P memcg-policy")
            expect((self.root / edited).read_text() == changed, f"{name}: purging edited {edited}")
            expect(bool(own) == (f"/{edited}" not in said), f"{name}: purging said {said}")
            expect(not own or not (self.root / own).exists(), f"{name}: purging left {own}")
            expect(self.update_grub_calls() == bool(own), f"{name}: not run once for a file of our own, or run without")
            for path in (program, self.root / edited):
                path.unlink()
        menu.with_suffix(".hidden").rename(menu)

    def other_root(self):
        """dpkg --root with scripts that are not chrooted: nothing of the outer system is touched."""
        self.configure()
        before = self.snapshot()
        options = "--root=/target --force-script-chrootless"
        self.chroot(
            "mkdir -p /target/var/lib/dpkg && cp -R /var/lib/dpkg/. /target/var/lib/dpkg && "
            f"mkdir -p /target/etc/memcg-policy && dpkg {options} -i /tmp/memcg-policy"
        )
        said = self.chroot(f"dpkg {options} -r memcg-policy")
        expect("kept: /etc/memcg-policy;" in said, f"removing from another root said: {said}")
        self.chroot(
            f"mkdir -p /target/etc/default/grub.d && cp /{DROPIN} /target/{DROPIN} && dpkg {options} -P memcg-policy"
        )
        expect(not (self.root / "target" / DROPIN).exists(), "purge left the drop-in in the other root")
        expect(not (self.root / "target/etc/memcg-policy").exists(), "purge left the policy in the other root")
        expect(self.snapshot() == before, "the outer system was changed")
        expect(self.update_grub_calls() == 0, "update-grub ran for another root")

    def autopkgtests(self):
        """What Debian's own runner makes of packaging/deb/tests; "reboot" needs a machine, which is ./dev vm."""
        with tempfile.TemporaryDirectory(prefix="deb-testbed-", dir=vm.cache_dir()) as root:
            root = pathlib.Path(root)
            root.chmod(0o755)
            disk.unpack(disk.bootstrap(self.suite, TESTBED), root)
            for name in ("memcg-policy", "memcg-policy-dracut"):
                shutil.copy(self.deb(name), root / "tmp")
            (root / "src").mkdir()
            source_tar(root / "src.tar")
            disk.run(["tar", "-C", root / "src", "-xf", root / "src.tar"])
            shutil.copytree(root / "src/packaging/deb", root / "src/debian")
            script = "autopkgtest --no-built-binaries /tmp/*.deb /src -- null || [ $? = 2 ]"
            command = ["unshare", "--mount", "--pid", "--net", "--fork", f"--mount-proc={root}/proc", "chroot", root]
            said = disk.run([*command, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "sh", "-c", script])
        results = dict(re.findall(r"^(\S+) +(PASS|FAIL|SKIP|FLAKY)\b", said.rpartition("@@ summary")[2], re.M))
        print(f"{self.suite}: autopkgtest: {results}")
        wanted = {"version": "PASS", "offline": "PASS", "hooks": "PASS", "reboot": "SKIP"}
        expect(results == wanted, f"expected {wanted}:\n{said}")

    def dracut(self):
        """The module's package holds the module and nothing else."""
        names = disk.run(["dpkg-deb", "-c", self.deb("memcg-policy-dracut")])
        files = [line.split()[5] for line in names.splitlines() if not line.startswith("d")]
        module = [f for f in files if f.startswith("./usr/lib/dracut/modules.d/50memcg-policy/")]
        documents = [f for f in files if f.startswith(("./usr/share/doc/", "./usr/share/lintian/"))]
        expect(module and len(module) + len(documents) == len(files), f"memcg-policy-dracut has {files}")


INSTALL = [
    ("dracut module", Packages.dracut),
    ("clean root", Packages.clean_root),
    ("install", Packages.installs),
    ("trigger", Packages.triggered),
    ("kernel hooks", Packages.hooks),
    ("upgrade", Packages.upgrades),
    ("remove", Packages.removes),
    ("purge", Packages.purges),
    ("purge without a boot loader", Packages.purges_elsewhere),
    ("half-way states, full and read-only places", Packages.comes_and_goes),
    ("purge with other boot loaders", Packages.purges_others),
    ("another root", Packages.other_root),
    ("depends on what it opens", Packages.libraries),
    ("autopkgtests", Packages.autopkgtests),
]
HERE = [("build twice, same bytes", Packages.build_here), ("lintian", Packages.lintian), *INSTALL]
IN_ROOT = [("build twice, same bytes; lintian", Packages.build_in_root), *INSTALL]


def main(arguments):
    if os.geteuid() != 0:
        print("SKIP packaging: not root")
        return 77
    report = vm.Report()
    here = "--here" in arguments
    for suite in [a for a in arguments if not a.startswith("--")] or ["bookworm"]:
        with tempfile.TemporaryDirectory(prefix="deb-", dir=vm.cache_dir()) as work:
            report.run(suite, HERE if here else IN_ROOT, Packages(suite, work))
    return report.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
