"""What it costs to record a batch besides its objects: statements, bytes, write-ahead log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.cluster.prepared import prepared_cursor
from apps.cluster.writing import store
from apps.engine.ledger.records import DecisionRecord
from apps.engine.loop.engine import Engine
from apps.engine.metrics import stored
from apps.engine.models import LoopLease, NodeTable, QueueMove, SchedulingDecision
from apps.engine.workers import lease
from apps.scheduler.metrics.definitions import ATTEMPT_DURATION, SCHEDULE_ATTEMPTS
from tests.engine.driving import ACTOR, Traffic, create_pods, pod, traffic

pytestmark = pytest.mark.django_db(transaction=True)

#: Tables that a batch of bound pods writes besides objects and events.
RECORDED = ("looplease", "schedulingdecision", "queuemove", "schedulermetrics")


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")


def of_recording(found: Traffic) -> list[tuple[str, Any]]:
    return found.about(*(f"plane_{table}" for table in RECORDED))


def record(
    cluster: Cluster, engine: Engine, pods: int, meanwhile: Callable[[], object] = lambda: None
) -> Traffic:
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
    meanwhile()
    with traffic() as found:
        engine.recorder.record(batch, scheduler.queue.take_changes())
    return found


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
def test_a_batch_is_recorded_in_one_round_trip(cluster: Cluster, engine: Engine, pods: int) -> None:
    found = record(cluster, engine, pods)
    assert found.round_trips == 1
    # and BEGIN, COMMIT, the announcement; for few pods, the choice of the plan and the ledger
    assert len(found.statements) == (8 if pods == 1 else 6)
    assert SchedulingDecision.objects.filter(cluster=cluster).count() == pods + 2
    assert QueueMove.objects.filter(cluster=cluster, event="Done").count() == pods + 2
    *settled, metrics = of_recording(found)
    assert "schedulingdecision" in settled[-1][0] and "schedulermetrics" in metrics[0]


def test_the_ledger_row_of_one_pod_is_encoded_while_the_server_binds_it(
    cluster: Cluster, engine: Engine
) -> None:
    found = record(cluster, engine, 1)
    statements = [sql for sql, _ in found.about("looplease", "cluster_pod", "schedulingdecision")]
    lease, placement, ledger = statements
    assert "looplease" in lease and "queuemove" in lease
    assert "cluster_pod" in placement and "schedulingdecision" in ledger


def test_a_node_table_that_was_deleted_is_stored_again(cluster: Cluster, engine: Engine) -> None:
    def delete() -> None:
        with connection.cursor() as cursor:
            # as retention, which deletes whole partitions and then the tables they used
            cursor.execute("SET session_replication_role = replica")
            cursor.execute("DELETE FROM controlplane_schedulingdecision")
            cursor.execute("DELETE FROM controlplane_nodetable")
            cursor.execute("RESET session_replication_role")

    record(cluster, engine, 1, delete)
    row = SchedulingDecision.objects.get(cluster=cluster)
    assert row.name == "p1-0"
    assert NodeTable.objects.filter(pk=row.node_table_id).exists()
    assert Pod.objects.get(cluster=cluster, name="p1-0").node_name == row.node


def test_bytes_of_a_decision(cluster: Cluster, engine: Engine) -> None:
    (_, parameters), _ = of_recording(record(cluster, engine, 100))
    assert sum(len(each) for each in parameters if isinstance(each, bytes)) < 100 * 850


@pytest.mark.parametrize(("pods", "limit"), [(1, 40), (100, 28)])
def test_records_of_the_write_ahead_log(
    cluster: Cluster, engine: Engine, pods: int, limit: int
) -> None:
    """A decision and three moves in the queue, each with the entries of its indexes."""
    *settled, _ = of_recording(record(cluster, engine, pods))
    written = sum(count_wal_records(sql, parameters) for sql, parameters in settled)
    assert 0 < written <= pods * limit


def attempts(cluster: Cluster) -> float:
    """The attempts that the stored metrics count."""
    return sum(count for _, count in stored.load(cluster.pk).counters[SCHEDULE_ATTEMPTS.name])


def observed(cluster: Cluster) -> int:
    series = stored.load(cluster.pk).histograms[ATTEMPT_DURATION.name]
    return sum(sum(each.counts) for each in series)


def test_an_attempt_is_counted_once_if_its_pod_has_changed(
    cluster: Cluster, engine: Engine
) -> None:
    def label(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "metadata": {**body["metadata"], "labels": {"changed": "yes"}}}

    def change() -> None:
        store.patch(cluster, kinds.POD, "default", "p1-0", label, actor=ACTOR)

    before = attempts(cluster), observed(cluster)
    found = record(cluster, engine, 1, change)
    assert found.round_trips > 1
    assert (attempts(cluster), observed(cluster)) == (before[0] + 1, before[1] + 1)
    pod = Pod.objects.get(cluster=cluster, name="p1-0")
    assert pod.node_name
    assert pod.labels["changed"] == "yes"
    assert SchedulingDecision.objects.filter(cluster=cluster, name="p1-0").count() == 1
    record(cluster, engine, 3)
    assert attempts(cluster) == before[0] + 4


def test_a_holder_that_has_lost_its_lease_records_nothing(cluster: Cluster, engine: Engine) -> None:
    before = Cluster.objects.get(pk=cluster.pk).resource_version

    def take_over() -> None:
        LoopLease.objects.filter(cluster=cluster).update(epoch=F("epoch") + 1)

    with pytest.raises(lease.LeaseLost):
        record(cluster, engine, 1, take_over)
    assert SchedulingDecision.objects.filter(cluster=cluster).count() == 2
    assert not Pod.objects.get(cluster=cluster, name="p1-0").node_name
    # the creation of the pod
    assert Cluster.objects.get(pk=cluster.pk).resource_version == before + 1
