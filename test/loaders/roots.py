# SPDX-License-Identifier: MIT-0
"""Roots as the releases of distributions have them: what matters to a boot loader, no more."""

import struct

MID = "0123456789abcdef0123456789abcdef"
ARGS = "root=UUID=6d1c5a54-77b3-4e2e-8e05-0f2a4f8a1c11 ro rhgb quiet"
MKCONFIG = "#!/bin/sh\nset -e\n# --no-grubenv-update\n. /etc/default/grub\n"
BLS_MENU = "### BEGIN /etc/grub.d/10_linux ###\ninsmod blscfg\nblscfg\n"


def bls(release, options, title="Fedora Linux", linux=None, extra=""):
    return (f"title {title} ({release})\nversion {release}\n"
            f"linux {linux or '/vmlinuz-' + release}\ninitrd /initramfs-{release}.img\n"
            f"options {options}\n{extra}")


GRUB_KEYS = "grub_users $grub_users\ngrub_arg --unrestricted\ngrub_class fedora\n"


def redhat(releases, options, defaults, cmdline, env=None, reader=MKCONFIG):
    files = {
        "/etc/machine-id": MID + "\n",
        "/usr/sbin/grub2-mkconfig": reader,
        "/boot/grub2/grub.cfg": BLS_MENU,
        "/etc/default/grub": 'GRUB_TIMEOUT=5\n'
                             'GRUB_DISTRIBUTOR="$(sed \'s, release .*$,,g\' /etc/system-release)"\n'
                             'GRUB_DEFAULT=saved\n'
                             f'GRUB_CMDLINE_LINUX="{defaults}"\n'
                             'GRUB_DISABLE_RECOVERY="true"\nGRUB_ENABLE_BLSCFG=true\n',
        f"/boot/loader/entries/{MID}-0-rescue.conf": bls("0-rescue-" + MID, ARGS,
                                                         extra=GRUB_KEYS),
    }
    if cmdline:
        files["/etc/kernel/cmdline"] = cmdline
    for release in releases:
        files[f"/usr/lib/modules/{release}/modules.dep"] = ""
        files[f"/boot/loader/entries/{MID}-{release}.conf"] = bls(release, options,
                                                                  extra=GRUB_KEYS)
    if env:
        block = "# GRUB Environment Block\n" + env
        files["/boot/grub2/grubenv"] = block + "#" * (1024 - len(block))
    return files


def pi(directory, cmdline, config="[all]\narm_64bit=1\n"):
    return {
        f"{directory}/config.txt": config,
        f"{directory}/cmdline.txt": cmdline,
        f"{directory}/start4.elf": "",
        "/etc/machine-id": MID + "\n",
    }


PI = ("console=serial0,115200 console=tty1 root=PARTUUID=4e639091-02 rootfstype=ext4 "
      "fsck.repair=yes rootwait")

def tree(bootargs):
    """A flattened device tree with nothing but chosen/bootargs."""
    data = bootargs.encode() + b"\0"
    nodes = (struct.pack(">I4sI8s", 1, b"", 1, b"chosen")
             + struct.pack(">III", 3, len(data), 0) + data + bytes(-len(data) % 4)
             + struct.pack(">III", 2, 2, 9))
    names = b"bootargs\0"
    return struct.pack(">10I", 0xd00dfeed, 40 + len(nodes) + len(names), 40, 40 + len(nodes), 40,
                       17, 16, 0, len(names), len(nodes)) + nodes + names


def image(*parameters):
    """What tells a kernel apart: the names of the parameters that it has handlers for."""
    return (b"MZ" + bytes(54) + b"ARMd" + bytes(4096)
            + b"".join(b"\0" + p.encode() + b"=\0" for p in parameters) + bytes(100))


def pe(**sections):
    """A PE32+ image with these sections and no code; a leading dot goes in front of each name."""
    return pe_of(sections.items())


def pe_of(sections):
    """The same of pairs: a name may come again."""
    table, bodies, at = b"", b"", 0x1000
    for name, data in sections:
        data = data.encode() if isinstance(data, str) else data
        table += struct.pack("<8s8I", b"." + name.encode(), len(data), at, len(data), at,
                             0, 0, 0, 0x40000040)
        body = data + bytes(-len(data) % 512)
        bodies += body
        at += len(body)
    head = (b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0"
            + struct.pack("<HHIIIHH", 0x8664, len(table) // 40, 0, 0, 0, 240, 0x206)
            # an EFI program with sixteen data directories
            + struct.pack("<H66xH38xI128x", 0x20b, 10, 16) + table)
    return head + bytes(0x1000 - len(head)) + bodies


def uki(cmdline, release="6.17.4-arch1-1", osid="arch", stub="257.7"):
    sections = {"sdmagic": f"#### LoaderInfo: systemd-stub {stub} ####", "linux": "MZ",
                "osrel": f'NAME="Some Linux"\nID={osid}\n', "uname": release + "\0"}
    return pe(**sections, **({"cmdline": cmdline} if cmdline else {}))


def uki_of_profiles(*lines, base="root=UUID=x rw quiet"):
    """Each profile with a line of its own, or with the base's (None)."""
    sections = [("sdmagic", "#### LoaderInfo: systemd-stub 257.7 ####"), ("linux", "MZ"),
                ("osrel", "ID=arch\nPRETTY_NAME=Arch\n"), ("uname", "6.17.4-arch1-1\0"),
                ("cmdline", base)]
    for n, line in enumerate(lines):
        sections.append(("profile", f"ID=p{n}\n"))
        sections += [("cmdline", line)] if line else []
    return pe_of(sections)


PI_TREE = tree("coherent_pool=1M cgroup_disable=memory numa_policy=interleave")
# a device tree that switches memcg off: (kernel or None, exit status of "set on")
TREES = {
    "honours": (image("cgroup_disable", "cgroup_enable"), 0),
    "mainline": (image("cgroup_disable"), 5),
    "unknown": (None, 0),
}

# name: (backend, files); a third item is the exit status of "set off" where it is not 0
ROOTS = {
    "fedora-33": ("bls", redhat(["5.8.15-301.fc33.x86_64"], ARGS, "rhgb quiet", None)),
    "fedora-current": ("bls", redhat(["6.17.1-300.fc43.x86_64", "6.17.4-300.fc43.x86_64"], ARGS,
                                     "rhgb quiet", ARGS + "\n")),
    "fedora-tuned": ("bls", redhat(["6.17.1-300.fc43.x86_64"], ARGS + " $tuned_params",
                                   "rhgb quiet", ARGS + "\n")),
    "rhel-8": ("bls", redhat(["4.18.0-553.el8_10.x86_64", "4.18.0-477.el8.x86_64"],
                             "$kernelopts $tuned_params", "rhgb quiet", None,
                             f"saved_entry={MID}-4.18.0-553.el8_10.x86_64\nkernelopts={ARGS}\n"
                             "boot_success=1\n")),
    "rhel-9.2": ("bls", redhat(["5.14.0-284.el9.x86_64"], ARGS, "rhgb quiet", ARGS + "\n")),
    "rhel-9.3": ("bls", redhat(["5.14.0-362.el9.x86_64"], ARGS, "", ARGS + "\n",
                               reader=MKCONFIG + "# --update-bls-cmdline\n")),
    "rhel-10": ("bls", redhat(["6.12.0-55.el10.x86_64"], ARGS, "rhgb quiet", ARGS + "\n",
                              reader=MKCONFIG + "# --update-bls-cmdline\n")),
    "opensuse-grub2": ("grub-default", {
        "/etc/sysconfig/bootloader": 'LOADER_TYPE="grub2-efi"\n',
        "/usr/sbin/grub2-mkconfig": "#!/bin/sh\n",
        "/boot/grub2/grub.cfg": "set timeout=8\n",
        "/etc/default/grub": 'GRUB_CMDLINE_LINUX=""\n'
                             'GRUB_CMDLINE_LINUX_DEFAULT="splash=silent mitigations=auto"\n',
    }),
    "opensuse-sdbootutil": ("sdbootutil", {
        "/etc/sysconfig/bootloader": 'LOADER_TYPE="grub2-bls"\n',
        "/usr/bin/sdbootutil": "# /etc/kernel/cmdline.d/*\n",
        "/etc/kernel/cmdline": "root=UUID=x rootflags=subvol=@/.snapshots/1/snapshot quiet\n",
    }),
    "opensuse-sdbootutil-2025": ("sdbootutil", {
        "/etc/sysconfig/bootloader": 'LOADER_TYPE="systemd-boot"\n',
        "/usr/bin/sdbootutil": "#!/bin/bash\n",
        "/etc/kernel/cmdline": "root=UUID=x quiet\n",
    }),
    "microos": ("transactional", {
        "/etc/fstab": "UUID=x / btrfs ro,x-initrd.mount 0 0\n",
        "/usr/sbin/transactional-update": "",
        "/usr/sbin/grub2-mkconfig": "#!/bin/sh\n",
        "/boot/grub2/grub.cfg": "set timeout=8\n",
        "/etc/default/grub": 'GRUB_CMDLINE_LINUX=""\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\n',
    }),
    "silverblue": ("ostree", {
        "/ostree/repo/config": "",
        "/usr/bin/rpm-ostree": "",
        "/etc/default/grub": 'GRUB_CMDLINE_LINUX="rhgb quiet"\n',
        "/boot/loader/entries/ostree-2-fedora.conf":
            bls("2", ARGS + " ostree=/ostree/boot.1/fedora/a/0", linux="/ostree/a/vmlinuz"),
    }, 5),
    "bootc-image": ("ostree", {
        "/usr/bin/bootc": "",
        "/usr/lib/bootc/kargs.d/10-base.toml": 'kargs = ["console=ttyS0", "quiet"]\n',
        "/usr/lib/modules/6.17.4/vmlinuz": "",
    }),
    "proxmox-8": ("proxmox", {
        "/etc/kernel/proxmox-boot-uuids": "1234-ABCD\n5678-ABCD\n",
        "/usr/sbin/proxmox-boot-tool": "#!/bin/sh\n",
        "/usr/sbin/grub-mkconfig": "#!/bin/sh\n. /etc/default/grub\n"
                                   "for x in /etc/default/grub.d/*.cfg; do :; done\n",
        "/etc/default/grub": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX=""\n',
        "/etc/kernel/cmdline": "root=ZFS=rpool/ROOT/pve-1 boot=zfs\n",
    }),
    "raspios-11": ("rpi", pi("/boot", PI + "\n")),
    "raspios-12": ("rpi", {
        **pi("/boot/firmware", PI + " quiet splash plymouth.ignore-serial-consoles\n"),
        "/boot/cmdline.txt": "DO NOT EDIT THIS FILE\n",
    }),
    "raspios-13": ("rpi", pi("/boot/firmware", PI + " cfg80211.ieee80211_regdom=GB\n")),
    "raspios-crlf": ("rpi", pi("/boot/firmware", PI + " \r\n")),
    "raspios-k3s": ("rpi", pi("/boot/firmware",
                              PI + " cgroup_enable=cpuset cgroup_memory=1 cgroup_enable=memory\n")),
    "ubuntu-pi-24.04": ("rpi", {
        **pi("/boot/firmware", "console=serial0,115200 multipath=off dwc_otg.lpm_enable=0 "
             "console=tty1 root=LABEL=writable rootfstype=ext4 rootwait fixrtc\n",
             "[all]\nkernel=vmlinuz\ncmdline=cmdline.txt\ninitramfs initrd.img followkernel\n"
             "[pi4]\nmax_framebuffers=2\n[all]\n"),
        "/usr/sbin/flash-kernel": "",
        "/etc/default/flash-kernel": 'LINUX_KERNEL_CMDLINE="quiet splash"\n',
    }),
    "ubuntu-pi-25.10": ("rpi", {
        "/boot/firmware/config.txt": "[all]\nkernel=vmlinuz\nos_prefix=current/\n"
                                     "[tryboot]\nos_prefix=new/\n",
        "/boot/firmware/current/vmlinuz": "",
        "/boot/firmware/current/bcm2711-rpi-4-b.dtb": "",
        "/boot/firmware/current/cmdline.txt": "root=LABEL=writable panic=10 rootwait\n",
        "/boot/firmware/current/state": "good\n",
        "/boot/firmware/new/cmdline.txt": "root=LABEL=writable panic=10 rootwait\n",
        "/boot/firmware/new/state": "unknown\n",
    }),
    "pi-two-lines": ("rpi", pi("/boot/firmware", PI + "\ncgroup_enable=memory\n"), 7),
    "pi-filtered": ("rpi", pi("/boot/firmware", PI + "\n", "[pi4]\ncmdline=four.txt\n"), 5),
    "pi-autoboot": ("rpi", {
        **pi("/boot/firmware", PI + "\n"),
        "/boot/firmware/autoboot.txt": "[all]\ntryboot_a_b=1\nboot_partition=2\n"
                                       "[tryboot]\nboot_partition=3\n",
    }, 5),
    "pi-autoboot-first": ("rpi", {
        **pi("/boot/firmware", PI + "\n"),
        "/boot/firmware/autoboot.txt": "[all]\nboot_partition=1\n[tryboot]\nboot_partition=2\n",
    }),
    "pi-blanks": ("rpi", pi("/boot/firmware", PI + "\n", "cmdline = other.txt\n"), 5),
    "pi-empty": ("rpi", pi("/boot/firmware", PI + "\n", "cmdline=\n"), 5),
    "debian-raspi-firmware": ("raspi-firmware", {
        **pi("/boot/firmware", "console=tty0 root=LABEL=RASPIROOT rw rootwait\n",
             "kernel=vmlinuz-6.12.48+deb13-arm64\n"),
        "/etc/kernel/postinst.d/z50-raspi-firmware": "",
    }),
    "armbian": ("armbian", {
        "/boot/armbianEnv.txt": "verbosity=1\nbootlogo=false\nrootdev=UUID=x\n"
                                "extraargs=cma=256M\ndocker_optimizations=on\n",
    }),
    "armbian-bare": ("armbian", {"/boot/armbianEnv.txt": "verbosity=1\nrootdev=UUID=x\n"}),
    "alpine-extlinux": ("update-extlinux", {
        "/sbin/update-extlinux": "",
        "/etc/update-extlinux.conf": "# comment\noverwrite=1\nmodules=sd-mod,ext4\nroot=UUID=x\n"
                                     "default_kernel_opts=\"quiet rootfstype=ext4\"\n",
        "/boot/extlinux.conf": "DEFAULT menu.c32\nLABEL lts\n  MENU LABEL Linux lts\n"
                               "  LINUX vmlinuz-lts\n  APPEND root=UUID=x quiet\n",
    }),
    "alpine-grub": ("grub-default", {
        "/usr/sbin/grub-mkconfig": "#!/bin/sh\n",
        "/boot/grub/grub.cfg": "set timeout=2\n",
        "/etc/default/grub": 'GRUB_TIMEOUT=2\nGRUB_CMDLINE_LINUX_DEFAULT="quiet rootfstype=ext4"\n',
    }),
    "arch-grub": ("grub-default", {
        "/usr/bin/grub-mkconfig": "#!/bin/bash\n",
        "/boot/grub/grub.cfg": "set timeout=5\n",
        "/etc/default/grub": "GRUB_CMDLINE_LINUX_DEFAULT='loglevel=3 quiet'\nGRUB_CMDLINE_LINUX=''\n",
    }),
    "arch-systemd-boot": ("systemd-boot", {
        "/boot/EFI/systemd/systemd-bootx64.efi": "",
        "/etc/machine-id": MID + "\n",
        "/boot/vmlinuz-linux": "",
        "/boot/loader/loader.conf": "default arch.conf\ntimeout 3\n",
        "/boot/loader/entries/arch.conf": "title   Arch Linux\nlinux   /vmlinuz-linux\n"
                                          "initrd  /initramfs-linux.img\noptions root=UUID=x rw",
        "/boot/loader/entries/windows.conf": "title Windows\nefi /EFI/Microsoft/x.efi\n",
    }),
    "arch-uki": ("uki", {
        "/etc/os-release": "ID=arch\n",
        "/usr/lib/modules/6.17.4-arch1-1/vmlinuz": "",
        "/usr/bin/mkinitcpio": "",
        "/etc/mkinitcpio.d/linux.preset": 'default_uki="/efi/EFI/Linux/arch-linux.efi"\n',
        "/etc/kernel/cmdline": "root=UUID=x rw quiet\n",
        "/efi/EFI/Linux/arch-linux.efi": uki("root=UUID=x rw quiet\n"),
        "/efi/EFI/systemd/systemd-bootx64.efi": "",
    }),
    "fedora-uki": ("uki", {
        "/etc/os-release": "ID=fedora\n",
        "/usr/lib/modules/6.17.4-300.fc43.x86_64/modules.dep": "",
        "/usr/bin/kernel-install": "",
        "/etc/kernel/cmdline": "root=UUID=x ro quiet\n",
        "/boot/efi/EFI/Linux/x-6.17.4-300.fc43.x86_64.efi":
            uki("root=UUID=x ro quiet", "6.17.4-300.fc43.x86_64", "fedora"),
        "/boot/efi/EFI/Linux/other.efi": uki("root=UUID=y", "7.1", "other"),
    }),
    "uki-profiles": ("uki", {
        "/etc/os-release": "ID=arch\n",
        "/usr/lib/modules/6.17.4-arch1-1/vmlinuz": "",
        "/usr/bin/mkinitcpio": "",
        "/etc/mkinitcpio.d/linux.preset": 'default_uki="/efi/EFI/Linux/arch-linux.efi"\n',
        "/etc/kernel/cmdline": "root=UUID=x rw quiet\n",
        "/efi/EFI/Linux/arch-linux.efi":
            uki_of_profiles(None, "root=UUID=x rw single", "root=UUID=x rw systemd.factory_reset"),
        "/efi/EFI/systemd/systemd-bootx64.efi": "",
    }),
    "uki-without-line": ("uki", {
        "/etc/os-release": "ID=arch\n",
        "/efi/EFI/Linux/arch-linux.efi": uki("root=UUID=x rw quiet\n"),
    }, 5),
    "uki-of-others": ("uki", {
        "/etc/os-release": "ID=debian\n",
        "/etc/kernel/cmdline": "root=UUID=x rw quiet\n",
        "/efi/EFI/Linux/arch-linux.efi": uki("root=UUID=x rw quiet\n"),
    }, 5),
    "debian-systemd-boot": ("systemd-boot", {
        "/boot/efi/EFI/systemd/systemd-bootx64.efi": "",
        "/etc/machine-id": MID + "\n",
        "/etc/kernel/cmdline": "root=UUID=x ro quiet\n",
        "/usr/lib/modules/6.12.48+deb13-amd64/modules.dep": "",
        f"/boot/efi/loader/entries/{MID}-6.12.48+deb13-amd64+3-1.conf":
            f"title Debian\nversion 6.12.48+deb13-amd64\nmachine-id {MID}\n"
            f"options root=UUID=x ro quiet systemd.machine_id={MID}\nlinux /{MID}/linux\n",
    }),
    "jetson": ("extlinux", {
        "/boot/extlinux/extlinux.conf":
            "TIMEOUT 30\nDEFAULT primary\n\nMENU TITLE L4T boot options\n\nLABEL primary\n"
            "      MENU LABEL primary kernel\n      LINUX /boot/Image\n"
            "      INITRD /boot/initrd\n"
            "      APPEND ${cbootargs} root=/dev/mmcblk0p1 rw rootwait rootfstype=ext4 \n",
    }),
    "u-boot-menu": ("u-boot-menu", {
        "/usr/sbin/u-boot-update": "#!/bin/sh\n",
        "/usr/share/u-boot-menu/read-config": "# /etc/u-boot-menu/conf.d /etc/kernel/cmdline\n",
        "/etc/default/u-boot": '#U_BOOT_PARAMETERS="ro quiet"\n',
        "/boot/extlinux/extlinux.conf": "default l0\nlabel l0\n\tlinux /boot/vmlinuz-6.1\n"
                                        "\tappend root=UUID=x ro quiet\n",
    }),
    "flash-kernel": ("flash-kernel", {
        "/usr/sbin/flash-kernel": "#!/bin/sh\n",
        "/etc/default/flash-kernel": 'LINUX_KERNEL_CMDLINE="quiet"\n'
                                     'LINUX_KERNEL_CMDLINE_DEFAULTS=""\n',
    }),
}


def load_option(title, options=""):
    """EFI_LOAD_OPTION behind the attributes of its variable, with an empty device path."""
    text = (title + "\0").encode("utf-16le")
    return (struct.pack("<IIH", 7, 1, 4) + text + b"\x7f\xff\x04\x00"
            + options.encode("utf-16le"))


LOADER_VARIABLE = "/sys/firmware/efi/efivars/{}-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
EFIVARS = "/sys/firmware/efi/efivars/{}-8be4df61-93ca-11d2-aa0d-00e098032b8c"

# loaders that are not written to: (backend, files, entries as (id, request, default),
# a word of the advice for off)
RECOGNISED = {
    "nixos": ("nixos", {
        "/etc/NIXOS": "",
        "/boot/loader/entries/nixos-generation-2.conf":
            "title NixOS\nlinux /vmlinuz\noptions init=/nix/x root=fstab\n",
        "/boot/vmlinuz": "",
    }, [("nixos-generation-2", "none", True)], "boot.kernelParams"),
    "pop-os": ("kernelstub", {
        "/etc/kernelstub/configuration": "{}\n",
        "/boot/efi/loader/entries/Pop_OS-current.conf":
            "title Pop!_OS\nlinux /EFI/Pop_OS-1/vmlinuz.efi\noptions root=UUID=1 ro quiet\n",
        "/boot/efi/EFI/Pop_OS-1/vmlinuz.efi": "",
    }, [("Pop_OS-current", "none", True)], "kernelstub -a"),
    "limine": ("limine", {
        "/boot/limine.conf": "timeout: 5\ndefault_entry: 3\n\n/+Arch Linux\n    //linux\n"
                             "    protocol: linux\n    path: boot():/vmlinuz-linux\n"
                             "    cmdline: root=UUID=1 rw cgroup_disable=memory\n\n"
                             "    //linux-lts\n    PROTOCOL: linux\n"
                             "    kernel_path: boot():/vmlinuz-linux-lts\n"
                             "    kernel_cmdline: root=UUID=1 rw\n/Windows\n"
                             "    protocol: efi\n    comment: none\n",
        "/boot/vmlinuz-linux": "", "/boot/vmlinuz-linux-lts": "",
    }, [("Arch Linux", "none", False), ("linux", "off", False), ("linux-lts", "none", True),
        ("Windows", "none", False)], "cmdline:"),
    "limine-7": ("limine", {
        "/boot/limine.cfg": "TIMEOUT=5\n\n:Arch Linux\n    PROTOCOL=linux\n"
                            "    KERNEL_PATH=boot:///vmlinuz-linux\n    CMDLINE=root=UUID=1 rw\n",
    }, [("Arch Linux", "none", True)], "cmdline:"),
    "limine-entry-tool": ("limine", {
        "/etc/default/limine": 'KERNEL_CMDLINE[default]="root=x"\n',
    }, [], "limine-update"),
    "refind": ("refind", {
        "/boot/refind_linux.conf": '# comment\n"Boot with ""quotes""" "root=UUID=x ro"\n'
                                   '"Single" "root=UUID=x cgroup_disable=memory single" x\n'
                                   'garbage\n"No options"\n"Open "root=\n',
    }, [('Boot with "quotes"', "none", True), ("Single", "off", False),
        ("No options", "none", False), ("Open ", "none", False)], "second quoted text"),
    "zipl": ("zipl", {
        "/etc/zipl.conf": '[defaultboot]\ndefault=linux\n[old]\nimage=/boot/image-1\n'
                          "parameters='root=x cgroup_disable=memory'\n[linux]\n"
                          'target=/boot\nimage=/boot/image\nparameters = "root=x"\n'
                          '[dump]\ndumpto=/dev/x\n',
    }, [("old", "off", False), ("linux", "none", True), ("dump", "none", False)], "parameters="),
    "zipl-bls": ("zipl", {
        "/etc/zipl.conf": "[defaultboot]\ndefaultauto\nprompt=1\n",
        "/usr/sbin/zipl": "",
        f"/boot/loader/entries/{MID}-6.17.4.conf": bls("6.17.4", "root=x quiet"),
        "/usr/lib/modules/6.17.4/modules.dep": "",
    }, [(f"{MID}-6.17.4", "none", True)], "options line"),
    "petitboot": ("petitboot", {
        "/etc/kboot.conf": "# kboot\nmessage=/etc/kboot.msg\ntimeout=10\ndefault=b\n"
                           "a='/boot/vmlinux initrd=/boot/i root=/dev/sda2'\n"
                           "b='sda2:/boot/vmlinux-2 root=/dev/sda2 cgroup_disable=memory'\n",
    }, [("a", "none", False), ("b", "off", True)], "each entry"),
    "zfsbootmenu": ("zfsbootmenu", {"/etc/zfsbootmenu/config.yaml": "Global:\n"}, [], "zfs set"),
    "efistub": ("efistub", {
        EFIVARS.format("BootCurrent"): b"\6\0\0\0\3\0",
        EFIVARS.format("BootOrder"): b"\7\0\0\0\3\0\1\0\2\0",
        EFIVARS.format("Boot0003"): load_option("Arch", "root=UUID=1 rw initrd=\\i.img"),
        EFIVARS.format("Boot0001"): load_option("Arch off",
                                                "root=UUID=1 cgroup_disable=memory"),
        EFIVARS.format("Boot0002"): load_option("Windows Boot Manager", "WINDOWS"),

    }, [("Boot0003", "none", True), ("Boot0001", "off", False)], None),
    "efistub-cut": ("none", {
        EFIVARS.format("BootCurrent"): b"\6\0\0\0\3\0",
        EFIVARS.format("Boot0003"): load_option("Arch", "root=UUID=1")[:20],
    }, [], None),
}
