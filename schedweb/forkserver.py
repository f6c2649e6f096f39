"""``python -m schedweb.forkserver FD SPACE``: loads the whole site once, and forks its processes.

A process that starts by itself spends seconds of processor time on importing; a fork has everything
in memory, and shares most of it. The supervisor sends requests through the socket FD; for each one
a process starts as a child of the supervisor, as if it had been started by ``python ARGUMENTS…``.
SPACE makes room for their command lines.
The supervisor starts processes without this one if it is away (docs/adr/fork-server.md).

One thread, no connections: what a process opens or starts, it must open or start after the fork.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import runpy
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from schedweb import alive, memory
from schedweb.embedded import bound
from schedweb.service import GO, READY

LARGEST_REQUEST: Final = 1024 * 1024
#: Descriptors of a request: the channel of the new process, its output, and what it inherits.
MOST_DESCRIPTORS: Final = 64

#: Above the descriptors that the supervisor can pass.
_ASIDE: Final = 200

#: What web, workers and preparation use, but not the programs themselves, which run anew.
_LOADED: Final = (
    "schedweb.front.server",
    "schedweb.urls",
    "schedweb.wsgi",
    "celery.apps.worker",
    "celery.concurrency.thread",
    "schedweb.management.commands.prepare",
)


def serve(control: socket.socket) -> None:
    """Answer requests until the supervisor closes the socket."""
    _load()
    print(f"loaded everything: {time.process_time():.1f} s of processor time", flush=True)
    control.send(READY)
    while True:
        alive.touch()
        if not select.select([control], [], [], alive.INTERVAL_SECONDS)[0]:
            continue
        request, descriptors, _, _ = socket.recv_fds(control, LARGEST_REQUEST, MOST_DESCRIPTORS)
        if not request:
            return
        middle = os.fork()
        if middle == 0:
            # the child of a process that ends becomes one of the supervisor
            middle = os.getpid()
            if os.fork() == 0:
                control.close()
                _become(json.loads(request), descriptors, middle)
                return
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(middle, 0)


def _load() -> None:
    import django

    memory.configure_malloc()
    memory.shrink_tls_buffers()
    memory.pause_collections()
    django.setup()
    for name in _LOADED:
        import_module(name)
    from schedweb.celery import app

    app.loader.import_default_modules()
    memory.freeze_loaded_code()


def _become(request: dict[str, Any], descriptors: Sequence[int], middle: int) -> None:
    """Run the program of a request in this process, which has just been forked."""
    os.setsid()
    while os.getppid() == middle:
        time.sleep(0.0005)
    bound.end_with(request["parent"], signal.SIGKILL)
    channel, *received = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _ASIDE) for each in descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    for descriptor, number in zip(received, (1, 2, *request["descriptors"]), strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    with socket.socket(fileno=channel) as supervisor:
        supervisor.send(str(os.getpid()).encode())
        if supervisor.recv(len(GO)) != GO:
            os._exit(1)
    arguments = request["arguments"]
    _show([sys.executable, *arguments])
    os.environ.clear()
    os.environ.update(request["environment"])
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


def _show(words: Sequence[str]) -> None:
    """Let `ps` show this command line, as far as it fits into the one of the fork server."""
    numbers = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(numbers[45]), int(numbers[46])
    line = b"".join(os.fsencode(word) + b"\0" for word in words)[: end - start - 1]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, line, len(line))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
