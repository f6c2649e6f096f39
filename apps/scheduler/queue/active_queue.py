"""activeQ: the pods that are ready for an attempt, best first."""

from __future__ import annotations

from collections.abc import Callable

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.heap import KeyedHeap, Rank
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo

RankFn = Callable[[QueuedPodInfo], Rank]


class ActiveQueue:
    """A heap ordered by the QueueSort plugin; pods of equal rank by their key."""

    def __init__(self, rank: RankFn) -> None:
        self._heap: KeyedHeap[QueuedPodInfo] = KeyedHeap(lambda info: info.key, rank)

    def __len__(self) -> int:
        return len(self._heap)

    def __contains__(self, key: str) -> bool:
        return key in self._heap

    def get(self, key: str) -> QueuedPodInfo | None:
        return self._heap.get(key)

    def add(self, info: QueuedPodInfo) -> None:
        self._heap.put(info)

    def update(self, key: str, pod_info: PodInfo) -> QueuedPodInfo | None:
        """Update the pod and its position; None if it is not here."""
        info = self._heap.get(key)
        if info is not None:
            info.pod_info = pod_info
            self._heap.put(info)
        return info

    def delete(self, key: str) -> QueuedPodInfo | None:
        return self._heap.delete(key)

    def pop(self) -> QueuedPodInfo | None:
        return self._heap.pop()

    def in_order(self) -> list[QueuedPodInfo]:
        return self._heap.in_order()
