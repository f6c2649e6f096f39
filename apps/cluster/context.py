"""The id of the current request, recorded in changes, decisions and log lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from apps.cluster.random_ids import random_uuid_hex

_request_id: ContextVar[str] = ContextVar("request_id", default="")

#: A request id that a client may choose: short, and safe in a log line.
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._:/+=@-]{1,64}")


def current_request_id() -> str:
    """The id of the current request; "" outside a request."""
    return _request_id.get()


def acceptable_request_id(offered: str | None) -> str:
    """The client's request id if it is acceptable, otherwise a new one."""
    if offered and _ACCEPTABLE.fullmatch(offered):
        return offered
    return random_uuid_hex()


@contextmanager
def request_context(request_id: str) -> Iterator[str]:
    """Makes *request_id* the current request id inside the block; yields it."""
    token = _request_id.set(request_id)
    try:
        yield request_id
    finally:
        _request_id.reset(token)
