"""The readable state of the queue, and its dump and restore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable

from apps.scheduler.objects import Pod
from apps.scheduler.queue import persistence
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.records import QueueChanges, SavedEntry, SubQueue
from apps.scheduler.queue.sub_queues import SubQueues


class QueueView:
    def __init__(self, parts: SubQueues, max_in_unschedulable: float) -> None:
        #: how many pods were popped in all
        self.scheduling_cycle = 0
        #: how long a pod may stay unschedulable, in seconds; can be changed at any time
        self.max_in_unschedulable = max_in_unschedulable
        self._parts = parts

    def __len__(self) -> int:
        """How many pods wait, those in flight not counted."""
        parts = self._parts
        return len(parts.active) + len(parts.backoff) + len(parts.unschedulable)

    def get(self, key: str) -> QueuedPodInfo | None:
        """The waiting pod with this "namespace/name"."""
        found = self._parts.find(key)
        return found[1] if found else None

    def place_of(self, key: str) -> SubQueue:
        """Where the pod waits; OUTSIDE for one in flight or unknown."""
        found = self._parts.find(key)
        return found[0] if found else SubQueue.OUTSIDE

    def active_pods(self) -> list[QueuedPodInfo]:
        """In the order in which they will be popped."""
        return self._parts.active.in_order()

    def backoff_pods(self) -> list[QueuedPodInfo]:
        """Those that a plugin rejected, in their order, then those with an error."""
        return self._parts.backoff.in_order()

    def unschedulable_pods(self) -> list[QueuedPodInfo]:
        """In no particular order, gated pods among them."""
        return list(self._parts.unschedulable)

    def in_flight_pods(self) -> list[QueuedPodInfo]:
        """In the order in which they were popped."""
        return list(self._parts.in_flight)

    def events_in_flight(self, done: Container[str] = ()) -> Counter[str]:
        """What is stored for the pods in flight, without those in `done` (uids).

        Events by their label, and the number of these pods as "PodPopped".
        """
        flight = self._parts.in_flight
        tracked = flight.count_events(done)
        tracked["PodPopped"] = sum(info.uid not in done for info in flight)
        return tracked

    def pending_pods(self) -> tuple[list[Pod], str]:
        """All waiting pods, and a summary of the sub-queues' sizes in one line."""
        parts = self._parts
        infos = [*self.active_pods(), *self.backoff_pods(), *self.unschedulable_pods()]
        summary = (
            f"activeQ:{len(parts.active)}; backoffQ:{len(parts.backoff)}; "
            f"unschedulablePods:{len(parts.unschedulable)}"
        )
        return [info.pod for info in infos], summary

    @property
    def nominator(self) -> Nominator:
        """Read-only; nominate with `PriorityQueue.add_nominated_pod`, which also saves it."""
        return self._parts.nominator

    def has_pod_to_pop(self) -> bool:
        return bool(len(self._parts.active) or self._parts.backoff.has_pod_to_pop())

    def dump(self) -> list[SavedEntry]:
        """The whole state as plain values; a pod in flight as if it were in activeQ."""
        return persistence.dump(self._parts)

    def take_changes(self) -> QueueChanges:
        """What changed since the last call (or since the restore)."""
        return persistence.take_changes(self._parts)

    def restore(
        self,
        entries: Iterable[SavedEntry],
        pod_by_uid: Callable[[str], Pod | None],
        scheduling_cycle: int = 0,
    ) -> None:
        """Fill the empty queue with the entries of another one's dump.

        `pod_by_uid` returns the pods as they were when the entries were saved; changes since then
        follow with `update` and `delete`. An entry whose pod no longer exists is left out.
        """
        if len(self) or len(self._parts.in_flight):
            raise ValueError("only an empty queue can be restored")
        persistence.restore(self._parts, entries, pod_by_uid)
        self.scheduling_cycle = scheduling_cycle
