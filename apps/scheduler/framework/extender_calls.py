"""What was asked of extenders in one attempt: noted where it happens, kept in the decision.

An extender is called from several places (the search, preemption, the binding, which may run in
another thread), none of which should hand the decision down to it. So whoever runs a part of an
attempt says where calls are to be noted, and the extender notes them there.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass
from enum import StrEnum


class ExtenderVerb(StrEnum):
    """What an extender can be asked to do; the path of the call is the configuration's."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    PREEMPT = "preempt"
    BIND = "bind"


@dataclass(frozen=True, slots=True)
class ExtenderCall:
    """One call of one extender."""

    #: the extender's name in the decision's scores and statuses
    extender: str
    url: str
    verb: ExtenderVerb
    #: nodes it was asked about, and nodes left: not refused, scored, or still candidates
    nodes_in: int
    nodes_out: int
    nanoseconds: int
    #: why there was no answer that could be used; "" if there was
    error: str = ""
    #: the attempt went on in spite of the error
    ignored: bool = False


_noted: ContextVar[list[ExtenderCall] | None] = ContextVar("extender calls", default=None)


class calls_noted_in:
    """``with calls_noted_in(calls):`` in this thread, calls are appended to ``calls``."""

    __slots__ = ("_before", "_calls")

    def __init__(self, calls: list[ExtenderCall]) -> None:
        self._calls = calls
        self._before: Token[list[ExtenderCall] | None]

    def __enter__(self) -> None:
        self._before = _noted.set(self._calls)

    def __exit__(self, *_: object) -> None:
        _noted.reset(self._before)


def note(call: ExtenderCall) -> None:
    """Keep a call, if anybody wants to know."""
    calls = _noted.get()
    if calls is not None:
        calls.append(call)
