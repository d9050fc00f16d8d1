# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Debian root whose systemd is PID 1 of namespaces of its own: a container at this machine's own speed."""

import signal
import subprocess
import time

import uml  # noqa: F401 (finds vm)
import vm

# PID 1 sees a machine of its own; what is mounted here is seen by nobody else
ENTER = r"""
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs dev
for node in null zero full random urandom tty; do
	: >dev/$node
	mount --bind /dev/$node dev/$node
done
mkdir -p dev/shm old
pivot_root . old
umount -l /old
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system \
	--unit="$2" --log-target=null --show-status=no
"""


def run(root, target, limit=900):
    """Starts the target; the manager lives until there is a file /live/done."""
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc", "--cgroup",
               "--propagation", "private", "sh", "-c", ENTER, "sh", root, target]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + limit
    try:
        while not (root / "live/done").exists():
            if child.poll() is not None or time.monotonic() > deadline:
                log = root / "live/log"
                raise vm.Failed(f"it did not come to its end: {log.read_text() if log.exists() else 'no start'}")
            time.sleep(1)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
