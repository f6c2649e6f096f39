"""The queue's entries as rows, from which the queue is restored after its process has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from psycopg.types.numeric import Int8

from apps.cluster.arrays import documents, int4s, nested, texts, times, uuids
from apps.cluster.prepared import Step, insert
from apps.engine.models import QueueEntry
from apps.engine.periods import to_datetime
from apps.scheduler.queue.records import QueueChanges, SavedEntry, SubQueue, arrival

_DELETE = "DELETE FROM controlplane_queueentry WHERE cluster_id = $1 AND pod_uid = ANY($2)"

#: A popped pod is where it was before.
_PUT_BACK = """
    UPDATE controlplane_queueentry q
    SET queue = place, state = state || jsonb_build_object('queue', place)
    FROM unnest($2::uuid[], $3::text[]) AS popped(uid, place)
    WHERE q.cluster_id = $1 AND q.pod_uid = popped.uid AND q.queue <> place
"""


class QueueRows:
    """Writes the entries of one cluster, and tracks which pods have one."""

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id
        self._persisted: set[str] = set()

    def set_persisted(self, persisted: Iterable[str]) -> None:
        """Set which pods (uids) have an entry in the database."""
        self._persisted = set(persisted)

    def needs_write(self, changes: QueueChanges) -> bool:
        """Whether any of these changes has to be written."""
        return any(map(self.is_needed, changes.saved)) or not self._persisted.isdisjoint(
            changes.removed
        )

    def has(self, uid: str) -> bool:
        return uid in self._persisted

    def is_needed(self, entry: SavedEntry) -> bool:
        """Whether the entry needs a row: a pod waiting for its first attempt needs none."""
        is_new = entry == arrival(entry.pod_key, entry.pod_uid, entry.timestamp)
        return not is_new or entry.pod_uid in self._persisted

    def steps(self, entries: Sequence[SavedEntry], deleted: Sequence[str]) -> list[Step]:
        """The steps that write these entries, and delete those of `deleted` pods (uids)."""
        steps = []
        if deleted:
            steps.append(Step("entries_deleted", _DELETE, [Int8(self._cluster_id), uuids(deleted)]))
        if entries:
            columns = _build_columns(self._cluster_id, entries)
            steps.append(insert("entries", QueueEntry, columns, conflict="cluster_id, pod_uid"))
        return steps

    def put_back_steps(self, places: Mapping[str, SubQueue]) -> list[Step]:
        """The steps after which the entries of these pods (uids) say that they wait there."""
        persisted = {uid: place for uid, place in places.items() if uid in self._persisted}
        if not persisted:
            return []
        columns = [uuids([*persisted]), texts([place.value for place in persisted.values()])]
        return [Step("entries_put_back", _PUT_BACK, [Int8(self._cluster_id), *columns])]

    def mark_committed(self, written: Iterable[str], deleted: Iterable[str]) -> None:
        """The rows written and deleted for these pods (uids) are committed."""
        self._persisted.difference_update(deleted)
        self._persisted.update(written)


def _build_columns(cluster_id: int, entries: Sequence[SavedEntry]) -> dict[str, Any]:
    keys = [entry.pod_key.partition("/") for entry in entries]
    return {
        "cluster_id": Int8(cluster_id),
        "pod_uid": uuids([entry.pod_uid for entry in entries]),
        "namespace": texts([namespace for namespace, _, _ in keys]),
        "name": texts([name for _, _, name in keys]),
        "queue": texts([entry.queue.value for entry in entries]),
        "attempts": int4s([entry.attempts for entry in entries]),
        "timestamp": times([to_datetime(entry.timestamp) for entry in entries]),
        "backoff_expiry": times([_to_datetime_or_none(entry.backoff_expiry) for entry in entries]),
        "unschedulable_plugins": nested([entry.unschedulable_plugins for entry in entries]),
        "pending_plugins": nested([entry.pending_plugins for entry in entries]),
        "gated_by": texts([entry.gating_plugin for entry in entries]),
        "nominated_node": texts([entry.nominated_node for entry in entries]),
        "state": documents([msgspec.json.encode(entry) for entry in entries]),
    }


def _to_datetime_or_none(seconds: float | None) -> datetime | None:
    return to_datetime(seconds) if seconds else None
