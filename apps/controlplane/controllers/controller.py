"""The shape of a controller: which objects a change concerns, and what such an object needs.

A controller is two pure functions. `concerns` says, by the kind of a changed object, which objects
have to be looked at; `reconcile` looks at one of them and yields the writes that bring the cluster
closer to what was asked for, what it has to say of it (events), or the moment at which it has to
look again. It is called again whenever something changes, so it does one step and relies on nothing
but what it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from apps.cluster.errors import ApiError
from apps.cluster.writes import Write
from apps.controlplane.controllers.world import Ref, World
from apps.controlplane.events.writer import Told


@dataclass(frozen=True, slots=True)
class Reported:
    """A write of which is told how it went."""

    write: Write
    #: The object it left -> what is said of it.
    done: Callable[[dict[str, Any]], Told]
    #: What is said when it is refused; None: nothing.
    failed: Callable[[ApiError], Told] | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """Look at the same object again at this moment, though nothing may change until then."""

    at: datetime


Step = Write | Later | Reported | Told
#: (world, old, new) -> the objects to look at; `old` None: added, `new` None: deleted.
Concerns = Callable[[World, Any, Any], Iterable[Ref]]
Reconcile = Callable[[World, Ref, datetime], Iterator[Step]]


@dataclass(frozen=True, slots=True)
class Controller:
    """One controller; `user` is the name under which it acts, in the log and in events."""

    name: str
    user: str
    #: kind of a changed object -> the objects this concerns
    concerns: Mapping[str, Concerns]
    reconcile: Reconcile


def moment(text: str) -> datetime:
    """The moment an RFC 3339 text means."""
    return datetime.fromisoformat(text).astimezone(UTC)
