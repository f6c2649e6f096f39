"""What it costs to record a batch besides its objects: statements, bytes, write-ahead log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from apps.cluster.models import Cluster
from apps.cluster.prepared import prepared_cursor
from apps.controlplane.clusters.lifecycle import create_cluster
from apps.controlplane.ledger.records import DecisionRecord
from apps.controlplane.loop.engine import Engine
from apps.controlplane.models import QueueMove, SchedulingDecision
from apps.controlplane.workers import lease
from tests.controlplane.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

#: Tables that a batch of bound pods writes besides objects and events.
RECORDED = ("looplease", "schedulingdecision", "queuemove", "schedulermetrics")


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")


class Statements:
    """The statements of a block, with their parameters."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, *more: Any) -> Any:
        self.sent.append((str(sql), params))
        return execute(sql, params, *more)

    def of_recording(self) -> list[tuple[str, Any]]:
        return [each for each in self.sent if any(f"plane_{t}" in each[0] for t in RECORDED)]


def record(cluster: Cluster, engine: Engine, pods: int) -> Statements:
    """Schedule so many pods and record them as one batch."""
    create_pods(cluster, *(pod(f"p{pods}-{number}", cpu="1m") for number in range(pods)))
    engine.informer.catch_up()
    scheduler, informer = engine.scheduler, engine.informer
    decisions = [scheduler.schedule_one() for _ in range(pods)]
    batch = [
        DecisionRecord(
            decision=decision,
            at=cluster.now(),
            cluster_version=informer.position,
            sequence=sequence,
            request_id="request-of-a-client",
        )
        for sequence, decision in enumerate(decisions)
        if decision is not None
    ]
    statements = Statements()
    with connection.execute_wrapper(statements):
        engine.recorder.record(scheduler, informer, batch, scheduler.queue.take_changes())
    return statements


@pytest.fixture
def engine(cluster: Cluster) -> Iterator[Engine]:
    held = lease.acquire(cluster.pk)
    assert held is not None
    engine = Engine.load(cluster, held)
    record(cluster, engine, 2)
    yield engine
    engine.close()


def count_wal_records(sql: str, parameters: Any) -> int:
    """The records that a statement adds to the write-ahead log."""

    def added(plan: dict[str, Any]) -> int:
        if plan["Node Type"] == "ModifyTable":
            return int(plan["WAL Records"])
        return sum(map(added, plan.get("Plans", ())))

    with prepared_cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, WAL, FORMAT JSON) {sql}", parameters)
        (plans,) = cursor.fetchone()
    found = json.loads(plans) if isinstance(plans, str) else plans
    return added(found[0]["Plan"])


@pytest.mark.parametrize("pods", [1, 100])
def test_a_batch_is_recorded_by_two_statements(cluster: Cluster, engine: Engine, pods: int) -> None:
    statements = record(cluster, engine, pods)
    assert SchedulingDecision.objects.filter(cluster=cluster).count() == pods + 2
    assert QueueMove.objects.filter(cluster=cluster, event="Done").count() == pods + 2
    settled, metrics = statements.of_recording()
    assert "schedulingdecision" in settled[0] and "schedulermetrics" in metrics[0]


def test_bytes_of_a_decision(cluster: Cluster, engine: Engine) -> None:
    (_, parameters), _ = record(cluster, engine, 100).of_recording()
    assert sum(len(each) for each in parameters if isinstance(each, bytes)) < 100 * 850


@pytest.mark.parametrize(("pods", "limit"), [(1, 40), (100, 28)])
def test_records_of_the_write_ahead_log(
    cluster: Cluster, engine: Engine, pods: int, limit: int
) -> None:
    """A decision and three moves in the queue, each with the entries of its indexes."""
    (sql, parameters), _ = record(cluster, engine, pods).of_recording()
    assert 0 < count_wal_records(sql, parameters) <= pods * limit
