"""backoffQ: the pods that are to be retried, but only after their backoff.

It consists of two heaps. Pods that a plugin rejected are in the one from which Pop may take when
activeQ is empty; pods whose attempt ended with an error (an unreachable API, a failed binding) are
in the other and always complete their backoff, so that a failing dependency is not overloaded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain

from apps.scheduler.clock import Clock
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.active_queue import RankFn
from apps.scheduler.queue.heap import KeyedHeap, Rank
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo

DEFAULT_POD_INITIAL_BACKOFF_SECONDS = 1.0
DEFAULT_POD_MAX_BACKOFF_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffRules:
    """How long pods back off, and which of them may be popped before that is over."""

    initial_seconds: float = DEFAULT_POD_INITIAL_BACKOFF_SECONDS
    max_seconds: float = DEFAULT_POD_MAX_BACKOFF_SECONDS
    #: whether rejected pods are popped early, when activeQ is empty
    pops_early: bool = True
    #: whether members of a PodGroup are popped early, too
    hurries_groups: bool = True


#: expiries are truncated to multiples of this; within one window pods are ordered as in activeQ
ORDERING_WINDOW_SECONDS = 1.0


class BackoffQueue:
    def __init__(
        self,
        clock: Clock,
        rules: BackoffRules,
        active_rank: RankFn,
    ) -> None:
        self._clock = clock
        self._initial = rules.initial_seconds
        self._max = rules.max_seconds
        self._hurries_groups = rules.hurries_groups

        def by_expiry(info: QueuedPodInfo) -> float:
            expiry = self.expiry(info)
            return -math.inf if expiry is None else expiry

        def by_window(info: QueuedPodInfo) -> Rank:
            return by_expiry(info), active_rank(info)

        self.is_popped_early = rules.pops_early
        rejected_rank = by_window if rules.pops_early else by_expiry
        self._rejected: KeyedHeap[QueuedPodInfo] = KeyedHeap(lambda info: info.key, rejected_rank)
        self._failed: KeyedHeap[QueuedPodInfo] = KeyedHeap(lambda info: info.key, by_expiry)

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def __contains__(self, key: str) -> bool:
        return key in self._rejected or key in self._failed

    def get(self, key: str) -> QueuedPodInfo | None:
        return self._rejected.get(key) or self._failed.get(key)

    def add(self, info: QueuedPodInfo) -> None:
        is_patient = info.pod.group_name and not self._hurries_groups
        heap = self._rejected if info.rejector_plugins and not is_patient else self._failed
        heap.put(info)

    def update(self, key: str, pod_info: PodInfo) -> QueuedPodInfo | None:
        """Update the pod and its position; None if it is not here."""
        for heap in (self._rejected, self._failed):
            info = heap.get(key)
            if info is not None:
                info.pod_info = pod_info
                heap.put(info)
                return info
        return None

    def delete(self, key: str) -> QueuedPodInfo | None:
        return self._rejected.delete(key) or self._failed.delete(key)

    def pop(self) -> QueuedPodInfo | None:
        """The rejected pod whose backoff ends first, whether or not it has ended."""
        return self._rejected.pop() if self.is_popped_early else None

    def has_pod_to_pop(self) -> bool:
        return self.is_popped_early and len(self._rejected) > 0

    def pop_all_completed(self) -> list[QueuedPodInfo]:
        """Remove and return the pods whose backoff is over, from both heaps."""
        completed = []
        for heap in (self._rejected, self._failed):
            while (info := heap.peek()) is not None and not self.is_backing_off(info):
                heap.pop()
                completed.append(info)
        return completed

    def is_backing_off(self, info: QueuedPodInfo) -> bool:
        """True until the end of the second in which the backoff expires."""
        expiry = self.expiry(info)
        if expiry is None or not self.is_popped_early:
            return expiry is not None and expiry > self._clock.now()
        return expiry >= _window_of(self._clock.now())

    def expiry(self, info: QueuedPodInfo) -> float | None:
        """The time at which the pod's backoff ends; None if it has no backoff.

        It is the second, where pods are taken early: then it is part of their order.
        Computed once per failure and stored in `info.backoff_expiry`.
        """
        failures = info.consecutive_errors_count or info.unschedulable_count
        if self._max == 0 or failures == 0:
            return None
        if info.backoff_expiry is None:
            end = info.timestamp + self._duration(failures)
            info.backoff_expiry = _window_of(end) if self.is_popped_early else end
        return info.backoff_expiry

    def _duration(self, failures: int) -> float:
        """Seconds: doubled with every failure, from the initial to the maximum backoff."""
        # 2**1000 does not overflow a float, and is longer than any maximum.
        return min(self._initial * 2.0 ** min(failures - 1, 1000), self._max)

    def next_expiry(self) -> float | None:
        """The earliest end of a backoff; None if no pod waits for one."""
        first = [heap.peek() for heap in (self._rejected, self._failed)]
        ends = [self.expiry(info) for info in first if info is not None]
        return min((end for end in ends if end is not None), default=None)

    def in_order(self) -> list[QueuedPodInfo]:
        """The rejected pods in their order, then the failed ones in theirs."""
        return list(chain(self._rejected.in_order(), self._failed.in_order()))


def _window_of(time: float) -> float:
    return math.floor(time / ORDERING_WINDOW_SECONDS) * ORDERING_WINDOW_SECONDS
