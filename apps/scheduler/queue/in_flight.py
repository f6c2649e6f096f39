"""Pods in flight (popped, not yet done) and the events that happen meanwhile.

An event that comes while a pod is being tried may be the very one that undoes the pod's rejection,
so it must not be lost. All events that arrive while any pod is in flight are kept in one list; each
pod remembers how long the list was when it was popped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from apps.scheduler.framework.events import ClusterEvent
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo


@dataclass(frozen=True, slots=True)
class ObservedEvent:
    event: ClusterEvent
    old: Any
    new: Any


@dataclass(slots=True)
class _Flight:
    info: QueuedPodInfo
    #: how many events had ever been recorded when the pod was popped
    start: int
    #: the pod's newest version, if it was updated in flight
    latest: PodInfo | None = None
    deleted: bool = False


class InFlight:
    def __init__(self) -> None:
        #: by uid, in the order of the pops, hence with rising `start`
        self._flights: dict[str, _Flight] = {}
        self._events: list[ObservedEvent] = []
        #: how many events were recorded and forgotten before `_events[0]`
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
        """Keep the event for the pods in flight; without any, nobody will ask for it."""
        if self._flights:
            self._events.append(ObservedEvent(event, old, new))

    def events_since(self, uid: str) -> Sequence[ObservedEvent]:
        """What happened since the pod was popped; nothing is known if it is not in flight."""
        flight = self._flights.get(uid)
        return self._events[flight.start - self._forgotten :] if flight else ()

    def tracked(self, done: Container[str]) -> Counter[str]:
        """How many events of each label are kept for pods that are not `done`."""
        for uid, flight in self._flights.items():
            if uid not in done:
                kept = self._events[flight.start - self._forgotten :]
                return Counter(observed.event.label for observed in kept)
        return Counter()

    def update(self, pod_info: PodInfo) -> None:
        """Keep the pod's new version for after its flight; the attempt goes on with the old."""
        self._flights[pod_info.uid].latest = pod_info

    def newest(self, uid: str) -> PodInfo:
        """The version that came last, in flight or before; KeyError if it is not in flight."""
        flight = self._flights[uid]
        return flight.latest or flight.info.pod_info

    def mark_deleted(self, uid: str) -> None:
        self._flights[uid].deleted = True

    def is_deleted(self, uid: str) -> bool:
        return uid in self._flights and self._flights[uid].deleted

    def done(self, uid: str) -> QueuedPodInfo | None:
        """End the pod's flight and forget the events that no other pod needs."""
        flight = self._flights.pop(uid, None)
        if flight is None:
            return None
        oldest = next(iter(self._flights.values()), None)
        keep_from = oldest.start if oldest else self._forgotten + len(self._events)
        del self._events[: keep_from - self._forgotten]
        self._forgotten = keep_from
        return flight.info
