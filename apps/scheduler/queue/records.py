"""What the queue tells others of itself: each move as it happens, and its state for safekeeping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import msgspec


class SubQueue(StrEnum):
    """Where a pod is. A gated pod waits among the unschedulable ones."""

    OUTSIDE = ""
    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in_flight"


@dataclass(frozen=True, slots=True)
class QueueMove:
    """One pod went from one part of the queue to another."""

    pod_key: str
    pod_uid: str
    source: SubQueue
    target: SubQueue
    #: the label of what caused it: "NodeAdd", "ScheduleAttemptFailure", "BackoffComplete", "Pop" …
    event: str
    #: seconds since the Unix epoch
    at: float
    #: the plugin whose hint, or whose PreEnqueue, decided; "" if none was asked
    plugin: str = ""
    #: "Queue" or "Error", where a hint decided
    hint: str = ""
    #: why the plugin gates the pod, or whose wish it was
    reason: str = ""
    #: attempts so far, one that ends or begins with this move included
    attempt: int = 0


Observer = Callable[[QueueMove], None]


def arrival(pod_key: str, pod_uid: str, at: float) -> SavedEntry:
    """The entry of a pod that came to be at `at` and waits for its first attempt."""
    return SavedEntry(
        pod_key=pod_key,
        pod_uid=pod_uid,
        queue=SubQueue.ACTIVE,
        timestamp=at,
        initial_attempt_timestamp=at,
    )


class SavedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The queue's knowledge of one pod, in plain values: what a row of queue entries holds.

    Times are seconds since the Unix epoch; see QueuedPodInfo for the meaning of the fields. For a
    pod in flight `attempts` does not count the attempt under way.
    """

    pod_key: str
    pod_uid: str
    queue: SubQueue
    timestamp: float
    initial_attempt_timestamp: float | None = None
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors_count: int = 0
    #: sorted
    unschedulable_plugins: tuple[str, ...] = ()
    #: sorted
    pending_plugins: tuple[str, ...] = ()
    gating_plugin: str = ""
    backoff_expiry: float | None = None
    was_flushed_from_unschedulable: bool = False
    nominated_node: str = ""
    #: the pods nominated to a node have rising numbers, in the order of their nomination
    nomination: int = 0


@dataclass(frozen=True, slots=True)
class QueueChanges:
    """What has to be written so that the saved entries are again those of `PriorityQueue.dump`."""

    saved: tuple[SavedEntry, ...]
    #: uids of pods that left the queue; some may never have been saved
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.saved or self.removed)
