"""Takes the connections that another web process does not: it has died, or it hangs.

Each process accepts from sockets of its own, between which the kernel divides connections evenly,
also those for a process that is not there. The supervisor keeps all sockets open, so a connection
that nobody accepts waits; after a moment any other process takes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Final

#: How long a connection waits for the process to which the kernel has assigned it, in seconds.
PATIENCE: Final = 0.25
#: How many of them are taken at once.
TOGETHER: Final = 100


class Standby:
    """Watches the listening socket of another process."""

    def __init__(
        self, listener: socket.socket, serve: Callable[[socket.socket], Coroutine[Any, Any, None]]
    ) -> None:
        self._listener = listener
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._serving: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Watch, until `stop`."""
        self._listener.setblocking(False)
        self._loop.add_reader(self._listener, self._wait)

    def stop(self) -> None:
        """Take no more connections."""
        self._loop.remove_reader(self._listener)
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        # it stays readable as long as connections wait
        self._loop.remove_reader(self._listener)
        self._timer = self._loop.call_later(PATIENCE, self._take)

    def _take(self) -> None:
        # no connection waits any more, or there is no file descriptor for it
        with contextlib.suppress(OSError):
            for _ in range(TOGETHER):
                connection, _address = self._listener.accept()
                connection.setblocking(False)
                task = self._loop.create_task(self._serve(connection))
                self._serving.add(task)
                task.add_done_callback(self._serving.discard)
        self.start()
