"""The decision ledger: a `Decision` of the core as a row, and back.

The row's own columns are what lists and filters need. Everything else goes into one blob: the
verdict of every node as a small integer with the few distinct statuses beside it, and each
plugin's raw scores of the feasible nodes (normalised ones only where they differ). Feasible nodes,
totals and ties follow from these and are computed again when a decision is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
import numpy as np
import zstandard
from django.db import connection
from numpy.typing import NDArray

from apps.cluster import sql
from apps.controlplane.ledger import columns
from apps.controlplane.models import NodeTable, SchedulingDecision
from apps.controlplane.results.refusals import frequent_reasons
from apps.scheduler.decision import Decision, PermitWait, Result
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.extender_calls import ExtenderCall, ExtenderVerb
from apps.scheduler.framework.interface import Candidate, NominatingInfo, PostFilterResult
from apps.scheduler.framework.scoring import ScoreColumn
from apps.scheduler.framework.status import SUCCESS, Code, Status

#: So many different reasons of a decision can be searched for; plugins may give each node its own.
MOST_REASONS = 32

_NORMALIZED = "normalized/"
#: verdicts of the filters, and of PostFilter on the nodes it tried in vain
_FILTER = "filter"
_POST_FILTER = "postFilter"


@dataclass(frozen=True, slots=True)
class StoredNodes:
    """A node table in the database, and which rows of a snapshot are in it."""

    id: int
    #: (rows,) bool, the row is a node
    alive: NDArray[np.bool_]


class Expected(NamedTuple):
    """A pod that had a node, of which nothing was known to be written."""

    uid: str
    node: str
    #: the scheduler knew the pod as it was at this version
    version: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a decision knew beside the objects of its version and the decisions just before it.

    With it the state it saw can be rebuilt: see `apps.controlplane.rebuilding`.
    """

    #: the version at which its engine took in everything there was
    loaded_at: int = 0
    expected: tuple[Expected, ...] = ()
    #: uids of pods that had lost the node where they were expected, which was not written yet
    released: tuple[str, ...] = ()
    #: the pod had its node until the binding was refused: others saw it there
    undone: bool = False


class Draws(NamedTuple):
    """How a cluster draws among equals, and the seed of its draws."""

    tie_break: str = ""
    seed: int = 0


class NodeTables:
    """Finds or stores the table of node names that decisions refer to."""

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id
        self._names: tuple[str, ...] | None = None
        self._text = self._digest = b""
        self._alive = np.empty(0, dtype=np.bool_)
        self._stored: StoredNodes | None = None

    def begin(self) -> None:
        """A transaction begins: what an earlier one stored may be undone, or forgotten since."""
        self._stored = None

    def of(self, names: tuple[str, ...]) -> StoredNodes:
        """The table of a snapshot's names; consecutive decisions over the same nodes share it.

        It stays at least until the transaction ends.
        """
        if names is not self._names:
            self._names, self._stored = names, None
            self._alive = np.array([bool(name) for name in names], dtype=np.bool_)
            self._text = msgspec.json.encode([name for name in names if name])
            self._digest = hashlib.sha256(self._text).digest()
        if self._stored is None:
            self._stored = StoredNodes(self._found() or self._made(), self._alive)
        return self._stored

    def _found(self) -> int | None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM controlplane_nodetable WHERE cluster_id = %s AND digest = %s "
                "FOR KEY SHARE",
                [self._cluster_id, self._digest],
            )
            row = cursor.fetchone()
        return None if row is None else int(row[0])

    def _made(self) -> int:
        # nobody else makes one: the lease is ours
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO controlplane_nodetable (cluster_id, digest, names) "
                "VALUES (%s, %s, %s) RETURNING id",
                [self._cluster_id, self._digest, zstandard.compress(self._text)],
            )
            row = cursor.fetchone()
        return int(row[0])


_NOTHING_SEEN = Seen()
_NO_DRAWS = Draws()


def row_of(
    decision: Decision,
    *,
    cluster_id: int,
    nodes: StoredNodes,
    at: datetime,
    profile_revision: int,
    cluster_version: int,
    sequence: int,
    request_id: str,
    seen: Seen = _NOTHING_SEEN,
    draws: Draws = _NO_DRAWS,
) -> dict[str, Any]:
    """The ledger row of a decision, by column name."""
    namespace, _, name = decision.pod_key.partition("/")
    nominated = decision.nominating.nominated_node if decision.nominating else ""
    chosen = decision.result == Result.SCHEDULED and len(decision.total)
    return {
        "cluster_id": cluster_id,
        "pod_uid": decision.pod_uid,
        "namespace": namespace,
        "name": name,
        "attempt": decision.attempt,
        "at": at,
        "profile_revision": profile_revision,
        "scheduler_name": decision.profile,
        "result": decision.result.value,
        "node": decision.node if decision.result == Result.SCHEDULED else "",
        "nominated_node": nominated,
        "message": decision.filter_message or decision.message,
        "post_filter_message": _post_filter_message(decision),
        "unschedulable_plugins": sorted(decision.unschedulable_plugins),
        "reasons": frequent_reasons(decision, MOST_REASONS),
        "victims": [pod.key for pod in decision.post_filter.victims]
        if decision.post_filter
        else [],
        "nodes": decision.total_nodes,
        "feasible_nodes": len(decision.feasible),
        "tied_nodes": len(decision.ties),
        "total_score": int(decision.total.max()) if chosen else None,
        "cluster_version": cluster_version,
        "sequence": sequence,
        "duration_us": sum(decision.durations.values()) // 1000,
        "request_id": request_id,
        "node_table_id": nodes.id,
        "columns": _encode(decision, nodes.alive, seen, draws),
    }


def insert(rows: list[dict[str, Any]]) -> None:
    """Write ledger rows in the caller's transaction."""
    with connection.cursor() as cursor:
        sql.insert_rows(cursor, SchedulingDecision, rows)


def load(row: SchedulingDecision) -> Decision:
    """The decision as the core made it; nodes are numbered by the row's node table."""
    table = NodeTable.objects.get(pk=row.node_table_id)
    names = tuple(msgspec.json.decode(zstandard.decompress(bytes(table.names))))
    plain, arrays = columns.decode(bytes(row.columns))
    decision = Decision(
        pod_key=f"{row.namespace}/{row.name}",
        pod_uid=str(row.pod_uid),
        profile=row.scheduler_name,
        attempt=row.attempt,
        result=Result(row.result),
        node=row.node or plain["node"],
        message=" ".join(filter(None, (row.message, row.post_filter_message))),
        filter_message=row.message if plain["explained"] else "",
        nodes=names,
        total_nodes=row.nodes,
        start=plain["start"],
        evaluated=plain["evaluated"],
        nominated_fast_path=plain["fast_path"],
        pre_filter=_status(plain["pre_filter"]) or SUCCESS,
        pre_filter_nodes=_names_or_none(plain["pre_filter_nodes"]),
        filter_skipped=frozenset(plain["filter_skipped"]),
        score_skipped=frozenset(plain["score_skipped"]),
        unschedulable_plugins=frozenset(row.unschedulable_plugins),
        pending_plugins=frozenset(plain["pending_plugins"]),
        draw=plain["draw"],
        post_filter_status=_status(plain["post_filter_status"]),
        post_filter=_post_filter(plain, arrays),
        nominating=_nominating(plain["nominating"]),
        rejection=_status(plain["rejection"]),
        durations=plain["durations"],
        plugin_durations=_laps(plain.get("laps", [])),
        permit_wait=_permit_wait(plain.get("permit_wait")),
        extender_calls=[_extender_call(call) for call in plain.get("extender_calls", ())],
    )
    _restore_nodes(decision, plain, arrays)
    return decision


def _restore_nodes(
    decision: Decision, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[np.int64]]
) -> None:
    """Verdicts and scores, and what follows from them."""
    decision.node_statuses = _node_statuses(_FILTER, plain, arrays)
    if decision.node_statuses is None:
        return
    decision.feasible = np.flatnonzero(decision.node_statuses.ids == NodeStatuses.FEASIBLE)
    for plugin, weight in plain["weights"].items():
        raw = arrays[plugin]
        normalized = arrays.get(_NORMALIZED + plugin, raw)
        decision.scores[plugin] = ScoreColumn(raw, normalized, weight)
    if not plain["scored"]:
        return
    total = np.zeros(len(decision.feasible), dtype=np.int64)
    for column in decision.scores.values():
        total += column.weighted
    decision.total = total if decision.scores else total + 1
    decision.ties = decision.feasible[decision.total == decision.total.max()]


def seen_by(row: SchedulingDecision) -> Seen:
    """What the decision of this row knew beside the objects."""
    plain, _ = columns.decode(bytes(row.columns))
    expected = tuple(Expected(*each) for each in plain.get("expected", ()))
    released = tuple(plain.get("released", ()))
    return Seen(plain.get("loaded_at", 0), expected, released, plain.get("undone", False))


def _plain_seen(seen: Seen) -> dict[str, Any]:
    plain: dict[str, Any] = {"loaded_at": seen.loaded_at}
    if seen.expected:
        plain["expected"] = [list(each) for each in seen.expected]
    if seen.released:
        plain["released"] = list(seen.released)
    if seen.undone:
        plain["undone"] = True
    return plain


def draws_of(row: SchedulingDecision) -> Draws:
    """How its cluster drew then; nothing is known of that in the oldest decisions."""
    plain, _ = columns.decode(bytes(row.columns))
    return Draws(*plain.get("draws", ()))


def _encode(decision: Decision, alive: NDArray[np.bool_], seen: Seen, draws: Draws) -> bytes:
    arrays: dict[str, NDArray[Any]] = {}
    plain: dict[str, Any] = {
        "node": decision.node,
        "explained": bool(decision.filter_message),
        "start": decision.start,
        "evaluated": decision.evaluated,
        "fast_path": decision.nominated_fast_path,
        "pre_filter": _plain_status(decision.pre_filter),
        "pre_filter_nodes": _sorted_or_none(decision.pre_filter_nodes),
        "filter_skipped": sorted(decision.filter_skipped),
        "score_skipped": sorted(decision.score_skipped),
        "pending_plugins": sorted(decision.pending_plugins),
        "draw": decision.draw,
        "post_filter_status": _plain_status(decision.post_filter_status),
        "post_filter": _plain_post_filter(decision.post_filter),
        "nominating": decision.nominating and decision.nominating.nominated_node,
        "rejection": _plain_status(decision.rejection),
        "durations": dict(decision.durations),
        "laps": _plain_laps(decision.plugin_durations),
        "scored": bool(len(decision.total)),
        "draws": list(draws),
        **_plain_seen(seen),
    }
    if decision.permit_wait is not None:
        plain["permit_wait"] = _plain_permit_wait(decision.permit_wait)
    if decision.extender_calls:
        plain["extender_calls"] = [list(astuple(call)) for call in decision.extender_calls]
    if decision.node_statuses is not None:
        statuses = decision.node_statuses
        arrays[_FILTER] = statuses.ids[alive]
        plain[_FILTER] = _plain_node_statuses(statuses)
        plain["weights"] = {name: column.weight for name, column in decision.scores.items()}
    tried = decision.post_filter.node_statuses if decision.post_filter else None
    if tried is not None:
        arrays[_POST_FILTER] = tried.ids[alive]
        plain[_POST_FILTER] = _plain_node_statuses(tried)
    for plugin, column in decision.scores.items():
        arrays[plugin] = column.raw
        if column.normalized is not column.raw and (column.normalized != column.raw).any():
            arrays[_NORMALIZED + plugin] = column.normalized
    return columns.encode(plain, arrays)


def _post_filter_message(decision: Decision) -> str:
    """What PostFilter added to the message."""
    if not decision.filter_message:
        return ""
    return decision.message.removeprefix(decision.filter_message).strip()


def _plain_status(status: Status | None) -> list[Any] | None:
    return None if status is None else [int(status.code), list(status.reasons), status.plugin]


def _status(plain: list[Any] | None) -> Status | None:
    return None if plain is None else Status(Code(plain[0]), tuple(plain[1]), plain[2])


def _plain_post_filter(result: PostFilterResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "candidates": [
            [c.node, list(c.victims), c.pdb_violations, list(c.figures)] for c in result.candidates
        ],
        "ties": list(result.ties),
        "decided_by": result.decided_by,
        "offset": result.offset,
    }


def _post_filter(
    plain: Mapping[str, Any], arrays: Mapping[str, NDArray[np.int64]]
) -> PostFilterResult | None:
    result = plain["post_filter"]
    if result is None:
        return None
    return PostFilterResult(
        candidates=tuple(
            Candidate(node, tuple(victims), violations, tuple(figures))
            for node, victims, violations, figures in result["candidates"]
        ),
        node_statuses=_node_statuses(_POST_FILTER, plain, arrays),
        ties=tuple(result["ties"]),
        decided_by=result["decided_by"],
        offset=result["offset"],
    )


def _plain_laps(durations: Mapping[str, Mapping[str, int]]) -> list[Any]:
    """[point, plugin, ...] of each point, then all times: names that go together compress well."""
    names = [[point, *spent] for point, spent in durations.items() if spent]
    return [names, [time for spent in durations.values() for time in spent.values()]]


def _laps(plain: list[Any]) -> dict[str, dict[str, int]]:
    if not plain:
        return {}
    names, times = plain
    remaining = iter(times)
    return {point: {plugin: next(remaining) for plugin in plugins} for point, *plugins in names}


def _plain_permit_wait(wait: PermitWait) -> list[Any]:
    return [dict(wait.timeouts), wait.seconds, _plain_status(wait.outcome)]


def _permit_wait(plain: list[Any] | None) -> PermitWait | None:
    return None if plain is None else PermitWait(plain[0], plain[1], _status(plain[2]))


def _extender_call(plain: list[Any]) -> ExtenderCall:
    extender, url, verb, *rest = plain
    return ExtenderCall(extender, url, ExtenderVerb(verb), *rest)


def _node_statuses(
    prefix: str, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[np.int64]]
) -> NodeStatuses | None:
    """The verdicts kept under `prefix`; None where there are none."""
    if prefix not in arrays:
        return None
    *statuses, absent = [_status(each) for each in plain[prefix]]
    assert absent is not None
    return NodeStatuses(arrays[prefix].astype(np.int32), statuses, absent)


def _plain_node_statuses(statuses: NodeStatuses) -> list[Any]:
    """The distinct statuses in the order of their numbers, and the one for absent nodes."""
    return [*map(_plain_status, statuses.statuses), _plain_status(statuses.absent)]


def _nominating(node: str | None) -> NominatingInfo | None:
    return None if node is None else NominatingInfo(node)


def _sorted_or_none(names: Iterable[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _names_or_none(names: list[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)
