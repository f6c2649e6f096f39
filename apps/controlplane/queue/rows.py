"""The queue's entries as rows, from which the queue is restored after its process has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection

from apps.cluster import sql
from apps.controlplane.models import QueueEntry
from apps.scheduler.queue.records import QueueChanges, SavedEntry, arrival


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

    def write(self, entries: Mapping[str, SavedEntry], deleted: Sequence[str]) -> None:
        """Within a transaction: write entries by uid, and delete those of `deleted` pods (uids)."""
        replaced = [*deleted, *entries]
        if not replaced:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM controlplane_queueentry "
                "WHERE cluster_id = %s AND pod_uid = ANY(%s::uuid[])",
                [self._cluster_id, replaced],
            )
            rows = [_build_row(self._cluster_id, entry) for entry in entries.values()]
            sql.insert_rows(cursor, QueueEntry, rows)

    def mark_committed(self, written: Iterable[str], deleted: Iterable[str]) -> None:
        """The rows written and deleted for these pods (uids) are committed."""
        self._persisted.difference_update(deleted)
        self._persisted.update(written)


def _build_row(cluster_id: int, entry: SavedEntry) -> dict[str, Any]:
    namespace, _, name = entry.pod_key.partition("/")
    return {
        "cluster_id": cluster_id,
        "pod_uid": UUID(entry.pod_uid),
        "namespace": namespace,
        "name": name,
        "queue": entry.queue.value,
        "attempts": entry.attempts,
        "timestamp": _to_datetime(entry.timestamp),
        "backoff_expiry": entry.backoff_expiry and _to_datetime(entry.backoff_expiry),
        "unschedulable_plugins": list(entry.unschedulable_plugins),
        "pending_plugins": list(entry.pending_plugins),
        "gated_by": entry.gating_plugin,
        "nominated_node": entry.nominated_node,
        "state": msgspec.to_builtins(entry),
    }


def _to_datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)
