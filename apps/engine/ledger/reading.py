"""Reads the decision of a ledger row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec
import numpy as np

from apps.engine.ledger import codec
from apps.engine.ledger.codec import StoredDecision, StoredPostFilter, StoredVerdicts
from apps.engine.ledger.node_tables import node_names
from apps.engine.ledger.records import DecisionRecord, SeenState
from apps.engine.models import SchedulingDecision
from apps.scheduler.decision import Decision, PermitWait, Result
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.extender_calls import ExtenderCall
from apps.scheduler.framework.interface import Candidate, NominatingInfo, PostFilterResult
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.ranking import Ranking
from apps.scheduler.framework.status import Status

T = TypeVar("T")


def read(row: SchedulingDecision, nodes: tuple[str, ...] | None = None) -> DecisionRecord:
    """The decision of a row with the state it saw; nodes have the order of the row's node table.

    `nodes` are the names in that table, for a row that is not in the database.
    """
    stored = codec.decode(bytes(row.columns))
    return DecisionRecord(
        decision=_restore_decision(row, stored, nodes),
        at=row.at,
        cluster_version=row.cluster_version,
        sequence=row.sequence,
        request_id=row.request_id,
        seen=SeenState(stored.loaded_at, stored.expected, stored.released),
        draws=stored.draws,
        took_node=stored.undone or row.result == Result.SCHEDULED,
    )


def _restore_decision(
    row: SchedulingDecision, stored: StoredDecision, nodes: tuple[str, ...] | None
) -> Decision:
    decision = Decision(
        pod_key=f"{row.namespace}/{row.name}",
        pod_uid=str(row.pod_uid),
        workload=row.workload,
        profile=row.scheduler_name,
        attempt=row.attempt,
        result=Result(row.result),
        node=row.node or stored.node,
        message=" ".join(filter(None, (row.message, row.post_filter_message))),
        filter_message=row.message if stored.explained else "",
        nodes=node_names(row.node_table_id) if nodes is None else nodes,
        total_nodes=row.nodes,
        start=stored.start,
        evaluated=stored.evaluated,
        nominated_fast_path=stored.nominated_fast_path,
        hint=stored.hint,
        pre_filter=_to_core(stored.pre_filter, Status),
        pre_filter_nodes=_set_or_none(stored.pre_filter_nodes),
        filter_skipped=frozenset(stored.filter_skipped),
        score_skipped=frozenset(stored.score_skipped),
        unschedulable_plugins=frozenset(row.unschedulable_plugins),
        pending_plugins=frozenset(stored.pending_plugins),
        draw=stored.draw,
        claims=stored.claims,
        post_filter_status=_to_core_or_none(stored.post_filter_status, Status),
        post_filter=_restore_post_filter(stored.post_filter),
        nominating=None if stored.nominated_node is None else NominatingInfo(stored.nominated_node),
        rejection=_to_core_or_none(stored.rejection, Status),
        durations=stored.durations,
        plugin_durations=_restore_plugin_durations(stored),
        permit_wait=_to_core_or_none(stored.permit_wait, PermitWait),
        extender_calls=[_to_core(call, ExtenderCall) for call in stored.extender_calls],
    )
    _restore_nodes(decision, stored)
    return decision


def _restore_nodes(decision: Decision, stored: StoredDecision) -> None:
    """Set verdicts and scores, and the fields that are computed from them."""
    decision.node_statuses = _restore_verdicts(stored.node_statuses)
    if decision.node_statuses is None:
        return
    decision.feasible = np.flatnonzero(decision.node_statuses.ids == NodeStatuses.FEASIBLE)
    scores = zip(stored.weights.items(), stored.raw_scores, stored.normalized_scores, strict=True)
    for (plugin, weight), raw, different in scores:
        normalized = raw if different is None else different
        decision.scores[plugin] = ScoreColumn(raw, normalized, weight)
    if not stored.scored:
        return
    total = np.zeros(len(decision.feasible), dtype=np.int64)
    for column in decision.scores.values():
        total += column.weighted
    decision.ranking = Ranking(decision.feasible, total if decision.scores else total + 1)


def _to_core(stored: object, kind: type[T]) -> T:
    """A stored value as the core's class whose fields have the same names."""
    return msgspec.convert(stored, kind, from_attributes=True)


def _to_core_or_none(stored: object | None, kind: type[T]) -> T | None:
    return None if stored is None else _to_core(stored, kind)


def _restore_verdicts(stored: StoredVerdicts | None) -> NodeStatuses | None:
    if stored is None:
        return None
    statuses = [_to_core_or_none(status, Status) for status in stored.statuses]
    return NodeStatuses(stored.ids, statuses, _to_core(stored.absent, Status))


def _restore_post_filter(stored: StoredPostFilter | None) -> PostFilterResult | None:
    if stored is None:
        return None
    return PostFilterResult(
        candidates=_to_core(stored.candidates, tuple[Candidate, ...]),
        node_statuses=_restore_verdicts(stored.node_statuses),
        ties=stored.ties,
        decided_by=stored.decided_by,
        offset=stored.offset,
    )


def _restore_plugin_durations(stored: StoredDecision) -> dict[str, dict[str, int]]:
    times = iter(stored.plugin_times)
    return {
        point: {plugin: next(times) for plugin in plugins}
        for point, *plugins in stored.timed_plugins
    }


def _set_or_none(names: Iterable[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)
