"""One long-lived child process: start it, restart it when it exits, stop it.

Where a fork server runs (`schedweb.forkserver`), it starts the processes; without one, or while it
is away, they start by themselves.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedweb import alive
from schedweb.config import ROOT
from schedweb.embedded import bound
from schedweb.gate import VARIABLE, Gate

#: After this time a start counts as successful.
STEADY_SECONDS = 30.0
LONGEST_DELAY = 10.0

#: How long a process may take until its first sign of life, on a machine with thirty times as much
#: to do as it can. One that waits at the gate may take any time.
START_SECONDS = 120.0

#: A process that a signal has stopped does nothing until another one continues it, however busy the
#: machine is.
STOPPED_SECONDS = 1.0

#: The longest time between two looks at a process that counts as its silence: after a pause of the
#: whole machine nobody was silent.
LONGEST_LOOK = 2.0

LARGEST_LOG = 10 * 1024 * 1024

#: What the fork server sends when it has loaded everything, and what a process that it has forked
#: waits for: one that arrives too late has been started in another way by then.
READY = b"ready"
GO = b"go"
#: Seconds after which a request of the fork server is given up: two hundred times what it takes.
FORK_SECONDS = 2.0
_LOOK_SECONDS = 0.1


class ServiceProcess:
    """A Python program. It ends with its parent; its output goes to *log* or to the terminal."""

    def __init__(
        self,
        name: str,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        *,
        log: Path | None,
        descriptors: tuple[int, ...] = (),
        gate: Gate | None = None,
        patience: float = math.inf,
        forks: ForkServer | None = None,
    ) -> None:
        """`patience`: a process without a sign of life for so many seconds is killed.

        One that a signal has stopped is killed after `STOPPED_SECONDS`.
        """
        self.name = name
        self._arguments = arguments
        self._environment = environment
        self._log = log
        self._descriptors = descriptors
        self._gate = gate
        self._patience = patience
        self._forks = forks
        #: its time of change is the last sign of life; in memory, because a disk may be full
        self._signs = _memory_file() if patience < math.inf else None
        self._last_sign = self._looked_at = self._silence = 0.0
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._started_at = 0.0
        self._failures = 0
        self._start_at = 0.0

    def start(self) -> None:
        environment, descriptors = self._environment, self._descriptors
        waiting = self._gate.descriptor if self._gate else None
        if waiting is not None:
            environment = environment | {VARIABLE: str(waiting)}
            descriptors = (*descriptors, waiting)
        if self._signs is not None:
            environment = environment | {alive.VARIABLE: f"/dev/fd/{self._signs}"}
            descriptors = (*descriptors, self._signs)
            self._last_sign = os.fstat(self._signs).st_mtime
            self._silence = -START_SECONDS if waiting is None else -math.inf
        with contextlib.ExitStack() as stack:
            output = None if self._log is None else stack.enter_context(self._log.open("ab"))
            if self._forks is not None:
                self._process = self._forks.fork(
                    self._arguments,
                    environment,
                    descriptors,
                    1 if output is None else output.fileno(),
                )
            if self._process is None:
                self._process = subprocess.Popen(
                    [
                        *(sys.executable, "-I", "-S", os.fspath(bound.__file__)),
                        *(str(os.getpid()), str(int(signal.SIGKILL)), "-1", "-1"),
                        *(sys.executable, *self._arguments),
                    ],
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=descriptors,
                    # The supervisor handles Ctrl-C and stops the services in order.
                    start_new_session=True,
                )
        self._started_at = time.monotonic()

    def keep(self) -> None:
        """Report an exit, and restart the process once its delay is over; bound its log."""
        if self._log is not None:
            rotate_log(self._log)
        now = time.monotonic()
        self._end_if_silent(now)
        if self._process is not None and (code := self._process.poll()) is not None:
            self._record_exit(code, now)
            self._process = None
        if self._process is None and now >= self._start_at:
            self.start()

    def _end_if_silent(self, now: float) -> None:
        """Kill the process if it shows no signs of life."""
        if self._signs is None or self.poll() is not None:
            return
        sign, is_stopped = os.fstat(self._signs).st_mtime, _is_stopped(self.pid)
        passed, self._looked_at = min(now - self._looked_at, LONGEST_LOOK), now
        self._silence = 0.0 if sign != self._last_sign else self._silence + passed
        self._last_sign = sign
        if self._silence > self._patience:
            why = f"has not answered its health for {self._patience:.0f} s"
        elif is_stopped and self._silence > STOPPED_SECONDS:
            why = "was stopped by a signal"
        else:
            return
        say(f"{self.name} {why}; killing it")
        self.end(signal.SIGKILL)

    @property
    def pid(self) -> int | None:
        """The id of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    def poll(self) -> int | None:
        """The exit code; None while the process runs, 0 before the first start."""
        return 0 if self._process is None else self._process.poll()

    def signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def end(self, number: int) -> None:
        """Signal and wait."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait()

    def _record_exit(self, code: int, now: float) -> None:
        steady = now - self._started_at > STEADY_SECONDS
        self._failures = 0 if steady else self._failures + 1
        # the first one may have been killed; those that follow probably fail by themselves
        delay = 0.0 if self._failures < 2 else min(0.25 * 2**self._failures, LONGEST_DELAY)
        self._start_at = now + delay
        say(f"{self.name} exited ({_reason(code)}); restarting it")
        if self._failures == 1 and self._log is not None:
            say(f"the last lines of {self._log}:\n{_tail(self._log)}")


class ForkedProcess:
    """A child of this process that another one has forked, with the methods of a `Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code; None while the process runs."""
        return self._collect(os.WNOHANG)

    def wait(self) -> int | None:
        """The exit code, once the process has ended."""
        return self._collect(0)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _collect(self, options: int) -> int | None:
        if self.returncode is None:
            found, status = os.waitpid(self.pid, options)
            if found:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class ForkServer(ServiceProcess):
    """`schedweb.forkserver`, which starts the other processes.

    It may die or hang at any time: then `fork` starts nothing, and `keep` starts it again.
    """

    def __init__(self, environment: dict[str, str], *, log: Path, patience: float) -> None:
        super().__init__("fork-server", (), environment, log=log, patience=patience)
        self._control: socket.socket | None = None
        self._has_loaded = False

    def start(self) -> None:
        """Start the server; it can fork as soon as `is_ready`."""
        if self._control is not None:
            self._control.close()
        self._has_loaded = False
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._arguments = ("-m", "schedweb.forkserver", str(theirs.fileno()), " " * 200)
            self._descriptors = (theirs.fileno(),)
            super().start()

    def is_ready(self) -> bool:
        """Whether the server runs and has loaded everything."""
        if self._control is None or self.poll() is not None:
            return False
        if not self._has_loaded and select.select([self._control], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                self._has_loaded = self._control.recv(len(READY)) == READY
        return self._has_loaded

    def fork(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        descriptors: Sequence[int],
        output: int,
    ) -> ForkedProcess | None:
        """Start a Python program, which inherits `descriptors`; None if the server cannot."""
        if self._control is None or not self.is_ready():
            return None
        request = {
            "parent": os.getpid(),
            "arguments": arguments,
            "environment": environment,
            "descriptors": descriptors,
        }
        channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with channel:
            with theirs:
                passed = [theirs.fileno(), output, output, *descriptors]
                with contextlib.suppress(OSError):
                    socket.send_fds(self._control, [json.dumps(request).encode()], passed)
            deadline = time.monotonic() + FORK_SECONDS
            while time.monotonic() < deadline and self.poll() is None:
                if select.select([channel], [], [], _LOOK_SECONDS)[0]:
                    with contextlib.suppress(OSError, ValueError):
                        pid = int(channel.recv(32))
                        channel.send(GO)
                        return ForkedProcess(pid)
                    break
        say(f"{self.name} does not respond; starting {arguments[-1]} without it")
        self.end(signal.SIGKILL)
        return None


def _is_stopped(pid: int | None) -> bool:
    """Whether a signal has stopped a process; False where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "T"


def _memory_file() -> int | None:
    """The descriptor of a file in memory; None where the system has none."""
    return os.memfd_create("signs-of-life") if hasattr(os, "memfd_create") else None


def say(text: str) -> None:
    """Print a line; ignores a closed standard output."""
    with contextlib.suppress(OSError):
        print(f"schedweb: {text}", flush=True)


def rotate_log(path: Path) -> None:
    """Move the content of a log above its size to `.log.1`, while processes append to it.

    They keep the file open, so it is copied and emptied; a line that is written between both is
    lost.
    """
    with contextlib.suppress(OSError):  # none yet, or the disk is full
        if path.stat().st_size > LARGEST_LOG:
            before = path.with_suffix(".log.1")
            before.unlink(missing_ok=True)
            shutil.copyfile(path, before)
            os.truncate(path, 0)


def _tail(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-12:])


def _reason(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
