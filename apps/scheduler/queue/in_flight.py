"""Pods in flight (popped, not yet done) and the events that happen meanwhile.

An event that happens during an attempt may be the one after which the pod fits, so it must not be
lost. All events while any pod is in flight are stored in one list; for each pod the length of the
list when it was popped is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from apps.scheduler.framework.events import ClusterEvent
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo


@dataclass(frozen=True, slots=True)
class ObservedEvent:
    event: ClusterEvent
    old: Any
    new: Any


class _Flight(msgspec.Struct, eq=False):
    info: QueuedPodInfo
    #: how many events had been recorded, ever, when the pod was popped
    start: int
    #: the pod's newest version, if it was updated in flight
    latest: PodInfo | None = None
    deleted: bool = False


class InFlight:
    def __init__(self) -> None:
        #: by uid, in the order of the pops, so `start` increases
        self._flights: dict[str, _Flight] = {}
        self._events: list[ObservedEvent] = []
        #: how many events were recorded and removed before `_events[0]`
        self._forgotten = 0

    def __len__(self) -> int:
        return len(self._flights)

    def __contains__(self, uid: str) -> bool:
        return uid in self._flights

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """The pods in flight, in the order in which they were popped."""
        return (flight.info for flight in self._flights.values())

    def get(self, uid: str) -> QueuedPodInfo | None:
        flight = self._flights.get(uid)
        return flight.info if flight else None

    def start(self, info: QueuedPodInfo) -> None:
        self._flights[info.uid] = _Flight(info, self._forgotten + len(self._events))

    def record(self, event: ClusterEvent, old: Any, new: Any) -> None:
        """Store the event for the pods in flight, if there are any."""
        if self._flights:
            self._events.append(ObservedEvent(event, old, new))

    def events_since(self, uid: str) -> Sequence[ObservedEvent]:
        """The events since the pod was popped; none if it is not in flight."""
        flight = self._flights.get(uid)
        return self._events[flight.start - self._forgotten :] if flight else ()

    def count_events(self, done: Container[str]) -> Counter[str]:
        """How many events of each label are stored for pods that are not in `done`."""
        for uid, flight in self._flights.items():
            if uid not in done:
                kept = self._events[flight.start - self._forgotten :]
                return Counter(observed.event.label for observed in kept)
        return Counter()

    def update(self, pod_info: PodInfo) -> None:
        """Store the pod's new version until its attempt, which uses the old one, has ended."""
        self._flights[pod_info.uid].latest = pod_info

    def newest_version(self, uid: str) -> PodInfo:
        """The pod's newest version; raises KeyError if it is not in flight."""
        flight = self._flights[uid]
        return flight.latest or flight.info.pod_info

    def mark_deleted(self, uid: str) -> None:
        self._flights[uid].deleted = True

    def is_deleted(self, uid: str) -> bool:
        return uid in self._flights and self._flights[uid].deleted

    def done(self, uid: str) -> QueuedPodInfo | None:
        """Remove the pod, and the events that no other pod needs."""
        flight = self._flights.pop(uid, None)
        if flight is None:
            return None
        oldest = next(iter(self._flights.values()), None)
        keep_from = oldest.start if oldest else self._forgotten + len(self._events)
        del self._events[: keep_from - self._forgotten]
        self._forgotten = keep_from
        return flight.info
