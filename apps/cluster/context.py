"""The current request: its id, and what is noted about it while it is carried out.

The id is recorded in changes, decisions and log lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Notes:
    """What admission notes about a request: for its response, and for an audit log."""

    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)


_notes: ContextVar[Notes | None] = ContextVar("notes", default=None)


def add_warning(text: str) -> None:
    """Warn the client of the current request, once for each text."""
    notes = _notes.get()
    if notes is not None and text not in notes.warnings:
        notes.warnings.append(text)


def add_audit_annotation(key: str, value: str) -> None:
    """Annotate the current request for an audit log; the first value of a key stays."""
    notes = _notes.get()
    if notes is not None:
        notes.annotations.setdefault(key, value)


@contextmanager
def taking_notes() -> Iterator[Notes]:
    """Collects what is noted about the request inside the block."""
    notes = Notes()
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)
