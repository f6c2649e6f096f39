"""Sends what a thread produces to a client of the event loop, no faster than the client reads."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

#: A client that reads nothing for so long is disconnected: a thread and a query wait for it.
STALL_SECONDS: Final = 30.0


class ClientStalled(Exception):
    """The client has not read its response for :data:`STALL_SECONDS`."""


def send_from_thread(sending: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> None:
    """Run `sending` on the loop and wait for it. Raises :class:`ClientStalled`."""
    future = asyncio.run_coroutine_threadsafe(sending, loop)
    try:
        future.result(STALL_SECONDS)
    except TimeoutError as error:
        future.cancel()
        raise ClientStalled from error
