#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables on a terminal fit its width and lose no row, also behind a pager; a pipe gets every
column whole, and no pager.

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


def on_terminal(argv, status=0, **variables):
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
        os.environ.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", **variables})
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
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert ended == status, f"{argv} {variables} ended with {ended}:\n{data.decode()}"
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
    pagers(program, root, terminal)
    return 0


def pagers(program, root, terminal):
    """What the terminal shows with each pager; terminal is what it shows without."""
    needs = [program, f"--root={root}", "needs"]
    paged = on_terminal(needs, MEMCG_POLICY_PAGER="sed s/^/P:/", PAGER="false")
    assert paged == "".join(f"P:{line}\n" for line in terminal.splitlines()), f"another text:\n{paged}"
    assert on_terminal(needs, PAGER="sed s/^/P:/").startswith("P:"), "not through PAGER"
    for none in ({"PAGER": ""}, {"PAGER": "cat"}, {"PAGER": "sed s/^/P:/", "TERM": "dumb"}):
        assert "P:" not in on_terminal(needs, **none)
    assert "P:" not in on_terminal([*needs, "--json"], PAGER="sed s/^/P:/")
    assert "P:" not in on_terminal([program, f"--root={root}", "status"], PAGER="sed s/^/P:/")
    # whoever leaves it early has seen enough: no error, and nothing on the terminal behind it
    assert on_terminal(needs, PAGER="true") == ""
    assert on_terminal(needs, PAGER="head -n 1").count("\n") == 1
    assert "P:" not in on_terminal([program, f"--root={root}/none", "needs"], 1, PAGER="sed s/^/P:/")


if __name__ == "__main__":
    sys.exit(main())
