"""How much evaluations may copy and compare, which their cost does not tell.

The cost of Kubernetes counts joining two lists as one, and comparing them by the length of the
shorter one, whatever their elements contain. A list of lists of the same list then has 2^60
elements to compare at a cost of 60. An evaluation that copies or compares too much is cancelled
like one that costs too much; what Kubernetes evaluates within a second is far below the limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from apps.cel.values import Value

#: Elements that one evaluation may copy and compare.
EVALUATION_LIMIT: Final = 2_000_000
#: Elements that all evaluations for one request, or for one object, may copy and compare.
SHARED_LIMIT: Final = 4_000_000
#: Characters that are copied while one element is.
_CHARACTERS: Final = 4
#: Elements that are copied while the comparison of two lists begins.
_COMPARISON: Final = 8


class CostExceeded(Exception):
    """The evaluation was cancelled."""


class Effort:
    """How many elements several evaluations may still copy and compare together."""

    __slots__ = ("left",)

    def __init__(self, left: int = SHARED_LIMIT) -> None:
        self.left = left

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Let the evaluations in the block share it."""
        token = _present.set(self)
        try:
            yield
        finally:
            _present.reset(token)


_present: Final[ContextVar[Effort | None]] = ContextVar("effort", default=None)


@contextmanager
def limited() -> Iterator[None]:
    """Limit the evaluation in the block; one inside of another, as of a variable, is part of it."""
    outer = _present.get()
    own = Effort(EVALUATION_LIMIT if outer is None else min(EVALUATION_LIMIT, outer.left))
    before = own.left
    try:
        with own.shared():
            yield
    finally:
        if outer is not None:
            outer.left -= before - own.left


def spend(elements: int) -> None:
    """Count elements that are about to be compared or copied; CostExceeded."""
    effort = _present.get()
    if effort is None:
        return
    effort.left -= elements
    if effort.left < 0:
        raise CostExceeded


def spend_comparison(elements: int) -> None:
    """Count the comparison of two lists or maps; CostExceeded."""
    spend(_COMPARISON + elements)


def spend_result(result: Value) -> None:
    """Count what a function has built; CostExceeded."""
    if isinstance(result, list):
        spend(len(result))
    elif isinstance(result, (str, bytes)):
        spend(len(result) // _CHARACTERS)
