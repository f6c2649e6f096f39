"""A gate at which loaded services wait until the database is prepared.

Loading takes most of the start time, and the preparation uses one processor, so services load in
parallel. The gate is a pipe: it is open when no process can write to it any more, which is also the
case after the supervisor has exited.
"""

from __future__ import annotations

import os

#: Environment variable of a service: the descriptor to wait at. Absent: do not wait.
VARIABLE = "SCHEDWEB_GATE"


def wait() -> None:
    """Return when the gate is open; later calls return at once."""
    descriptor = os.environ.pop(VARIABLE, "")
    if descriptor:
        os.read(int(descriptor), 1)
        os.close(int(descriptor))


class Gate:
    """The supervisor's side of the gate."""

    def __init__(self) -> None:
        self._entrance, self._latch = os.pipe()
        self._closed = True

    @property
    def descriptor(self) -> int | None:
        """The descriptor for services to wait at; None once the gate is open."""
        return self._entrance if self._closed else None

    def open(self) -> None:
        if self._closed:
            self._closed = False
            os.close(self._entrance)
            os.close(self._latch)
