"""A gate at which services wait, already loaded, until the database is prepared.

Loading takes most of a start, and the preparation occupies one processor; so everything loads
beside it. The gate is a pipe: it is open when nobody can write to it any more, which is also so
when the supervisor is gone.
"""

from __future__ import annotations

import os

#: In the environment of a service: the descriptor to wait at. Not there: no need to wait.
VARIABLE = "SCHEDWEB_GATE"


def wait() -> None:
    """Return when the gate is open; at once the second time."""
    descriptor = os.environ.pop(VARIABLE, "")
    if descriptor:
        os.read(int(descriptor), 1)
        os.close(int(descriptor))


class Gate:
    """The supervisor's side."""

    def __init__(self) -> None:
        self._entrance, self._latch = os.pipe()
        self._closed = True

    @property
    def descriptor(self) -> int | None:
        """What a service gets to wait at; None once the gate is open."""
        return self._entrance if self._closed else None

    def open(self) -> None:
        if self._closed:
            self._closed = False
            os.close(self._entrance)
            os.close(self._latch)
