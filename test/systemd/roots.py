# SPDX-License-Identifier: LGPL-2.1-or-later
"""Roots of real Debian systems, to run their systemd in by chroot(2); archives are cached."""

import contextlib
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "vm"))
import disk  # noqa: E402
import vm  # noqa: E402

SUITES = ("bookworm", "trixie", "sid")

# Merged /usr, which a script of a package would make otherwise.
MERGE = 'cd "$1" && for d in bin sbin lib lib64; do mkdir -p "usr/$d" && ln -s "usr/$d" "$d"; done'

# What systemd, systemctl and sh are made of, and what can be a unit: a tenth of the whole.
PRUNE = """
cd "$1"
rm -rf boot var/lib/apt/lists/* var/cache/apt usr/share/[!s]* usr/share/s[!y]* usr/src usr/include usr/libexec
find usr/bin usr/sbin -mindepth 1 ! -name 'systemd*' ! -name systemctl ! -name sh ! -name dash ! -name env -delete
find usr/lib -mindepth 1 -maxdepth 1 -type d ! -name systemd ! -name '*-linux-gnu' -exec rm -rf {} +
find usr/lib/*-linux-gnu -mindepth 1 -maxdepth 1 -type d ! -name systemd -exec rm -rf {} +
"""

# What ships units, with all that it depends on. Unpacked, not installed: that takes a tenth of
# the time, and what their scripts would enable, "systemctl preset-all" enables here.
SETS = {
    "server": [
        "systemd-sysv", "systemd-oomd", "systemd-resolved", "systemd-timesyncd", "dbus", "cron",
        "openssh-server", "rsyslog", "postfix", "dovecot-core", "nginx-light", "apache2",
        "haproxy", "squid", "bind9", "unbound", "postgresql", "mariadb-server", "redis-server",
        "memcached", "rabbitmq-server", "samba", "nfs-kernel-server", "docker.io", "podman",
        "libvirt-daemon-system", "lxc", "lvm2", "mdadm", "smartmontools", "fail2ban", "nftables",
        "unattended-upgrades", "prometheus", "prometheus-node-exporter", "tor", "openvpn",
        "wireguard-tools", "php-fpm", "slurmd", "multipath-tools", "open-iscsi", "tuned",
    ],
    "desktop": [
        "systemd-sysv", "dbus-user-session", "gdm3", "gnome-session", "lightdm",
        "network-manager", "modemmanager", "bluez", "cups", "cups-browsed", "avahi-daemon",
        "pipewire", "pipewire-pulse", "wireplumber", "packagekit", "flatpak", "snapd", "fwupd",
        "upower", "power-profiles-daemon", "accountsservice", "colord", "geoclue-2.0", "tracker",
        "xdg-desktop-portal-gtk", "gvfs", "syncthing", "thermald", "rtkit", "speech-dispatcher",
        "earlyoom", "switcheroo-control", "bolt", "udisks2", "plymouth", "ssh-agent-filter",
    ],
}


@contextlib.contextmanager
def unpacked(suite, packages=None, prune=PRUNE):
    """A throw-away root with the systemd of a suite; packages: unpacked only, and pruned."""
    if os.geteuid() != 0:
        raise vm.Skipped("needs root, for mmdebstrap and chroot")
    if packages:
        tar = disk.bootstrap(suite, packages, f"--setup-hook={MERGE}", f"--extract-hook={prune}", variant="extract")
    else:
        tar = disk.bootstrap(suite, ["systemd"])
    with tempfile.TemporaryDirectory(prefix="systemd-root-", dir=vm.cache_dir()) as root:
        os.chmod(root, 0o755)
        disk.unpack(tar, root)
        for place in ("proc", "sys", "run", "tmp"):  # a script of base-files makes them
            os.makedirs(os.path.join(root, place), exist_ok=True)
        yield root
