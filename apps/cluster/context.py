"""The request that the running code works for, for change records, decisions and log lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from apps.cluster.random_ids import random_uuid

_request_id: ContextVar[str] = ContextVar("request_id", default="")

#: What a client may call its own request: short, and harmless in a log line.
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._:/+=@-]{1,64}")


def current_request_id() -> str:
    """The id of the request at hand; "" outside of any."""
    return _request_id.get()


def acceptable_request_id(offered: str | None) -> str:
    """The client's own request id when it can be used, else a new one."""
    if offered and _ACCEPTABLE.fullmatch(offered):
        return offered
    return random_uuid().hex


@contextmanager
def request_context(request_id: str) -> Iterator[str]:
    """Everything inside works for the request *request_id*; yields that id."""
    token = _request_id.set(request_id)
    try:
        yield request_id
    finally:
        _request_id.reset(token)
