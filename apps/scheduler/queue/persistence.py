"""Dump the queue as plain entries and restore it from them, so that it survives the process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from apps.scheduler.framework.events import RESTORED
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.queue.nominator import Nomination
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.records import QueueChanges, SavedEntry, SubQueue
from apps.scheduler.queue.sub_queues import SubQueues, place_among_unschedulable


def dump(parts: SubQueues) -> list[SavedEntry]:
    """One entry per pod, in flight or waiting, each sub-queue in its order.

    The unschedulable pods, which have no order, by the time they have waited.
    """
    flying = [info for info in parts.in_flight if not parts.in_flight.is_deleted(info.uid)]
    entries = [_entry_in_flight(parts, info) for info in flying]
    entries += [_entry(parts, info, SubQueue.ACTIVE) for info in parts.active.in_order()]
    entries += [_entry(parts, info, SubQueue.BACKOFF) for info in parts.backoff.in_order()]
    waiting = sorted(parts.unschedulable, key=lambda info: (info.timestamp, info.key))
    entries += [_entry(parts, info, place_among_unschedulable(info)) for info in waiting]
    return entries


def take_changes(parts: SubQueues) -> QueueChanges:
    """The entries that changed, and the pods that were removed, since the last call."""
    saved, removed = [], []
    for uid, key in parts.take_changed().items():
        entry = _current_entry(parts, uid, key)
        if entry is None:
            removed.append(uid)
        else:
            saved.append(entry)
    return QueueChanges(tuple(saved), tuple(removed))


def restore(
    parts: SubQueues,
    entries: Iterable[SavedEntry],
    pod_by_uid: Callable[[str], Pod | None],
    view: Callable[[PodInfo], PodInfo],
    kept_gates: Collection[str],
    *,
    has_other_plugins: bool,
) -> None:
    """Fill an empty queue; entries whose pod no longer exists are left out.

    PreEnqueue plugins run again for gated pods, because later only a change of the pod would make
    them run; for those in activeQ, too, if they are other plugins now. Pods that a plugin of
    `kept_gates` gated stay gated.
    """
    nominations = []
    for entry in entries:
        pod = pod_by_uid(entry.pod_uid)
        if pod is None:
            continue
        info = _info(entry, view(PodInfo(pod)))
        match entry.queue:
            case SubQueue.ACTIVE if has_other_plugins:
                parts.to_active(info, RESTORED, SubQueue.ACTIVE)
            case SubQueue.ACTIVE:
                parts.active.add(info)
            case SubQueue.BACKOFF:
                parts.backoff.add(info)
            case SubQueue.GATED if entry.gating_plugin not in kept_gates:
                parts.to_active(info, RESTORED, SubQueue.GATED)
            case _:
                parts.unschedulable.put(info)
        if entry.nominated_node:
            nominations.append(Nomination(info.pod_info, entry.nominated_node, entry.nomination))
    parts.nominator.restore(nominations)


def _current_entry(parts: SubQueues, uid: str, key: str) -> SavedEntry | None:
    flying = parts.in_flight.get(uid)
    if flying is not None and not parts.in_flight.is_deleted(uid):
        return _entry_in_flight(parts, flying)
    info = parts.find(key)
    if info is None or info[1].uid != uid:
        return None
    return _entry(parts, info[1], info[0])


def _entry_in_flight(parts: SubQueues, info: QueuedPodInfo) -> SavedEntry:
    """A pod in flight is saved as it was before it was popped: its attempt may be lost."""
    return _entry(parts, info, SubQueue.ACTIVE, info.attempts - 1)


def _entry(
    parts: SubQueues, info: QueuedPodInfo, queue: SubQueue, attempts: int | None = None
) -> SavedEntry:
    """`attempts`: instead of those of the pod."""
    nomination = parts.nominator.get(info.uid)
    return SavedEntry(
        pod_key=info.key,
        pod_uid=info.uid,
        queue=queue,
        timestamp=info.timestamp,
        initial_attempt_timestamp=info.initial_attempt_timestamp,
        attempts=info.attempts if attempts is None else attempts,
        unschedulable_count=info.unschedulable_count,
        consecutive_errors_count=info.consecutive_errors_count,
        unschedulable_plugins=tuple(sorted(info.unschedulable_plugins)),
        pending_plugins=tuple(sorted(info.pending_plugins)),
        gating_plugin=info.gating_plugin,
        backoff_expiry=info.backoff_expiry,
        was_flushed_from_unschedulable=info.was_flushed_from_unschedulable,
        nominated_node=nomination.node_name if nomination else "",
        nomination=nomination.number if nomination else 0,
    )


def _info(entry: SavedEntry, pod: PodInfo) -> QueuedPodInfo:
    return QueuedPodInfo(
        pod,
        timestamp=entry.timestamp,
        initial_attempt_timestamp=entry.initial_attempt_timestamp,
        attempts=entry.attempts,
        unschedulable_count=entry.unschedulable_count,
        consecutive_errors_count=entry.consecutive_errors_count,
        unschedulable_plugins=frozenset(entry.unschedulable_plugins),
        pending_plugins=frozenset(entry.pending_plugins),
        gating_plugin=entry.gating_plugin,
        backoff_expiry=entry.backoff_expiry,
        was_flushed_from_unschedulable=entry.was_flushed_from_unschedulable,
    )
