"""The calls of extenders in one attempt, recorded for its decision.

An extender is called from several places (filtering, preemption, binding, which may run in another
thread), and these do not pass the decision on to it. Instead the code that runs a part of an
attempt says where calls are recorded (``record_calls``), and the extender records them there.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass
from enum import StrEnum


class ExtenderVerb(StrEnum):
    """What an extender can do; the path of the call is configured."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    PREEMPT = "preempt"
    BIND = "bind"


@dataclass(frozen=True, slots=True)
class ExtenderCall:
    """One call of one extender."""

    #: its name in refusals and scores
    extender: str
    url: str
    verb: ExtenderVerb
    #: nodes in the request
    nodes_in: int
    #: nodes it accepted, scored or bound to, or that are still candidates
    nodes_out: int
    nanoseconds: int
    #: why there was no valid answer; empty if there was one
    error: str = ""
    #: the attempt continued despite the error
    ignored: bool = False
    #: it answered filter with nodes instead of names: they were scored without their pods
    has_objects: bool = False


_recorder: ContextVar[list[ExtenderCall] | None] = ContextVar("extender calls", default=None)


class record_calls:
    """In ``with record_calls(calls):`` the calls of this thread are appended to ``calls``."""

    __slots__ = ("_before", "_calls")

    def __init__(self, calls: list[ExtenderCall]) -> None:
        self._calls = calls
        self._before: Token[list[ExtenderCall] | None]

    def __enter__(self) -> None:
        self._before = _recorder.set(self._calls)

    def __exit__(self, *_: object) -> None:
        _recorder.reset(self._before)


def record_call(call: ExtenderCall) -> None:
    """Record a call, if calls are recorded in this thread."""
    calls = _recorder.get()
    if calls is not None:
        calls.append(call)
