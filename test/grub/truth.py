#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What memcg-policy claims about GRUB, against the real grub-mkconfig of Debian.

truth.py [STEP...]; without steps all of them. A step gets a fresh disk with two kernels.
"""

import json
import sys
import tempfile

import machine
from machine import Machine, vm

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


STEPS = [stock, in_the_way, xen, program, failing, offline]


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
