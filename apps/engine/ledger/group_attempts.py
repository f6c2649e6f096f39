"""Attempts with groups of pods as rows, beside the decisions of their members."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from psycopg.types.numeric import Int4, Int8

from apps.cluster.arrays import documents, int4s, int8s, texts, times
from apps.cluster.prepared import Step, insert
from apps.engine.ledger.records import DecisionRecord
from apps.engine.models import GroupAttempt
from apps.scheduler.decision import Result
from apps.scheduler.framework.status import Status


def steps(
    cluster_id: int,
    profile_revision: int,
    records: Sequence[DecisionRecord],
    *,
    condition: str,
) -> list[Step]:
    """The step that inserts the attempts with groups whose first member is among the records.

    ``condition``: as of the decisions themselves, see ``insert``.
    """
    attempts = [
        (record, attempt)
        for record in records
        if (attempt := record.decision.group_attempt) is not None
    ]
    if not attempts:
        return []
    columns = {
        "cluster_id": Int8(cluster_id),
        "profile_revision": Int4(profile_revision),
        "namespace": texts([attempt.namespace for _, attempt in attempts]),
        "name": texts([attempt.name for _, attempt in attempts]),
        "at": times([record.at for record, _ in attempts]),
        "result": texts([_result(attempt.status).value for _, attempt in attempts]),
        "message": texts([attempt.status.message for _, attempt in attempts]),
        "min_count": int4s([attempt.min_count for _, attempt in attempts]),
        "cluster_version": int8s([record.cluster_version for record, _ in attempts]),
        "sequence": int4s([record.sequence for record, _ in attempts]),
        "members": documents([msgspec.json.encode(attempt.members) for _, attempt in attempts]),
        "placements": documents(
            [msgspec.json.encode(attempt.placements) for _, attempt in attempts]
        ),
        "victims": documents([msgspec.json.encode(attempt.victims) for _, attempt in attempts]),
    }
    return [insert("group_attempts", GroupAttempt, columns, condition=condition)]


def _result(status: Status) -> Result:
    if status.is_success:
        return Result.SCHEDULED
    return Result.ERROR if status.is_error else Result.UNSCHEDULABLE
