"""A pending pod and what the queue stores about its attempts."""

from __future__ import annotations

from dataclasses import dataclass

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod


@dataclass(slots=True)
class QueuedPodInfo:
    """One pod on its way through the queue; the same object from Add until Done or Delete.

    Times are seconds since the Unix epoch. Only the queue writes these attributes, and it saves
    them with `PriorityQueue.take_changes`.
    """

    pod_info: PodInfo
    #: when the pod entered the queue or last failed: the start of its backoff
    timestamp: float
    #: when the pod first became ready for an attempt; None before
    initial_attempt_timestamp: float | None = None
    #: attempts so far, counted when the pod is popped
    attempts: int = 0
    #: attempts that ended with a rejection by some plugin
    unschedulable_count: int = 0
    #: attempts since the last rejection that ended with an error
    consecutive_errors_count: int = 0
    #: the plugins that rejected the pod in its last attempt or before it (PreEnqueue)
    unschedulable_plugins: frozenset[str] = frozenset()
    #: the plugins for which the pod is pending: when one of them says Queue, backoff is skipped
    pending_plugins: frozenset[str] = frozenset()
    #: the PreEnqueue plugin that keeps the pod out of activeQ and backoffQ; "" = not gated
    gating_plugin: str = ""
    #: a whole second, computed on first use after a failure; None = not computed, or no backoff
    backoff_expiry: float | None = None
    #: moved out of the unschedulable pods because of its time there, not because of an event
    was_flushed_from_unschedulable: bool = False

    @property
    def pod(self) -> Pod:
        return self.pod_info.pod

    @property
    def key(self) -> str:
        return self.pod_info.key

    @property
    def uid(self) -> str:
        return self.pod_info.uid

    @property
    def is_gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejector_plugins(self) -> frozenset[str]:
        """The plugins that rejected the pod; empty if the last attempt ended with an error."""
        return self.unschedulable_plugins | self.pending_plugins

    def note_failure(
        self, now: float, unschedulable_plugins: frozenset[str], pending_plugins: frozenset[str]
    ) -> None:
        """Count an attempt that ended now; without any plugin it ended with an error."""
        self.unschedulable_plugins = unschedulable_plugins
        self.pending_plugins = pending_plugins
        if self.rejector_plugins:
            self.unschedulable_count += 1
            self.consecutive_errors_count = 0
        else:
            self.consecutive_errors_count += 1
        self.timestamp = now
        self.backoff_expiry = None
        self.was_flushed_from_unschedulable = False


def by_priority(info: QueuedPodInfo) -> tuple[int, float]:
    """The rank of PrioritySort: higher priority first, then the pod that has waited longer."""
    return -info.pod.spec.priority, info.timestamp
