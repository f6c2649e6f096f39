"""The queue's entries as rows: what the loop finds again after its process has died."""

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
    """Writes the entries of one cluster, and knows which pods have one."""

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id
        self._persisted: set[str] = set()

    def start_with(self, persisted: Iterable[str]) -> None:
        """Remember which pods have an entry in the database."""
        self._persisted = set(persisted)

    def concern(self, changes: QueueChanges) -> bool:
        """Whether any of these changes has to be written."""
        return any(map(self.is_worth_keeping, changes.saved)) or not self._persisted.isdisjoint(
            changes.removed
        )

    def have(self, uid: str) -> bool:
        return uid in self._persisted

    def is_worth_keeping(self, entry: SavedEntry) -> bool:
        """A pod that waits for its first attempt is known from the pod itself."""
        is_new = entry == arrival(entry.pod_key, entry.pod_uid, entry.timestamp)
        return not is_new or entry.pod_uid in self._persisted

    def write(self, kept: Mapping[str, SavedEntry], gone: Sequence[str]) -> None:
        """Within a transaction: these entries are kept, those of these pods are deleted."""
        replaced = [*gone, *kept]
        if not replaced:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM controlplane_queueentry "
                "WHERE cluster_id = %s AND pod_uid = ANY(%s::uuid[])",
                [self._cluster_id, replaced],
            )
            rows = [_entry_row(self._cluster_id, entry) for entry in kept.values()]
            sql.insert_rows(cursor, QueueEntry, rows)

    def committed(self, kept: Iterable[str], gone: Iterable[str]) -> None:
        """What was written is there for good."""
        self._persisted.difference_update(gone)
        self._persisted.update(kept)


def _entry_row(cluster_id: int, entry: SavedEntry) -> dict[str, Any]:
    namespace, _, name = entry.pod_key.partition("/")
    return {
        "cluster_id": cluster_id,
        "pod_uid": UUID(entry.pod_uid),
        "namespace": namespace,
        "name": name,
        "queue": entry.queue.value,
        "attempts": entry.attempts,
        "timestamp": _moment(entry.timestamp),
        "backoff_expiry": entry.backoff_expiry and _moment(entry.backoff_expiry),
        "unschedulable_plugins": list(entry.unschedulable_plugins),
        "pending_plugins": list(entry.pending_plugins),
        "gated_by": entry.gating_plugin,
        "nominated_node": entry.nominated_node,
        "state": msgspec.to_builtins(entry),
    }


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)
