"""How the threads of a process share its interpreter."""

from __future__ import annotations

import sys
from typing import Final

#: A thread that has waited for the database or a socket gets the interpreter back after so many
#: seconds at most while another one computes. Python's default is 5 ms, for each of the waits of a
#: request or a batch.
SWITCH_SECONDS: Final = 0.001


def switch_soon() -> None:
    """Let threads that have waited continue soon."""
    sys.setswitchinterval(SWITCH_SECONDS)
