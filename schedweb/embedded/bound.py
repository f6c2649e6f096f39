"""Runs a program that ends when its parent process ends, for any reason.

    python -I -S bound.py PARENT_PID SIGNAL UID GID PROGRAM [ARGUMENT...]

A separate program instead of a ``preexec_fn``, so that no Python code runs between fork and exec of
a process that may have threads. UID and GID are -1 to keep the current user. On Linux the kernel
sends SIGNAL when the parent dies (the request must follow setuid, which clears it, and refers to
the parent's *thread*: start from the main thread). On other systems this process keeps running and
polls every half second.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    parent, death_signal, uid, gid = (int(word) for word in sys.argv[1:5])
    program = sys.argv[5:]
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform != "linux":
        sys.exit(_watch(parent, death_signal, program))
    end_with(parent, death_signal)
    os.execv(program[0], program)


def end_with(parent: int, death_signal: int) -> None:
    """Let the kernel send this process a signal when its parent dies (Linux)."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:  # it died before the request took effect
        sys.exit(1)


def adopt_orphans() -> None:
    """Let descendants of this process whose parents end become its children (Linux)."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _watch(parent: int, death_signal: int, program: list[str]) -> int:
    child = subprocess.Popen(program)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, lambda received, _frame: child.send_signal(received))
    while child.poll() is None:
        if os.getppid() != parent:
            child.send_signal(death_signal)
            return child.wait()
        time.sleep(0.5)
    return child.returncode


if __name__ == "__main__":
    main()
