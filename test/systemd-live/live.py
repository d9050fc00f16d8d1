#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real systemd under user-mode Linux, once with memcg and once without: what "units" says of each
kind of setting, the records at the units, FailClosed=, users' managers, and a kernel that does not run as decided.

usage: live.py [--short] [BUILD-DIR] [SUITE...]   BUILD-DIR: without sanitizers
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

import uml
import vm
from uml import write

OFF = "cgroup_disable=memory"
# (unit, setting): the state with memcg on and off; those of MemoryLimit= depend on systemd
STATES = {
    ("max.service", "MemoryMax"): ("enforced", "unenforced"),
    ("high.service", "MemoryHigh"): ("enforced", "unenforced"),
    ("min.service", "MemoryMin"): ("enforced", "unenforced"),
    ("both.service", "MemoryMax"): ("enforced", "unenforced"),
    ("both.service", "MemoryLimit"): ("ignored", "ignored"),
    ("oomd.service", "ManagedOOMSwap"): ("enforced", "unenforced"),
    ("inslice.service", "MemoryMax"): ("enforced", "unenforced"),
    ("lim.slice", "MemoryMax"): ("enforced", "unenforced"),
    ("-.slice", "MemoryMax"): ("ignored", "ignored"),
    ("tpl@a.service", "MemoryMax"): ("enforced", "unenforced"),
    ("deleg.service", "MemoryMax"): ("enforced", "unenforced"),
    ("deleg.service", "Delegate"): ("enforced", "unenforced"),
    ("innomem.service", "MemoryMax"): ("unenforced", "unenforced"),
    ("closed.service", "MemoryMax"): ("enforced", "unenforced"),
    ("bad.service", "MemoryMax"): ("invalid", "invalid"),
    ("pct.service", "MemoryMax"): ("enforced", "unenforced"),
    (uml.LINKED, "MemoryMax"): ("enforced", "unenforced"),
}
# they run whatever becomes of closed.service
OTHERS = ["max.service", "plain.service", "inslice.service", "tpl@a.service", "dbus.service", uml.LINKED]
SCRIPT = f"""
systemctl --version | sed -n '1s/systemd \\([0-9]*\\).*/\\1/p' >/live/version
systemctl is-system-running >/live/running
memcg-policy units --json >/live/units.json
memcg-policy status --json >/live/status.json
memcg-policy check --json >/live/check.json
echo $? >/live/check-status
printf 'memcg=on\\ndecision=on\\nrequired=yes\\n' >/run/memcg-policy/initrd
memcg-policy status >/live/initrd 2>&1
rm /run/memcg-policy/initrd
journalctl -b -t memcg-policy -o json --no-pager >/live/records.json
journalctl -b -t memcg-policy -x --no-pager >/live/explained
systemctl show -P Result memcg-policy-warn.service >/live/result
for unit in max closed plain; do
	systemctl --no-pager status $unit.service >/live/status-$unit
	journalctl -b -o cat --no-pager -u $unit.service SYSLOG_IDENTIFIER=memcg-policy >/live/journal-$unit
done
systemctl start closed.service 2>/live/start-closed && echo started >>/live/start-closed
systemctl is-active {' '.join(OTHERS)} >/live/others
systemctl --no-pager --failed --no-legend >/live/failed
memcg-policy warn --json >/live/again.json
memcg-policy check >/live/check
start=$(date +%s%N)
memcg-policy apply --hook >/live/hook 2>&1 && memcg-policy warn >>/live/hook 2>&1 || echo failed >>/live/hook
end=$(date +%s%N)
echo $(((end - start) / 1000)) >/live/hook-us
printf '[Service]\\nMemoryMax=32M\\n' >/etc/systemd/system/max.service.d/more.conf
systemctl daemon-reload
memcg-policy warn --json >/live/changed.json
rm /etc/systemd/system/max.service.d/more.conf
# a user's manager
systemctl start user@1000.service
alice() {{ setpriv --reuid 1000 --regid 1000 --clear-groups env -i PATH=$PATH XDG_RUNTIME_DIR=/run/user/1000 "$@"; }}
alice timeout 60 systemctl --user is-system-running --wait
alice memcg-policy units --user --json >/live/user.json
memcg-policy units --all-users --json >/live/users.json
"""


def say(text):
    print(f"    {text}", flush=True)


class Live:
    """One suite's root, and what its last boot left in /live."""

    def __init__(self, suite, build, root):
        self.suite, self.build, self.root = suite, build, root
        self.off = False

    def expect(self, condition, what):
        if not condition:
            raise vm.Failed(f"memcg {'off' if self.off else 'on'}: {what}")

    def text(self, name):
        return (self.root / "live" / name).read_text(errors="replace")

    def json(self, name):
        try:
            return json.loads(self.text(name))
        except json.JSONDecodeError as e:
            raise vm.Failed(f"{name}: {e}: {self.text(name)[:500]!r}\n{self.text('log')[-1500:]}") from None

    def make(self):
        uml.make_root(self.suite, self.build, self.root)
        (self.root / "etc/systemd/system/max.service.d").mkdir()

    def boot(self, off, script, **kwargs):
        self.off = off
        uml.boot(self.root, script, *([OFF] if off else []), **kwargs)

    # --- the settings ---

    def expected(self):
        """{(unit, setting): state} of this suite's systemd, and the units that get a record."""
        version = int(self.text("version"))
        states = {key: pair[self.off] for key, pair in STATES.items()}
        states["limit.service", "MemoryLimit"] = (
            "ignored" if version >= 258 else "unenforced" if self.off else "enforced"
        )
        told = {u for (u, s), state in states.items() if state == "unenforced" and s != "Delegate"}
        # beside MemoryMax=, which holds, an ignored MemoryLimit= is no loss
        told |= {u for (u, s), state in states.items() if state == "ignored" and u != "both.service"}
        return states, told

    def settings(self, off):
        """Everything at once: states, records, what is kept from starting, what a second run says."""
        self.boot(off, SCRIPT)
        self.states()
        self.counts()
        self.records()
        self.closed()
        self.again()
        self.users()

    def states(self):
        said = self.json("units.json")
        found = {(f["unit"], f["setting"]): f for f in said["findings"]}
        self.expect(said["memcg"] == ("off" if self.off else "on"), f"memcg is {said['memcg']}")
        self.expect(said["judged"] == "manager", f"judged by the files: {said['warnings']}")
        wrong = [
            f"{unit} {setting}: {found.get((unit, setting), {}).get('state')}, expected {state}: "
            f"{found.get((unit, setting), {}).get('why')}"
            for (unit, setting), state in self.expected()[0].items()
            if found.get((unit, setting), {}).get("state") != state
        ]
        self.expect(not wrong, "\n".join(wrong))
        percent = found["pct.service", "MemoryMax"]
        self.expect(percent["percent"] == "10%" and percent["bytes"], f"10 % of known memory: {percent}")
        self.expect(any("OOMPolicy" in s for s in said["host"]) == self.off, f"of the host: {said['host']}")
        self.expect(any("oomd" in s for s in said["host"]) == self.off, f"of the host: {said['host']}")

    def counts(self):
        """status and check count what units lists."""
        findings = self.json("units.json")["findings"]
        expected = {"settings": len(findings)}
        for state in ("unenforced", "ignored", "invalid"):
            expected[state] = sum(f["state"] == state for f in findings)
        for name in ("status.json", "check.json"):
            said = self.json(name)
            units = said["units"]
            # a machine this slow may take more than the five seconds that a manager has
            if any("counted by their files" in w["text"] for w in said["warnings"]):
                say(f"{name}: {said['warnings'][-1]['text']}")
                continue
            self.expect(units == expected, f"{name}: {units}, units has {expected}")
        self.expect(self.text("check-status") == "6\n", f"check: {self.text('check-status')}")
        carried = "the initrd of this boot was built with decision=on, it is leave now"
        self.expect(carried in self.text("initrd"), f"status, of the initrd: {self.text('initrd')}")

    def records(self):
        records = [json.loads(line) for line in self.text("records.json").splitlines()]
        told = sorted(r["MEMCG_POLICY_UNIT"] for r in records if "MEMCG_POLICY_UNIT" in r)
        expected = sorted(self.expected()[1])
        self.expect(told == expected, f"records for {told}, expected {expected}")
        self.expect(len(records) == len(told) + bool(told), "\n".join(r["MESSAGE"] for r in records))
        self.expect(all(isinstance(r["MESSAGE"], str) and "\x1b" not in r["MESSAGE"] and "\n" not in r["MESSAGE"]
                        for r in records), "a record that is not plain text")
        self.expect(self.text("result") == "success\n", f"the service: {self.text('result')}")
        line = "max.service: MemoryMax=64M is not enforced: the memory controller is off"
        self.expect((line in self.text("status-max")) == self.off, f"status: {self.text('status-max')}")
        journal = self.text("journal-max").splitlines()
        self.expect(len(journal) == self.off and all(line in j for j in journal), f"journalctl -u: {journal}")
        self.expect(not self.text("journal-plain"), "journalctl -u plain.service has a record")
        self.expect("it can use all memory" in self.text("explained"), "the catalog is not shown")

    def closed(self):
        status, start = self.text("status-closed"), self.text("start-closed")
        asserted = "AssertControlGroupController=memory was not met" in status
        self.expect(asserted == self.off, f"closed.service: {status}")
        self.expect(("active (running)" in status) != self.off, f"closed.service: {status}")
        self.expect(("started" in start) != self.off, f"systemctl start: {start}")
        self.expect(("Assertion failed" in start) == self.off, f"systemctl start: {start}")
        if self.off:
            say(start.splitlines()[0])
            journal = self.text("journal-closed")
            self.expect("it is not started (FailClosed=)" in journal, f"the record says nothing of it: {journal}")
        others = self.text("others").split()
        self.expect(others == ["active"] * len(OTHERS), f"{OTHERS}: {others}")
        failed = [f for f in self.text("failed").splitlines() if "oomd" not in f]
        self.expect(not failed, f"failed: {failed}")

    def again(self):
        again = [r["message"] for r in self.json("again.json")["records"]]
        self.expect(not again, f"told twice: {again}")
        self.expect(self.text("hook") == "", f"apply --hook, warn: {self.text('hook')}")
        say(f"apply --hook and warn with nothing new: {int(self.text('hook-us')) / 1000:.0f} ms in this machine")
        changed = [r["message"] for r in self.json("changed.json")["records"]]
        if self.off:
            right = len(changed) == 1 and changed[0].startswith("max.service: MemoryMax=32M is not enforced")
            self.expect(right, f"after one unit changed: {changed}")
        else:
            self.expect(not changed, f"after one unit changed: {changed}")

    def users(self):
        for name in ("user.json", "users.json"):
            said = self.json(name)
            self.expect(said["judged"] == "manager", f"{name}: judged by the files: {said['warnings']}")
            mine = [f for f in said["findings"] if f["unit"] == "mine.service"]
            wanted = "unenforced" if self.off else "enforced"
            self.expect([(f["user"], f["state"], f["active"]) for f in mine] == [(1000, wanted, True)], f"{name}: {mine}")

    # --- a kernel that does not run as decided ---

    def difference(self):
        """Policy, defaults and menu want memcg; this kernel was started without."""
        root = self.root
        write(root / "etc/memcg-policy/policy.conf", "[Policy]\nMemcg=on\n")
        write(root / "etc/default/grub", 'GRUB_CMDLINE_LINUX_DEFAULT=""\nGRUB_CMDLINE_LINUX=""\n')
        write(root / "boot/config-6.1.0-1-amd64", "CONFIG_CGROUPS=y\nCONFIG_MEMCG=y\n")
        write(root / "boot/vmlinuz-6.1.0-1-amd64", "")
        write(root / "usr/sbin/grub-mkconfig", "#!/bin/sh\nfor x in ${sysconfdir}/default/grub.d/*.cfg ; do . \"${x}\"; done\n")
        (root / "usr/sbin/grub-mkconfig").chmod(0o755)
        write(root / "boot/grub/grub.cfg", GRUB_CFG)
        self.boot(True, DIFFERENCE)
        differ = [r["message"] for r in self.json("first.json")["records"] if "want" in r["message"]]
        journal = self.text("journal").splitlines()
        self.expect(len(journal) == 1 and "the memory controller is off" in journal[0], f"{journal}\n{self.text('status')}")
        self.expect(not differ, f"told again in the same boot: {differ}")
        self.boot(False, DIFFERENCE)
        self.expect(not self.text("journal"), f"told although all agrees: {self.text('journal')}")
        write(root / "etc/memcg-policy/policy.conf", "[Policy]\n")
        (root / "boot/grub/grub.cfg").unlink()
        (root / "etc/default/grub").unlink()


GRUB_CFG = """menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-1' {
	linux	/boot/vmlinuz-6.1.0-1-amd64 root=UUID=1 ro quiet
	initrd	/boot/initrd.img-6.1.0-1-amd64
}
"""
DIFFERENCE = """
memcg-policy status >/live/status
memcg-policy warn --json >/live/first.json
memcg-policy warn --json >/live/second.json
journalctl -b -o cat --no-pager MESSAGE_ID=393053ebab894bc1b0c2494f4cf9d4f7 >/live/journal
"""


def steps(short):
    return [
        ("a root with the program", Live.make),
        ("memcg off: states, records, FailClosed=, users", lambda live: live.settings(True)),
        ("memcg on: all holds, nothing is said", lambda live: live.settings(False)),
    ] + ([] if short else [
        ("policy and menu want it, the kernel runs without", Live.difference),
    ])


def main(arguments):
    short = "--short" in arguments
    build, *suites = [a for a in arguments if a != "--short"] or [os.environ["MEMCG_POLICY_BUILD"]]
    if not shutil.which("linux.uml") or os.geteuid() != 0:
        print("SKIP live: not root, or no linux.uml (package user-mode-linux)")
        return 77
    report = vm.Report()
    for suite in suites or ["bookworm"]:
        with tempfile.TemporaryDirectory(prefix="live-", dir=vm.cache_dir()) as tmp:
            root = pathlib.Path(tmp, "root")
            root.mkdir()
            root.chmod(0o755)
            report.run(f"{suite}-live", steps(short), Live(suite, pathlib.Path(build).resolve(), root))
    return report.close()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main(sys.argv[1:]))
