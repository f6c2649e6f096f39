"""Every move of a pod between the parts of the queue, kept with the decisions it belongs to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from apps.cluster import sql
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.controlplane import models
from apps.controlplane.ledger.finding import parse_time
from apps.scheduler.decision import Decision
from apps.scheduler.framework import events
from apps.scheduler.queue.records import QueueMove, SubQueue

#: What `found` goes by.
PARAMETERS = ("pod", "pod_uid", "event", "plugin", "since", "until")


class QueueHistory:
    """Collects what the queue reports until it is written; the queue's observer."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._moves: list[QueueMove] = []

    def __bool__(self) -> bool:
        return bool(self._moves)

    def note(self, move: QueueMove) -> None:
        self._moves.append(move)

    def insert(self, bound: Iterable[Decision]) -> None:
        """Write what is collected, and that these pods leave the queue with this transaction."""
        now = self._cluster.now().timestamp()
        rows = [_row(self._cluster.pk, move) for move in (*self._moves, *_left(bound, now))]
        with connection.cursor() as cursor:
            sql.insert_rows(cursor, models.QueueMove, rows)

    def committed(self) -> None:
        """What was inserted is history now."""
        self._moves.clear()

    def leave_out(self, bound: Collection[str]) -> None:
        """Forget what the queue says of pods (uids) of which `insert` has said it already."""
        self._moves = [
            move for move in self._moves if move.event != events.DONE or move.pod_uid not in bound
        ]


def _left(bound: Iterable[Decision], now: float) -> Iterator[QueueMove]:
    """The queue itself hears of a binding when it is on disk, too late for this transaction."""
    for decision in bound:
        yield QueueMove(
            decision.pod_key,
            decision.pod_uid,
            SubQueue.IN_FLIGHT,
            SubQueue.OUTSIDE,
            events.DONE,
            now,
            attempt=decision.attempt,
        )


def _row(cluster_id: int, move: QueueMove) -> dict[str, Any]:
    namespace, _, name = move.pod_key.partition("/")
    return {
        "cluster_id": cluster_id,
        "pod_uid": move.pod_uid,
        "namespace": namespace,
        "name": name,
        "at": datetime.fromtimestamp(move.at, tz=UTC),
        "source": move.source.value,
        "target": move.target.value,
        "event": move.event,
        "plugin": move.plugin,
        "hint": move.hint,
        "reason": move.reason,
        "attempt": move.attempt,
    }


def found(cluster: Cluster, query: Mapping[str, Any]) -> QuerySet[models.QueueMove]:
    """The moves that these parameters ask for, newest first; BadRequest names a wrong one.

    `pod` ("namespace/name" or a name), `pod_uid`, `event`, `plugin`, `since`, `until`.
    """
    asked = {name: str(query.get(name) or "").strip() for name in PARAMETERS}
    if any("\x00" in value for value in asked.values()):
        raise BadRequest("a parameter holds a NUL character")
    rows = models.QueueMove.objects.filter(cluster=cluster).order_by("-id")
    namespace, _, name = asked["pod"].rpartition("/")
    conditions: dict[str, Any] = {
        "namespace": namespace,
        "name": name,
        "pod_uid": _uid(asked["pod_uid"]),
        "event": asked["event"],
        "plugin": asked["plugin"],
        "at__gte": parse_time("since", asked["since"]) if asked["since"] else None,
        "at__lt": parse_time("until", asked["until"]) if asked["until"] else None,
    }
    return rows.filter(**{key: value for key, value in conditions.items() if value})


def _uid(text: str) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise BadRequest(f"pod_uid: {text!r} is not a UUID") from error
