#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What memcg-policy claims about GRUB, against the real grub-mkconfig of Debian.

truth.py [STEP...]; without steps all of them. A step gets a fresh disk with two kernels.
"""

import json
import pathlib
import re
import sys
import tempfile

import machine
from machine import HERE, Machine, disk, vm

OFF = "cgroup_disable=memory"
DROPIN = "/etc/default/grub.d/zz-memcg-policy.cfg"


def check(condition, text):
    if not condition:
        raise vm.Failed(text)


def linux_lines(menu):
    """The kernel lines of a grub.cfg by a reader of our own: section -> [line]."""
    section, lines = "", {}
    for line in menu.splitlines():
        if line.startswith("### BEGIN "):
            section = line.split()[2].rsplit("/", 1)[-1]
        words = line.split()
        if words and words[0] in ("linux", "module2", "module"):
            lines.setdefault(section, []).append(line)
    return lines


def menu_of(m):
    return m.raw("/boot/grub/grub.cfg").decode()


def kernel_lines(m):
    """Those of this system's kernels. Initrds are modules to Xen, too."""
    found = linux_lines(menu_of(m))
    own = found.get("10_linux", []) + found.get("20_linux_xen", [])
    return [line for line in own if "vmlinuz" in line]


def every_line(m, word, has):
    lines = kernel_lines(m)
    check(len(lines) >= 5, f"{len(lines)} kernel lines:\n" + "\n".join(lines))
    for line in lines:
        check((word in line.split()) == has, f"{word} is {'not ' if has else ''}on: {line}")


def snapshot(m):
    """All files that could have been touched, with mode and time."""
    return m.must("find /etc /boot -xdev -type f -printf '%p %m %T@ ' -exec md5sum {} ';' | sort")


def contents(m):
    return m.must("find /etc /boot -xdev '(' -type f -exec md5sum {} ';' ')' -o -type d -print | sort")


def stock():
    """set off, set on, unset on an untouched Debian; each claim holds for every entry."""
    with Machine() as m:
        before = contents(m)
        every_line(m, OFF, False)
        m.must("memcg-policy set off")
        every_line(m, OFF, True)
        again = snapshot(m)
        check("nothing to do" in m.must("memcg-policy set off"), "set off twice does something")
        check("nothing to do" in m.must("memcg-policy apply"), "apply after set off does something")
        check(snapshot(m) == again, "set off twice touches a file")
        m.must("memcg-policy set on")
        every_line(m, OFF, False)
        m.must("memcg-policy undo")
        every_line(m, OFF, True)
        m.must("memcg-policy unset")
        check(contents(m) == before, "unset leaves something behind")
        every_line(m, OFF, False)


def in_the_way():
    """What packages, images and admins put there: handled, and not ours left alone."""
    files = {
        "/etc/default/grub.d/50-cloudimg-settings.cfg":
            'GRUB_CMDLINE_LINUX_DEFAULT="console=tty1 console=ttyS0"\n',
        "/etc/default/grub.d/init-select.cfg":
            '# Work around a bug\nGRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT init=/lib/systemd/systemd"\n',
        "/etc/default/grub.d/kdump-tools.cfg":
            'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT crashkernel=384M-:128M"\n',
        "/etc/default/grub.d/tuned.cfg":
            'GRUB_CMDLINE_LINUX_DEFAULT="${GRUB_CMDLINE_LINUX_DEFAULT:+$GRUB_CMDLINE_LINUX_DEFAULT }\\$tuned_params"\n',
    }
    with Machine() as m:
        for path, text in files.items():
            m.must(f"mkdir -p /etc/default/grub.d; cat >{path} <<'END'\n{text}END")
        m.must("sed -i 's/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX=\"cgroup_disable=pressure,memory  x=*\"/' "
               "/etc/default/grub")
        m.must("""cat >>/etc/grub.d/40_custom <<'END'
menuentry 'mine' {
	linux /boot/vmlinuz-6.1.0-18-amd64 root=/dev/vdz cgroup_disable=memory
}
END
cat >/etc/grub.d/30_os-prober <<'END'
#!/bin/sh
cat <<'EOT'
menuentry 'Other Linux (on /dev/sdb1)' --class gnu-linux $menuentry_id_option 'osprober-1' {
	linux /boot/vmlinuz-5.10 root=/dev/sdb1 cgroup_disable=memory
}
EOT
END
chmod +x /etc/grub.d/30_os-prober
update-grub""")
        before = contents(m)
        lists = "cgroup_disable=pressure,memory"
        every_line(m, lists, True)

        output = m.must("memcg-policy set on 2>&1")
        check("cgroup_disable=pressure,memory" not in output or "zz-memcg" in output, output)
        every_line(m, lists, False)
        every_line(m, "cgroup_disable=pressure", True)
        every_line(m, "x=*", True)
        for line in kernel_lines(m):
            check("pressure  x=*" in line, f"two blanks became one: {line}")
            if " single " not in line:
                check(line.rstrip().endswith("crashkernel=384M-:128M $tuned_params"), line)
        found = linux_lines(menu_of(m))
        for section in ("30_os-prober", "40_custom"):
            check(OFF in found[section][0], f"{section} was touched")
        entries = json.loads(m.must("memcg-policy entries --json=short"))["entries"]
        check([e["ours"] for e in entries] == [True] * 5 + [False] * 2, str(entries))
        check(all(e["if_booted"] == "on" for e in entries if e["ours"]), str(entries))
        # what GRUB itself prints goes to standard error, and says what was taken out
        check("pressure,memory -> cgroup_disable=pressure" in m.must("update-grub 2>&1"),
              "the drop-in does not say what it takes out")
        every_line(m, "cgroup_disable=pressure", True)

        m.must("memcg-policy set off")
        every_line(m, lists, True)
        m.must("memcg-policy unset")
        check(contents(m) == before, "unset leaves something behind")


def xen():
    """dom0 reads other variables where they are set, and never gets ours on Xen's own line."""
    with Machine() as m:
        m.must("""touch /boot/xen-4.17-amd64.gz
for f in /boot/config-*; do echo CONFIG_XEN_DOM0=y >>$f; done
cat >>/etc/default/grub <<'END'
GRUB_CMDLINE_XEN_DEFAULT="dom0_mem=1G"
GRUB_CMDLINE_LINUX_XEN_REPLACE="console=hvc0"
END
update-grub""")
        check(linux_lines(menu_of(m)).get("20_linux_xen"), "no Xen entries")
        m.must("memcg-policy set off")
        every_line(m, OFF, True)
        for line in menu_of(m).splitlines():
            if "multiboot" in line and "xen" in line:
                check("cgroup" not in line, f"on Xen's own line: {line}")
        m.must("memcg-policy set on")
        every_line(m, OFF, False)


def program():
    """Defaults that are a program: what they come to is still taken out, and the menu proves it."""
    with Machine() as m:
        m.must("""cat >>/etc/default/grub <<'END'
if [ -e /boot/grub ]; then GRUB_CMDLINE_LINUX="$(echo a) cgroup_disable=memory b"; fi
END
update-grub""")
        every_line(m, OFF, True)
        m.must("memcg-policy set on")
        every_line(m, OFF, False)
        every_line(m, "b", True)
        m.must("memcg-policy set off")
        every_line(m, OFF, True)
        m.must("memcg-policy unset")
        every_line(m, OFF, True)


def failing():
    """A generator that fails, makes nonsense or has no room: all is as before, and it is said."""
    cases = {
        "a script of /etc/grub.d fails": "printf '#!/bin/sh\\nexit 3\\n' >/etc/grub.d/50_bad",
        "a script writes what GRUB cannot read": "printf '#!/bin/sh\\necho \"menuentry {\"\\n' >/etc/grub.d/50_bad",
        "no script makes an entry": "chmod -x /etc/grub.d/10_linux; : >/etc/grub.d/50_bad",
        "a later drop-in puts the word away":
            "mkdir -p /etc/default/grub.d; echo 'GRUB_CMDLINE_LINUX=x' >/etc/default/grub.d/zzz.cfg; : >/etc/grub.d/50_bad",
        "drop-ins that sh cannot read": "mkdir -p /etc/default/grub.d; echo 'X=\"' >/etc/default/grub.d/a.cfg; : >/etc/grub.d/50_bad",
    }
    lose = ("mv /etc/grub.d/10_linux /usr/lib/10_linux; printf '#!/bin/sh\n[ ! -e /etc/lose ] || mv /boot/vmlinuz-6.1.0-18-amd64 /etc/\n"
            "/usr/lib/10_linux%s\n[ ! -e /etc/lose ] || mv /etc/vmlinuz-6.1.0-18-amd64 /boot/\n' >/etc/grub.d/10_linux; "
            "chmod +x /etc/grub.d/10_linux; update-grub; touch /etc/lose; : >/etc/grub.d/50_bad")
    cases["a kernel's entry gets lost"] = lose % ""
    cases["a kernel's entry gets lost, /boot being its own file system"] = \
        lose % " | sed s,/boot/vmlinuz,/vmlinuz,"
    for name, script in cases.items():
        with Machine() as m:
            m.must(f"{script}; chmod +x /etc/grub.d/50_bad")
            before = contents(m)
            status, output = m.run("memcg-policy set off 2>&1")
            check(status == 1, f"{name}: exit status {status}\n{output}")
            check(contents(m) == before, f"{name}: something was left behind\n{output}")
            check("error" in output, f"{name}: it is not said\n{output}")
            every_line(m, OFF, False)


def offline():
    """--root: the defaults are written, the menu is not; with --refresh it is."""
    with Machine() as m:
        output = m.must("memcg-policy --root=/mnt set off", outside=True)
        check("to be run in the system: /usr/sbin/grub-mkconfig" in output, output)
        every_line(m, OFF, False)
        m.must("memcg-policy --root=/mnt --refresh apply", outside=True)
        every_line(m, OFF, True)
        m.must("memcg-policy --root=/mnt --refresh unset", outside=True)
        every_line(m, OFF, False)
        # in a chroot: the same as offline, whatever the loader's tools would find
        output = m.must("mount -t proc proc /mnt/proc; env -u TEST_PREFIX chroot /mnt /mnt/test/memcg-policy set off; "
                        "umount /mnt/proc", outside=True)
        check("to be run in the system" in output, output)


# the kernel's name for the disk: the image is mounted through a loop device, which GRUB never sees
VDZ = """
mount -t tmpfs tmpfs /sys/dev/block
ln -s ../../devices/pci0/block/vdz "/sys/dev/block/$(mountpoint -d /)"
export PATH=$PATH
[ -e /boot/grub/grubenv ] || grub-editenv /boot/grub/grubenv create
"""
TRIAL = "/etc/grub.d/42_memcg_policy"
NEXT = "next_entry=memcg-policy-trial"
SAME_AGAIN = """
cp /boot/grub/grub.cfg /run/before
update-grub >/dev/null 2>&1
cmp /run/before /boot/grub/grub.cfg
grub-script-check /boot/grub/grub.cfg
"""


def env_of(m):
    return m.raw("/boot/grub/grubenv").decode()


def trial_menus():
    """trial: our section is what the real grub-mkconfig makes of our script, on many defaults"""
    with Machine() as m:
        m.must(VDZ)
        for defaults in (
            "",
            "GRUB_DEFAULT=saved\nGRUB_SAVEDEFAULT=true",
            "GRUB_DISABLE_SUBMENU=y\nGRUB_DEFAULT=2",
            "GRUB_DEFAULT='1>2'\nGRUB_CMDLINE_LINUX='dyndbg=\"file x +p\" cgroup_enable=cpuset -- single'",
            "GRUB_DISTRIBUTOR=\"It's mine\"\nGRUB_TERMINAL=serial\nGRUB_DISABLE_LINUX_UUID=true",
        ):
            m.must(f"cp /etc/default/grub /run/kept; cat >>/etc/default/grub <<'END'\n{defaults}\nEND\n"
                   "printf '#!/bin/sh\\necho \"set superusers=root\"\\n' >/etc/grub.d/01_users\n"
                   "chmod +x /etc/grub.d/01_users; update-grub 2>&1\n"
                   f"cp /run/kept /etc/default/grub.kept; {VDZ}\n"
                   "md5sum /boot/grub/grub.cfg >/etc/menu\n"
                   f"memcg-policy trial off && {SAME_AGAIN}")
            check(NEXT in env_of(m), f"{defaults}: not armed on the disk")
            own = linux_lines(menu_of(m))["42_memcg_policy"]
            check(len(own) == 1 and OFF in own[0].split(), f"{defaults}: {own}")
            check("savedefault" not in menu_of(m).split("42_memcg_policy")[1], "it would be saved")
            check(OFF not in "".join(kernel_lines(m)), f"{defaults}: another entry has the word")
            m.must("memcg-policy undo && md5sum -c /etc/menu && cp /etc/default/grub.kept /etc/default/grub")
            check(NEXT not in env_of(m), f"{defaults}: undo leaves it armed")


def trial_meanwhile():
    """trial: kernels that come and go, and other changes, between the trial and its boot"""
    with Machine() as m:
        m.must(f"{VDZ} memcg-policy trial off; cp /boot/vmlinuz-6.1.0-20-amd64 /boot/vmlinuz-6.1.0-21-amd64\n"
               "cp /boot/config-6.1.0-20-amd64 /boot/config-6.1.0-21-amd64; update-grub 2>&1")
        status = json.loads(m.must(f"{VDZ} memcg-policy status --json"))["boot"]
        check(status["next"] == "off" and status["after"] == "on", f"a new kernel: {status}")
        own = linux_lines(menu_of(m))["42_memcg_policy"]
        check("vmlinuz-6.1.0-20-amd64" in own[0], f"a new kernel: {own}")
        m.must("rm /boot/vmlinuz-6.1.0-20-amd64; update-grub 2>&1; grub-script-check /boot/grub/grub.cfg")
        check("42_memcg_policy" not in linux_lines(menu_of(m)), "an entry without its kernel")
        m.must(f"{VDZ} memcg-policy check; memcg-policy undo")
        check(NEXT not in env_of(m) and "42_memcg_policy" not in menu_of(m), "undo with a new menu")
        # what is decided is not on trial any more
        m.must(f"{VDZ} memcg-policy trial off && memcg-policy set off")
        every_line(m, OFF, True)
        check(NEXT not in env_of(m) and "42_memcg_policy" not in menu_of(m), "set leaves the trial")
        m.must(f"{VDZ} memcg-policy undo")
        check(NEXT not in env_of(m), "undo of set arms the trial again")
        m.must(f"{VDZ} memcg-policy unset; test ! -e {TRIAL}")
        check("42_memcg_policy" not in menu_of(m), "unset leaves the trial")
        # a change that waits for its boot, and the other setting on trial; policy and menu stay
        m.must(f"{VDZ} memcg-policy set off && memcg-policy trial on && memcg-policy apply")
        check(NEXT in env_of(m), "apply takes the trial away")
        every_line(m, OFF, True)
        m.must(f"{VDZ} memcg-policy trial off")
        check(NEXT not in env_of(m) and "42_memcg_policy" not in menu_of(m), "trial of what is so anyway")
        # somebody's own choice, an odd block, no block, RAID
        for break_it, said in (
            ("grub-editenv - set next_entry=0", "chosen for the next boot already"),
            ("echo x >/boot/grub/grubenv", "no environment block"),
            ("rm /boot/grub/grubenv", "is missing"),
            ("grub-editenv - create; ln -sfn ../../devices/virtual/block/md0 /sys/dev/block/*", "RAID"),
        ):
            output = m.must(f"{VDZ} {break_it}; find /etc /boot -type f -exec md5sum {{}} + >/run/before\n"
                            "memcg-policy trial on; test $? = 5 || echo WRONG STATUS\n"
                            "find /etc /boot -type f -exec md5sum {} + | cmp /run/before -")
            check(said in output and "WRONG" not in output, f"{break_it}: {output}")


def trial_killed():
    """trial: killed at every write, the menu is whole, and the next run takes it back"""
    with Machine() as m, tempfile.TemporaryDirectory() as work:
        killer = pathlib.Path(work, "killer")
        disk.run(["cc", "-O2", "-static", "-o", killer, HERE.parent / "kill/killer.c"])
        m.must(f"cp {killer} /mnt/root/killer", outside=True)
        output = m.must(VDZ + """
		sum() { find /boot /etc -type f -exec md5sum {} + | sort; }
		sum >/run/before
		n=0
		while :; do
			n=$((n + 1))
			/root/killer /run/out $n writes /mnt/test/memcg-policy trial off >/dev/null 2>&1 || :
			read -r how rest </run/out
			grep -q next_entry=m /boot/grub/grubenv && armed=1 || armed=
			grub-script-check /boot/grub/grub.cfg || echo "BROKEN at $n"
			if [ "$armed" ] && ! grep -q "'memcg-policy-trial'" /boot/grub/grub.cfg; then
				echo "ARMED WITHOUT AN ENTRY at $n"
			fi
			# GRUB takes it out, if it was booted meanwhile
			grub-editenv /boot/grub/grubenv set next_entry=
			grub-editenv /boot/grub/grubenv unset next_entry
			memcg-policy undo >/run/said 2>&1 || { echo "undo at $n:"; cat /run/said; }
			sum | cmp -s /run/before - || { echo "LEFT at $n:"; sum | diff /run/before -; }
			case $how in killed) ;; *) break ;; esac
			[ $n -lt 300 ] || break
		done
		echo "stops: $n"
	""")
        check(not re.search("BROKEN|ARMED|LEFT|undo at", output), output)
        check(int(re.search(r"stops: (\d+)", output)[1]) > 15, output)


STEPS = [stock, in_the_way, xen, program, failing, offline, trial_menus, trial_meanwhile, trial_killed]


def main():
    try:
        machine.need_root()
    except vm.Skipped as e:
        print(f"SKIP grub-truth: {e}")
        return 77
    wanted = sys.argv[1:]
    failed = 0
    for step in STEPS:
        if wanted and step.__name__ not in wanted:
            continue
        try:
            step()
            print(f"ok   {step.__name__}: {step.__doc__.splitlines()[0]}", flush=True)
        except vm.Failed as e:
            failed += 1
            print(f"FAIL {step.__name__}: {e}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    tempfile.tempdir = None
    sys.exit(main())
