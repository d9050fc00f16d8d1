# SPDX-License-Identifier: LGPL-2.1-or-later
"""The whole chain on a booting Debian: the package installed from its .deb, memcg turned off and on
again, a kernel installed in between, everything taken back. The kernel and its console are the
witnesses; the menu that GRUB will read is compared with the one from before."""

import json
import re

import disk
import vm

WORD = "cgroup_disable=memory"
DROPIN = "/etc/default/grub.d/zz-memcg-policy.cfg"
MENU = "/boot/grub/grub.cfg"
EATER = "head -c 100M /dev/zero | tail -c 100M >/dev/null"
UNITS = f"""set -e
cd /etc/systemd/system
printf '%s\\n' '[Service]' Type=oneshot MemoryMax=32M MemorySwapMax=0 \\
	"ExecStart=/bin/sh -c '{EATER}'" >eater.service
printf '%s\\n' '[Service]' MemoryMax=64M 'ExecStart=/bin/sleep infinity' \\
	'[Install]' WantedBy=multi-user.target >limited.service
systemctl daemon-reload
systemctl enable --now limited.service
"""


def expect(condition, text):
    if not condition:
        raise vm.Failed(text)


class Host:
    """A machine with the package, and what its boot menu was before anything was set."""

    def __init__(self, suite, work, debs):
        self.suite = suite
        drives = [
            disk.Disk(suite).overlay(work / "disk.qcow2"),
            disk.input_drive(work / "input.tar", {f"/root/{deb.name}": deb for deb in debs}),
        ]
        self.machine = vm.Machine(suite, drives)
        self.run = self.machine.run
        self.menu_before = ""

    # --- looking ---

    def json(self, command, expect=0):
        return json.loads(self.run(f"memcg-policy --json=short {command}", expect).output)

    def menu(self):
        return self.run(f"grub-script-check {MENU} && cat {MENU}").output

    def settle(self):
        """All that belongs to the boot has run, the warnings too."""
        self.run("systemctl is-system-running --wait", (0, 1), timeout=900)

    def lines(self):
        """The kernel lines of the menu: what is really booted."""
        return re.findall(r"^\s*linux\s.*$", self.menu(), re.M)

    def expect_running(self, state):
        """The kernel, its console and the program agree."""
        controllers = self.run("cat /sys/fs/cgroup/cgroup.controllers").output.split()
        expect(("memory" in controllers) == (state == "on"), f"controllers: {controllers}")
        said = "Disabling memory control group subsystem" in self.machine.console()
        expect(said == (state == "off"), "the kernel's own word on the console says otherwise")
        running = self.json("status")["running"]
        expect(running["memcg"] == state, f"running, expected {state}: {running}")

    def expect_entries(self, words):
        """Every entry of ours has the word or lacks it, in the menu and in the program's eyes."""
        lines = self.lines()
        expect(lines, "no kernel line in the menu")
        wrong = [line for line in lines if (WORD in line) != words]
        expect(not wrong, f"{len(wrong)} of {len(lines)} kernel lines are wrong: {wrong}")
        entries = [e for e in self.json("entries")["entries"] if e["ours"]]
        expect(len(entries) == len(lines), f"{len(entries)} entries of ours, {len(lines)} kernel lines")
        request = "off" if words else "none"
        wrong = [e for e in entries if e["request"] != request]
        expect(not wrong, f"entries, expected {request}: {wrong}")

    def expect_enforced(self, enforced):
        """A unit that allocates past its MemoryMax= is killed, or is not."""
        self.run("systemctl reset-failed eater.service; systemctl start eater.service", 1 if enforced else 0)
        result = self.run("systemctl show -P Result eater.service").output.strip()
        wanted = "oom-kill" if enforced else "success"
        expect(result == wanted, f"eater.service: {result}, expected {wanted}")

    # --- steps ---

    def boots(self):
        self.machine.start()
        self.settle()
        self.run("tar -xf /dev/vdb -C /")
        self.menu_before = self.menu()

    def installs(self):
        before = self.run("md5sum /etc/default/grub /etc/default/grub.d/* /boot/grub/grub.cfg", None).output
        self.run("dpkg -i /root/memcg-policy_*.deb")
        after = self.run("md5sum /etc/default/grub /etc/default/grub.d/* /boot/grub/grub.cfg", None).output
        expect(before == after, f"installing changed the boot configuration:\n{before}{after}")
        self.run(UNITS)
        self.expect_running("on")
        self.expect_entries(False)
        self.expect_enforced(True)
        self.run("memcg-policy check")

    def refuses(self):
        """limited.service runs with a limit: off would take it away."""
        answer = self.run("memcg-policy set off", 7)
        expect("limited.service" in answer.output, f"the refusal does not name the unit:\n{answer.output}")
        expect(self.menu() == self.menu_before, "a refused change changed the menu")
        self.run(f"test ! -e {DROPIN} && test ! -e /etc/memcg-policy/policy.conf.d/50-set.conf")

    def turns_off(self):
        self.run("memcg-policy set off --force")
        self.expect_entries(True)
        self.run("memcg-policy check", 4)
        again = self.json("apply")
        expect(again["result"] == "unchanged", f"apply after set: {again}")

    def is_off(self):
        self.machine.reboot()
        self.settle()
        self.expect_running("off")
        self.expect_enforced(False)
        # limited.service is enabled and its limit does not hold
        self.run("memcg-policy check", 6)

    def warns(self):
        """The owner of the unit sees it where they look; once a boot."""
        fields = self.run("journalctl -b -o json -u limited.service SYSLOG_IDENTIFIER=memcg-policy", None).output
        records = [json.loads(line) for line in fields.splitlines() if line.startswith("{")]
        texts = [r["MESSAGE"] for r in records if r.get("OBJECT_SYSTEMD_UNIT") == "limited.service"]
        if not any("MemoryMax" in text for text in texts):
            log = self.run("systemctl status memcg-policy-warn.service; journalctl -b | grep memcg", None).output
            raise vm.Failed(f"no warning in the unit's journal: {fields}\n{log}")
        shown = self.run("systemctl status limited.service", (0, 3)).output
        expect("MemoryMax" in shown, f"systemctl status does not show it:\n{shown}")
        self.run("systemctl disable --now limited.service && memcg-policy check")
        self.run("systemctl enable --now limited.service")

    def new_kernel(self):
        """A kernel that comes while the drop-in is missing: the hook says so, apply mends it."""
        self.run(f"mv {DROPIN} /root/")
        answer = self.run("dpkg -i /var/cache/vm/linux-*.deb", timeout=1800)
        expect("memcg-policy, after kernel" in answer.output, f"the hook said nothing:\n{answer.output}")
        self.run("memcg-policy check", 3)
        self.run("memcg-policy apply --force")
        self.run(f"cmp {DROPIN} /root/{DROPIN.rpartition('/')[2]}")
        self.expect_entries(True)
        # what it would be if nothing had ever been set
        self.menu_before = self.menu().replace(f" {WORD}", "")

    def new_kernel_off(self):
        """Every kernel's entry has the word: also the other one is off."""
        release = self.run("uname -r").output
        self.machine.reboot()
        after = self.run("uname -r").output
        if release == after:
            title = self.run(
                f"sed -n \"s/.*menuentry_id_option '\\(gnulinux-[^']*cloud[^']*-advanced-[^']*\\)'.*/\\1/p\" {MENU} |"
                " head -n 1"
            ).output.strip()
            parent = self.run(
                f"sed -n \"s/^submenu.*menuentry_id_option '\\([^']*\\)'.*/\\1/p\" {MENU} | head -n 1"
            ).output.strip()
            self.run(f"grub-reboot '{parent}>{title}'")
            self.machine.reboot()
            after = self.run("uname -r").output
        expect(release != after, f"still kernel {after}")
        self.expect_running("off")

    def turns_on(self):
        """undo takes the last change back; what was set before the first is nothing."""
        self.run("memcg-policy undo")
        self.expect_entries(False)
        expect(self.menu() == self.menu_before, "the menu is not as before")
        self.machine.reboot()
        self.expect_running("on")
        self.expect_enforced(True)

    def takes_back(self):
        self.run("memcg-policy set off --force")
        self.expect_entries(True)
        self.run("memcg-policy unset")
        expect(self.menu() == self.menu_before, "unset did not bring the menu back")
        self.run(f"test ! -e {DROPIN} && test ! -e /etc/memcg-policy/policy.conf.d/50-set.conf")

    def purges(self):
        self.run("memcg-policy set off --force")
        answer = self.run("dpkg -P memcg-policy")
        expect(self.menu() == self.menu_before, f"purge did not bring the menu back:\n{answer.output}")
        left = self.run("ls -d /etc/memcg-policy /var/lib/memcg-policy /usr/lib/memcg-policy", None).output
        left += self.run(f"ls {DROPIN} /etc/kernel/postinst.d/zzz-memcg-policy", None).output
        expect("memcg-policy\n" not in left.replace("No such file or directory", ""), f"left after purge:\n{left}")
        self.machine.power_off()


SHORT = [
    ("boot", Host.boots),
    ("install the package", Host.installs),
    ("set off is refused", Host.refuses),
    ("set off --force", Host.turns_off),
    ("reboot: off", Host.is_off),
    ("warning at the unit", Host.warns),
    ("undo: menu as before; reboot: on", Host.turns_on),
]
FULL = SHORT[:-1] + [
    ("a kernel is installed", Host.new_kernel),
    ("reboot: the new one is off too", Host.new_kernel_off),
    SHORT[-1],
    ("set off, unset: menu as before", Host.takes_back),
    ("set off, purge: menu as before", Host.purges),
]
