#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables on a terminal fit its width and lose no row; a pipe gets every column whole.

usage: terminal.py PROGRAM ROOT
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

WIDTH = 72


def on_terminal(argv):
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
        os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
        os.environ.pop("COLUMNS", None)
        os.execv(argv[0], argv)
    data = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        data += more
    os.waitpid(pid, 0)
    return re.sub(r"\x1b\[[0-9;]*m", "", data.decode()).replace("\r\n", "\n")


def main():
    program, root = sys.argv[1:]
    argv = [program, f"--root={root}", "--no-pager", "needs"]
    terminal = on_terminal(argv)
    piped = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    table = piped.split("\n\n")[0].splitlines()
    assert max(map(len, table), default=0) > WIDTH, "this root's table is narrow: nothing is tested"
    if "+LIBSMARTCOLS" not in subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout:
        print("SKIP terminal: built without libsmartcols")
        return 77
    wide = [line for line in terminal.split("\n\n")[0].splitlines() if len(line) > WIDTH]
    assert not wide, f"wider than the terminal: {wide}"
    for need in {line.split()[0] for line in table[1:] if line[0] != " "}:
        assert re.search(rf"^{re.escape(need)}", terminal, re.M), f"no row of {need}:\n{terminal}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
