# SPDX-License-Identifier: LGPL-2.1-or-later
"""Emulated machines for tests, and the report of what was done with them.

A machine has two serial lines. The first is the witness: firmware, GRUB and kernel speak there
and every byte is kept. On the second agent.sh waits for shell scripts and sends back status and
output. Emulated, since KVM is often absent or broken where tests run: one boot takes 10 s with an
initramfs and 60 s with a Debian disk. VM_ACCEL=kvm is for those who have it, VM_SLOTS is how many
machines may run at a time.
"""

import base64
import contextlib
import fcntl
import os
import pathlib
import re
import select
import shutil
import socket
import subprocess
import tempfile
import time
import typing

# What a kernel says when it will never reach the agent. Emulated kernels do so at times.
CRASH = re.compile(
    rb"Kernel panic|---\[ end (?:trace|Kernel)|Unable to mount root|ALERT!  .* does not exist"
    rb"|grub rescue>|error: no such device"
)
# A boot that says nothing on its console for so many seconds is dead, on a loaded machine too.
SILENCE = 600


class Failed(Exception):
    """A step did not do what it should."""


class Skipped(Exception):
    """A step cannot run here; the reason is its text."""


class EarlyDeath(Exception):
    """The machine died before its agent spoke."""


class Answer(typing.NamedTuple):
    status: int
    output: str


def cache_dir() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = pathlib.Path(base, "memcg-policy")
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def lock(name):
    """One at a time, over all processes of this user."""
    with open(cache_dir() / f"{name}.lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def take_slot():
    """An emulated machine keeps one processor busy: half of them may be used, or VM_SLOTS machines."""
    slots = int(os.environ.get("VM_SLOTS") or max(1, (os.cpu_count() or 1) // 2))
    while True:
        for n in range(slots):
            f = open(cache_dir() / f"slot-{n}.lock", "w")
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return f
            except BlockingIOError:
                f.close()
        time.sleep(1)


def _decode(lines):
    """What a script said, of what the agent sends."""
    return base64.b64decode(b"".join(lines)).decode(errors="replace")


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        raise Skipped(f"not installed: {' '.join(missing)}")


class Machine:
    """One emulated machine. Use as a context manager: leaving it ends the emulator.

    The console of the last machine of a name is kept in the cache, console-NAME.log.

    drives: -drive arguments without "if="; the first is the system's disk.
    kernel, initrd, append: boot this instead of the disk's own loader.
    options: more arguments for the emulator, such as other firmware.
    tries: how often an early death is answered by another start.
    """

    def __init__(self, name, drives=(), kernel=None, initrd=None, append="", memory=1024, tries=3,
                 options=()):
        need("qemu-system-x86_64")
        self.name = name
        self.drives = list(drives)
        self.options = list(options)
        self.kernel, self.initrd, self.append = kernel, initrd, append
        self.memory = memory
        self.tries = tries
        self.retries = []
        self.boot_id = None
        self._dir = pathlib.Path(tempfile.mkdtemp(prefix=f"vm-{name}-"))
        self._console = self._dir / "console"
        self._console.touch()
        self._boot_start = 0
        self._process = self._agent = self._slot = None
        self._buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.kill()
        shutil.copy(self._console, cache_dir() / f"console-{self.name}.log")
        shutil.rmtree(self._dir, ignore_errors=True)

    # --- power ---

    def _command(self):
        command = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"]
        # two processors: emulated kernels often die while they patch their own text; newer ones than
        # Nehalem: with them systemd once saw "Mount process finished, but there is no mount" in QEMU 7.2
        accel = os.environ.get("VM_ACCEL", "tcg")
        command += ["-accel", accel, "-cpu", "host" if accel == "kvm" else "Nehalem", "-smp", "1"]
        command += ["-m", str(self.memory), "-device", "virtio-rng-pci", *self.options]
        command += ["-chardev", f"file,id=console,append=on,path={self._console}"]
        command += ["-serial", "chardev:console"]
        command += ["-chardev", f"socket,id=agent,server=on,wait=off,path={self._dir}/agent"]
        command += ["-serial", "chardev:agent"]
        for drive in self.drives:
            command += ["-drive", f"if=virtio,{drive}"]
        if self.kernel:
            command += ["-kernel", str(self.kernel), "-append", self.append]
        if self.initrd:
            command += ["-initrd", str(self.initrd)]
        return command

    def _spawn(self):
        self._slot = self._slot or take_slot()
        self._boot_start = self._console.stat().st_size
        self._buffer = b""
        (self._dir / "agent").unlink(missing_ok=True)
        with open(self._dir / "qemu.log", "wb") as log:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._agent = socket.socket(socket.AF_UNIX)
        for _ in range(100):
            try:
                self._agent.connect(str(self._dir / "agent"))
                return
            except OSError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.1)
        said = (self._dir / "qemu.log").read_text(errors="replace").strip()
        raise Failed(f"{self.name}: the emulator did not start: {said}")

    def start(self, silence=SILENCE):
        """Power on and wait for the agent."""
        self._spawn()
        self._await_agent(silence)

    def reboot(self, silence=SILENCE, command="systemctl reboot"):
        """A full reboot from inside, through firmware and boot loader."""
        self._send(command)
        self._boot_start = self._console.stat().st_size
        self._await_agent(silence)

    def power_off(self, timeout=900, command="systemctl poweroff"):
        self._send(command)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name}: no power-off within {timeout} s") from None
        self.kill()

    def kill(self):
        """Pull the plug. What the guest wrote but did not flush may be on the disk or not."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._agent:
            self._agent.close()
            self._agent = None
        if self._slot:
            self._slot.close()
            self._slot = None

    def _await_agent(self, silence):
        for attempt in range(1, self.tries + 1):
            try:
                self._await_ready(silence)
                return
            except EarlyDeath as death:
                if attempt == self.tries:
                    raise Failed(f"{self.name}: {attempt} boots died early, the last: {death}") from None
                print(f"{self.name}: boot died early ({death}), trying again", flush=True)
                self.retries.append(str(death))
                self.kill()
                self._spawn()

    def _await_ready(self, silence):
        """How long a boot takes depends on what else runs here: it goes on as long as it speaks."""
        written, since, said = -1, 0.0, []
        while True:
            size = self._console.stat().st_size
            if size != written:
                written, since = size, time.monotonic()
            elif time.monotonic() - since > silence:
                raise EarlyDeath(f"the console is silent for {silence} s")
            line = self._read_line(time.monotonic() + 1)
            if line and line.startswith(b"@ready "):
                boot_id = line.split()[1].decode()
                if boot_id != self.boot_id:
                    self.boot_id = boot_id
                    return
            elif line and line.startswith(b"@answer "):
                # of the command that was to end the boot before, unless a signal ended it too
                if 0 < int(line.split()[1]) < 128:
                    raise Failed(f"{self.name}: it does not reboot: {_decode(said)}")
            elif line and not line.startswith(b"@"):
                said.append(line)
            crash = CRASH.search(self._console_bytes())
            if crash:
                raise EarlyDeath(crash.group().decode())
            if self._process.poll() is not None:
                raise EarlyDeath(f"the emulator ended with {self._process.returncode}")

    # --- talk ---

    def _read_line(self, deadline):
        """One line of the agent without its end, or None when the time is up."""
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if select.select([self._agent], [], [], left)[0]:
                data = self._agent.recv(65536)
                if not data:
                    time.sleep(min(left, 0.2))
                    return None
                self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.rstrip(b"\r")

    def _send(self, script):
        code = base64.encodebytes(script.encode())
        self._agent.sendall(code + b"\n")

    def run(self, script, expect=0, timeout=600) -> Answer:
        """Runs a shell script in the machine.

        expect: the status it must end with, several as a tuple, None for any.
        timeout: seconds of the emulator's own processor time; five times as long by the clock, for
        a machine that only waits.
        """
        self._send(script)
        used, deadline = self._processor_time() + timeout, time.monotonic() + 5 * timeout
        lines = []
        while True:
            line = self._read_line(time.monotonic() + 1)
            if line is None:
                in_time = time.monotonic() < deadline and self._processor_time() < used
                if in_time and self._process.poll() is None:
                    continue
                raise Failed(f"{self.name}: no answer within {timeout} s to:\n{script}")
            if line.startswith(b"@answer "):
                break
            if not line.startswith(b"@"):
                lines.append(line)
        answer = Answer(int(line.split()[1]), _decode(lines))
        wanted = expect if isinstance(expect, tuple) else (expect,)
        if expect is not None and answer.status not in wanted:
            raise Failed(
                f"{self.name}: exit status {answer.status}, expected {expect}:\n"
                f"{script}\n--- its output ---\n{answer.output}"
            )
        return answer

    def _processor_time(self):
        try:
            fields = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0  # it ended; who asks looks for that too
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _console_bytes(self):
        with open(self._console, "rb") as f:
            f.seek(self._boot_start)
            return f.read()

    def console(self):
        """What this boot wrote on the first serial line."""
        return self._console_bytes().decode(errors="replace")


class Report:
    """Runs steps, keeps their times and results, prints them as a table."""

    def __init__(self):
        self.rows = []

    def run(self, name, steps, *args):
        """Each step is a (title, function) pair. After a failure the rest is not run."""
        broken = None
        for title, step in steps:
            started = time.monotonic()
            result, why = "passed", ""
            if broken:
                result, why = "not run", f"after “{broken}”"
            else:
                try:
                    step(*args)
                except Skipped as e:
                    result, why = "skipped", str(e)
                except Exception as e:  # a step may fail in any way; the report goes on
                    result, why = "failed", str(e) or repr(e)
                    broken = title
            seconds = time.monotonic() - started
            self.rows.append((name, title, seconds, result))
            print(f"{name}: {title}: {result} ({seconds:.1f} s){': ' + why if why else ''}", flush=True)
        return not broken

    def close(self):
        """Prints the table and returns the exit status: 0, 1, or 77 when all was skipped."""
        width = max((len(row[0]) for row in self.rows), default=0)
        steps = max((len(row[1]) for row in self.rows), default=0)
        print(f"\n{'MACHINE':{width}}  {'STEP':{steps}}  SECONDS  RESULT")
        for name, title, seconds, result in self.rows:
            print(f"{name:{width}}  {title:{steps}}  {seconds:7.1f}  {result}")
        count = [row[3] for row in self.rows].count
        failed = count("failed") + count("not run")
        print(f"\n{count('passed')} passed, {failed} failed, {count('skipped')} skipped")
        if failed:
            return 1
        return 77 if not count("passed") else 0
