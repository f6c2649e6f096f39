"""The history of the queue: every move of a pod, recorded with the decision it belongs to."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet
from psycopg.types.numeric import Int8

from apps.cluster.arrays import int4s, texts, times, uuids
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.cluster.prepared import Step, insert
from apps.engine import models, periods
from apps.engine.exported_files import Batches, read_batches
from apps.engine.patterns import match_pod
from apps.engine.queue.move_log import log_moves
from apps.scheduler.decision import Decision
from apps.scheduler.framework import events
from apps.scheduler.queue.records import PodMove, SubQueue

#: The parameters of `find_moves`.
PARAMETERS = ("pod", "pod_uid", "event", "plugin", *periods.PARAMETERS)


#: The columns of a file.
FIELDS = (
    "id",
    "at",
    "namespace",
    "name",
    "pod_uid",
    "source",
    "target",
    "event",
    "plugin",
    "hint",
    "reason",
    "attempt",
)


@dataclass(frozen=True, slots=True)
class Deferred:
    """What one commit of a batch leaves to the following ones.

    A crash in between must leave pods whose decisions are not committed as they were before they
    were popped.
    """

    #: the pods (uids) whose decisions are committed later: their moves from the Pop on
    pods: Collection[str] = ()
    #: the moves after so many, except those of pods whose decisions are committed
    after: float = math.inf


NOTHING: Final = Deferred()


class QueueHistory:
    """Collects the moves that the queue reports, until they are written; the queue's observer."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._moves: list[PodMove] = []
        #: how many of them the last `steps` have read, and those of them that they do not write
        self._read = 0
        self._left: list[PodMove] = []

    def __len__(self) -> int:
        return len(self._moves)

    def note(self, move: PodMove) -> None:
        self._moves.append(move)

    def steps(
        self, bound: Iterable[Decision], own: Collection[str], deferred: Deferred = NOTHING
    ) -> list[Step]:
        """The steps that write the collected moves, and those of bound pods out of the queue.

        `own` are the pods (uids) whose decisions are committed with them.
        """
        written: list[PodMove] = []
        self._left = []
        popped: set[str] = set()
        for index, move in enumerate(self._moves):
            uid = move.pod_uid
            if uid in deferred.pods and move.target is SubQueue.IN_FLIGHT:
                popped.add(uid)
            is_left = uid in popped or (index >= deferred.after and uid not in own)
            (self._left if is_left else written).append(move)
        self._read = len(self._moves)
        now = self._cluster.now().timestamp()
        moves = [*written, *_moves_out(bound, now)]
        if not moves:
            return []
        return [insert("moves", models.QueueMove, _build_columns(self._cluster.pk, moves))]

    def places_of(self, pods: Collection[str]) -> dict[str, SubQueue]:
        """Where these pods (uids) were popped from, those of them with a Pop not yet written."""
        moves = (move for move in self._moves if move.pod_uid in pods)
        return {move.pod_uid: move.source for move in moves if move.target is SubQueue.IN_FLIGHT}

    def mark_committed(self) -> None:
        """The rows of the last `steps` are committed; moves that were noted since then are not."""
        left = {id(move) for move in self._left}
        log_moves(self._cluster, [m for m in self._moves[: self._read] if id(m) not in left])
        self._moves[: self._read] = self._left
        self._read = len(self._left)

    def discard_moves_out(self, bound: Collection[str]) -> None:
        """Discard the moves of these pods (uids) out of the queue: `steps` has written them."""
        self._moves = [
            move for move in self._moves if move.event != events.DONE or move.pod_uid not in bound
        ]


def _moves_out(bound: Iterable[Decision], now: float) -> Iterator[PodMove]:
    """The moves of bound pods: the queue reports them after the commit, which is too late."""
    for decision in bound:
        yield PodMove(
            decision.pod_key,
            decision.pod_uid,
            SubQueue.IN_FLIGHT,
            SubQueue.OUTSIDE,
            events.DONE,
            now,
            attempt=decision.attempt,
        )


def _build_columns(cluster_id: int, moves: Sequence[PodMove]) -> dict[str, Any]:
    keys = [move.pod_key.partition("/") for move in moves]
    return {
        "cluster_id": Int8(cluster_id),
        "pod_uid": uuids([move.pod_uid for move in moves]),
        "namespace": texts([namespace for namespace, _, _ in keys]),
        "name": texts([name for _, _, name in keys]),
        "at": times([datetime.fromtimestamp(move.at, tz=UTC) for move in moves]),
        "source": texts([move.source.value for move in moves]),
        "target": texts([move.target.value for move in moves]),
        "event": texts([move.event for move in moves]),
        "plugin": texts([move.plugin for move in moves]),
        "hint": texts([move.hint for move in moves]),
        "reason": texts([move.reason for move in moves]),
        "attempt": int4s([move.attempt for move in moves]),
    }


def find_moves(cluster: Cluster, query: Mapping[str, Any]) -> QuerySet[models.QueueMove]:
    """The moves that match these parameters, newest first.

    Raises BadRequest that names an invalid one. `pod` (part of a name; `web-*`: its beginning;
    "namespace/name"), `pod_uid`, `event`, `plugin`, and the period.
    """
    given = {name: str(query.get(name) or "").strip() for name in PARAMETERS}
    if any("\x00" in value for value in given.values()):
        raise BadRequest("a parameter contains a NUL character")
    rows = models.QueueMove.objects.filter(cluster=cluster).order_by("-id")
    conditions: dict[str, Any] = {
        **match_pod(given["pod"]),
        "pod_uid": _parse_uid(given["pod_uid"]),
        "event": given["event"],
        "plugin": given["plugin"],
        **periods.parse_period(given, now=cluster.now()).conditions("at"),
    }
    return rows.filter(**{key: value for key, value in conditions.items() if value})


def batches(cluster: Cluster, query: Mapping[str, Any]) -> Batches:
    """The moves that `find_moves` finds, newest first, as rows of FIELDS."""
    return read_batches(find_moves(cluster, query).values(*FIELDS))


def _parse_uid(text: str) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise BadRequest(f"pod_uid: {text!r} is not a UUID") from error
