"""Rows of the ledger: the fields that lists and filters need, and how rows are inserted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from psycopg.types.numeric import Int4, Int8

from apps.cluster.arrays import BinaryArray, blobs, int4s, int8s, nested, texts, times, uuids
from apps.cluster.prepared import Step, execute_together, insert
from apps.engine.ledger import codec, group_attempts
from apps.engine.ledger.node_tables import NodeTables, StoredNodes
from apps.engine.ledger.records import DecisionRecord
from apps.engine.models import SchedulingDecision
from apps.engine.results.refusals import frequent_reasons, rank_plugins
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
        """Insert the rows of these records; the caller opens the transaction."""
        listed = list(records)
        self.complete(listed, execute_together(self.steps(listed)))

    def can_encode(self, records: Sequence[DecisionRecord]) -> bool:
        """Whether `steps` does not read the database for these records."""
        return all(self._node_tables.knows(record.decision.nodes) for record in records)

    def encode_ahead(self, records: Sequence[DecisionRecord]) -> list[Step] | None:
        """What `steps` returns, without reading the database; None if that is not possible."""
        return self.steps(records) if self.can_encode(records) else None

    def steps(self, records: Sequence[DecisionRecord]) -> list[Step]:
        """The steps that insert these records; `complete` takes their results."""
        if not records:
            return []
        tables = [self._node_tables.of(record.decision.nodes) for record in records]
        return [
            self._node_tables.step({table.id for table in tables}),
            *group_attempts.steps(
                self._cluster_id, self._profile_revision, records, condition=NodeTables.FOUND
            ),
            insert(
                "ledger",
                SchedulingDecision,
                {
                    "cluster_id": Int8(self._cluster_id),
                    "profile_revision": Int4(self._profile_revision),
                    **_build_columns(records, tables),
                },
                condition=NodeTables.FOUND,
            ),
        ]

    def complete(self, records: Sequence[DecisionRecord], results: Mapping[str, Any]) -> None:
        """Insert the records now, if retention has deleted a node table: nothing was inserted."""
        if records and not NodeTables.are_found(results):
            self._node_tables.forget()
            results = execute_together(self.steps(records))
            assert NodeTables.are_found(results), "the node tables are locked"


def _build_columns(
    records: Sequence[DecisionRecord], tables: Sequence[StoredNodes]
) -> dict[str, BinaryArray]:
    """The rows of these records as arrays, by column name."""
    decisions = [record.decision for record in records]
    keys = [decision.pod_key.partition("/") for decision in decisions]
    encoder = codec.BatchEncoder()
    blob = [encoder.encode(each, table.alive) for each, table in zip(records, tables, strict=True)]
    return {
        "pod_uid": uuids([each.pod_uid for each in decisions]),
        "namespace": texts([namespace for namespace, _, _ in keys]),
        "name": texts([name for _, _, name in keys]),
        "workload": texts([each.workload for each in decisions]),
        "attempt": int4s([each.attempt for each in decisions]),
        "at": times([record.at for record in records]),
        "scheduler_name": texts([each.profile for each in decisions]),
        "result": texts([each.result.value for each in decisions]),
        "node": texts([_get_node(each) for each in decisions]),
        "nominated_node": texts([_get_nominated_node(each) for each in decisions]),
        "message": texts([each.filter_message or each.message for each in decisions]),
        "post_filter_message": texts([_get_post_filter_message(each) for each in decisions]),
        "unschedulable_plugins": nested([rank_plugins(each) for each in decisions]),
        "reasons": nested([frequent_reasons(each, MAX_REASONS) for each in decisions]),
        "victims": nested([_get_victims(each) for each in decisions]),
        "nodes": int4s([each.total_nodes for each in decisions]),
        "feasible_nodes": int4s([len(each.feasible) for each in decisions]),
        "tied_nodes": int4s([each.ranking.tied for each in decisions]),
        "total_score": int8s([_get_total_score(each) for each in decisions]),
        "cluster_version": int8s([record.cluster_version for record in records]),
        "sequence": int4s([record.sequence for record in records]),
        "duration_us": int4s([sum(each.durations.values()) // 1000 for each in decisions]),
        "request_id": texts([record.request_id for record in records]),
        "node_table_id": int8s([table.id for table in tables]),
        "columns": blobs(blob),
    }


def _get_node(decision: Decision) -> str:
    return decision.node if decision.result is Result.SCHEDULED else ""


def _get_nominated_node(decision: Decision) -> str:
    return decision.nominating.nominated_node if decision.nominating else ""


def _get_victims(decision: Decision) -> list[str]:
    victims = decision.post_filter.victims if decision.post_filter else ()
    return [pod.key for pod in victims]


def _get_post_filter_message(decision: Decision) -> str:
    """The part of the message that PostFilter added."""
    if not decision.filter_message:
        return ""
    return decision.message.removeprefix(decision.filter_message).strip()


def _get_total_score(decision: Decision) -> int | None:
    """The total of the selected node; None if no node was selected by score."""
    return decision.ranking.best if decision.result is Result.SCHEDULED else None
