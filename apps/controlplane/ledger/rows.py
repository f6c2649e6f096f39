"""Rows of the ledger: the fields that lists and filters need, and how rows are inserted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection

from apps.cluster import sql
from apps.controlplane.ledger import codec
from apps.controlplane.ledger.node_tables import NodeTables, StoredNodes
from apps.controlplane.ledger.records import DecisionRecord
from apps.controlplane.models import SchedulingDecision
from apps.controlplane.results.refusals import frequent_reasons
from apps.scheduler.decision import Decision, Result

#: Reasons per decision that can be searched for; a plugin may have a different one for each node.
MAX_REASONS = 32


class LedgerWriter:
    """Inserts the decisions of one cluster under one revision of its configuration."""

    def __init__(self, cluster_id: int, profile_revision: int) -> None:
        self._cluster_id = cluster_id
        self._profile_revision = profile_revision
        self._node_tables = NodeTables(cluster_id)

    def insert(self, records: Iterable[DecisionRecord]) -> None:
        """Insert the rows of these records, once per transaction; the caller opens it."""
        self._node_tables.begin()
        rows = [
            build_row(
                record,
                cluster_id=self._cluster_id,
                profile_revision=self._profile_revision,
                nodes=self._node_tables.of(record.decision.nodes),
            )
            for record in records
        ]
        with connection.cursor() as cursor:
            sql.insert_rows(cursor, SchedulingDecision, rows)


def build_row(
    record: DecisionRecord, *, cluster_id: int, profile_revision: int, nodes: StoredNodes
) -> dict[str, Any]:
    """The ledger row of a decision, by column name."""
    decision = record.decision
    namespace, _, name = decision.pod_key.partition("/")
    is_scheduled = decision.result is Result.SCHEDULED
    victims = decision.post_filter.victims if decision.post_filter else ()
    return {
        "cluster_id": cluster_id,
        "pod_uid": decision.pod_uid,
        "namespace": namespace,
        "name": name,
        "attempt": decision.attempt,
        "at": record.at,
        "profile_revision": profile_revision,
        "scheduler_name": decision.profile,
        "result": decision.result.value,
        "node": decision.node if is_scheduled else "",
        "nominated_node": decision.nominating.nominated_node if decision.nominating else "",
        "message": decision.filter_message or decision.message,
        "post_filter_message": _get_post_filter_message(decision),
        "unschedulable_plugins": sorted(decision.unschedulable_plugins),
        "reasons": frequent_reasons(decision, MAX_REASONS),
        "victims": [pod.key for pod in victims],
        "nodes": decision.total_nodes,
        "feasible_nodes": len(decision.feasible),
        "tied_nodes": decision.ranking.tied,
        "total_score": _get_total_score(decision),
        "cluster_version": record.cluster_version,
        "sequence": record.sequence,
        "duration_us": sum(decision.durations.values()) // 1000,
        "request_id": record.request_id,
        "node_table_id": nodes.id,
        "columns": codec.encode(record, nodes.alive),
    }


def _get_post_filter_message(decision: Decision) -> str:
    """The part of the message that PostFilter added."""
    if not decision.filter_message:
        return ""
    return decision.message.removeprefix(decision.filter_message).strip()


def _get_total_score(decision: Decision) -> int | None:
    """The total of the selected node; None if no node was selected by score."""
    return decision.ranking.best if decision.result is Result.SCHEDULED else None
