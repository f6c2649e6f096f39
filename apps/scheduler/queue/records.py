"""The records that the queue emits: each move, and its state for saving."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum

import msgspec


class SubQueue(StrEnum):
    """Where a pod is. Gated pods are among the unschedulable ones."""

    OUTSIDE = ""
    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in_flight"


class PodMove(msgspec.Struct, frozen=True, gc=False):
    """A pod moved from one part of the queue to another."""

    pod_key: str
    pod_uid: str
    source: SubQueue
    target: SubQueue
    #: the label of what caused it: "NodeAdd", "ScheduleAttemptFailure", "BackoffComplete", "Pop" …
    event: str
    #: seconds since the Unix epoch
    at: float
    #: the plugin whose hint or PreEnqueue decided; "" if none did
    plugin: str = ""
    #: "Queue" or "Error" if a hint decided
    hint: str = ""
    #: why the plugin gates the pod, or who requested the move
    reason: str = ""
    #: attempts so far, including one that ends or starts with this move
    attempt: int = 0


Observer = Callable[[PodMove], None]


def arrival(pod_key: str, pod_uid: str, at: float) -> SavedEntry:
    """The entry of a pod that was created at `at` and waits for its first attempt."""
    return SavedEntry(
        pod_key=pod_key,
        pod_uid=pod_uid,
        queue=SubQueue.ACTIVE,
        timestamp=at,
        initial_attempt_timestamp=at,
    )


class SavedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The queue's state of one pod in plain values, as it is saved.

    Times are seconds since the Unix epoch; see QueuedPodInfo for the meaning of the fields. For a
    pod in flight `attempts` does not count the current attempt.
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
    #: numbers of nominations increase in the order of nomination
    nomination: int = 0


@dataclass(frozen=True, slots=True)
class QueueChanges:
    """The changes to the saved entries that make them equal to `PriorityQueue.dump`."""

    saved: tuple[SavedEntry, ...]
    #: uids of pods that were removed; some may never have been saved
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.saved or self.removed)

    def divide(self, uids: Collection[str]) -> tuple[QueueChanges, QueueChanges]:
        """The changes of these pods, and the others."""
        parts = [
            QueueChanges(
                tuple(entry for entry in self.saved if (entry.pod_uid in uids) == wanted),
                tuple(uid for uid in self.removed if (uid in uids) == wanted),
            )
            for wanted in (True, False)
        ]
        return parts[0], parts[1]
