"""The interface of a controller: which objects a change concerns, and how to reconcile one.

A controller is two pure functions. `concerns` maps the kind of a changed object to the objects to
reconcile; `reconcile` reads one of them and yields the writes that move the cluster towards the
desired state, events to record, or the time at which to reconcile again. It is called after every
relevant change, so it does one step and relies only on the current state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from apps.cluster.errors import ApiError
from apps.cluster.writes import Write
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.events.writer import PendingEvent

#: Delay after a rejected write (a quota, an invalid template) or an error.
RETRY: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class ReportedWrite:
    """A write whose outcome is recorded as an event."""

    write: Write
    #: The written object -> the event to record; None: no event.
    on_success: Callable[[dict[str, Any]], PendingEvent | None]
    #: The error -> the event to record; None: no event.
    on_failure: Callable[[ApiError], PendingEvent | None] | None = None


@dataclass(frozen=True, slots=True)
class Requeue:
    """Reconcile the same object again at this time, even without a change."""

    at: datetime


Step = Write | Requeue | ReportedWrite | PendingEvent
#: (cache, old, new) -> the objects to reconcile; `old` None: added, `new` None: deleted.
Concerns = Callable[[ControllerCache, Any, Any], Iterable[Ref]]
Reconcile = Callable[[ControllerCache, Ref, datetime], Iterator[Step]]


@dataclass(frozen=True, slots=True)
class Controller:
    """One controller; `user` is its name in the change log and in events."""

    name: str
    user: str
    #: kind of a changed object -> function that returns the objects to reconcile
    concerns: Mapping[str, Concerns]
    reconcile: Reconcile
    #: kind that is not in `concerns` -> the same; None: such kinds do not concern it
    others: Callable[[str], Concerns] | None = None


def scaled_value(amount: int | str, total: int, *, round_up: bool = True) -> int:
    """The value of an IntOrString such as `maxUnavailable`: a count, or a percentage of `total`."""
    if isinstance(amount, int):
        return amount
    product = int(amount.rstrip("%")) * total
    return -(-product // 100) if round_up else product // 100


def parse_time(text: str) -> datetime:
    """Parse an RFC 3339 time."""
    return datetime.fromisoformat(text).astimezone(UTC)
