"""What the queue page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.cluster.models import Cluster
from apps.controlplane import selectors
from apps.controlplane.models import QueueEntry
from apps.controlplane.selectors import QueuedPod

#: Pods shown of each queue where all of them are on the page.
GLANCE = 15

#: What each queue holds and what ends the wait there, for people.
MEANINGS = {
    QueueEntry.Queue.ACTIVE: "ready to be tried, the first one next",
    QueueEntry.Queue.BACKOFF: "failed not long ago; tried again when their time is over",
    QueueEntry.Queue.UNSCHEDULABLE: "fit nowhere; wait for an event that may change that",
    QueueEntry.Queue.GATED: "not to be tried before their gates are gone",
}


@dataclass(frozen=True, slots=True)
class SubQueue:
    """One part of the queue and its first pods, in the order they leave it."""

    queue: QueueEntry.Queue
    size: int
    pods: Sequence[QueuedPod]

    @property
    def meaning(self) -> str:
        return MEANINGS[self.queue]

    @property
    def more(self) -> int:
        return self.size - len(self.pods)


def queue_at_a_glance(cluster: Cluster) -> list[SubQueue]:
    """The four queues, each with its first pods."""
    sizes = selectors.queue_sizes(cluster)
    return [
        SubQueue(name, size, selectors.queue(cluster, name, limit=GLANCE) if size else [])
        for name, size in sizes.items()
    ]


def one_queue(
    cluster: Cluster, name: QueueEntry.Queue, *, page: int, size: int
) -> tuple[SubQueue, int]:
    """One queue from a page (from 1) on, and the number of that page once it is made to exist."""
    count = selectors.queue_sizes(cluster)[name]
    number = min(max(page, 1), max(1, -(-count // size)))
    pods = selectors.queue(cluster, name, limit=size, offset=(number - 1) * size)
    return SubQueue(name, count, pods), number
