"""What the scheduling queue contains, for reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from apps.scheduler.objects import Pod
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.queue.sub_queues import SubQueues


class QueueContents:
    """The pods of a queue, by the sub-queue they are in."""

    def __init__(self, parts: SubQueues) -> None:
        self._parts = parts

    def get(self, key: str) -> QueuedPodInfo | None:
        """The waiting pod with this "namespace/name"."""
        queued = self._parts.find(key)
        return queued[1] if queued else None

    def place_of(self, key: str) -> SubQueue:
        """Where the pod waits; OUTSIDE for one in flight or unknown."""
        queued = self._parts.find(key)
        return queued[0] if queued else SubQueue.OUTSIDE

    def active_pods(self) -> list[QueuedPodInfo]:
        """In the order in which they will be popped."""
        return self._parts.active.in_order()

    def backoff_pods(self) -> list[QueuedPodInfo]:
        """Those that a plugin rejected, in their order, then those with an error."""
        return self._parts.backoff.in_order()

    def next_backoff_expiry(self) -> float | None:
        """When the first backoff ends, in seconds since the epoch; None if no pod has one."""
        return self._parts.backoff.next_expiry()

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
