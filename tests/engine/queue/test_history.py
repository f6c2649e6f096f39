"""Every move between the queues is recorded: source, target, event, plugin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop import clock
from apps.engine.loop.batches import MIN_BINDINGS
from apps.engine.loop.engines import Engines
from apps.engine.models import QueueMove, SchedulingDecision
from tests.engine.driving import ACTOR, create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")


def moves(name: str) -> list[tuple[Any, ...]]:
    found = QueueMove.objects.filter(name=name).order_by("id")
    return list(found.values_list("source", "target", "event", "plugin", "hint", "attempt"))


def test_a_move_caused_by_a_new_node_names_the_hint_that_decided(cluster: Cluster) -> None:
    create_pods(cluster, pod("wants-ssd", nodeSelector={"disk": "ssd"}))
    engines = Engines()
    engines.run(cluster.pk)
    body = generate_node("fast", "zone-1")
    body["metadata"]["labels"]["disk"] = "ssd"
    store.create(cluster, kinds.NODE, body, actor=ACTOR)
    engines.run(cluster.pk)
    assert Pod.objects.get(cluster=cluster).node_name == "fast"
    first, popped, failed, moved, *rest = moves("wants-ssd")
    assert first == ("", "active", "UnschedulablePodAdd", "", "", 0)
    assert popped == ("active", "in_flight", "Pop", "", "", 1)
    assert failed == ("in_flight", "unschedulable", "ScheduleAttemptFailure", "", "", 1)
    assert (moved[0], *moved[2:]) == ("unschedulable", "NodeAdd", "NodeAffinity", "Queue", 1)
    assert rest[-1] == ("in_flight", "", "Done", "", "", 2)


def test_a_gated_pod_names_its_gate(cluster: Cluster) -> None:
    create_pods(cluster, pod("held", schedulingGates=[{"name": "example.com/wait"}]))
    Engines().run(cluster.pk)
    move = QueueMove.objects.get(name="held")
    assert (move.source, move.target, move.plugin) == ("", "gated", "SchedulingGates")
    assert "example.com/wait" in move.reason
    assert (move.namespace, move.cluster_id) == ("default", cluster.pk)


def test_a_bound_pod_leaves_the_queue_in_the_transaction_that_binds_it(cluster: Cluster) -> None:
    create_pods(cluster, pod("p"))
    Engines().run(cluster.pk)
    left = QueueMove.objects.filter(name="p", event="Done")
    assert left.count() == 1
    # rows of one transaction have the same xmin
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT m.xmin = d.xmin FROM controlplane_queuemove m "
            "JOIN controlplane_schedulingdecision d USING (pod_uid) WHERE m.event = 'Done'"
        )
        assert cursor.fetchall() == [(True,)]


def test_history_remains_when_the_pod_is_deleted_and_cannot_be_changed(cluster: Cluster) -> None:
    create_pods(cluster, pod("p"))
    Engines().run(cluster.pk)
    Pod.objects.filter(cluster=cluster).delete()
    assert len(moves("p")) == 3 == QueueMove.objects.count()
    assert SchedulingDecision.objects.filter(cluster=cluster).count() == 1
    for change in (
        "UPDATE controlplane_queuemove SET event = 'x'",
        "DELETE FROM controlplane_queuemove",
        "TRUNCATE controlplane_queuemove",
    ):
        with pytest.raises(DatabaseError, match="refused"), transaction.atomic():
            connection.cursor().execute(change)


def test_a_crash_between_two_commits_of_a_batch_leaves_later_pods_where_they_waited(
    cluster: Cluster,
) -> None:
    """The bindings of a batch are committed before its other decisions, which are lost here."""
    cluster.manual_time = datetime(2030, 1, 1, tzinfo=UTC)
    cluster.save()
    create_pods(cluster, pod("again", cpu="64", nodeSelector={"disk": "ssd"}))
    Engines().run(cluster.pk)
    clock.advance(cluster, 100)
    body = generate_node("fast", "zone-1")
    body["metadata"]["labels"]["disk"] = "ssd"
    store.create(cluster, kinds.NODE, body, actor=ACTOR)
    high = {"metadata": {"name": "high"}, "value": 1}
    store.create(cluster, kinds.PRIORITY_CLASS, high, actor=ACTOR)
    placed = [pod(f"placed-{i}", priorityClassName="high") for i in range(MIN_BINDINGS)]
    create_pods(cluster, *placed, pod("first", nodeSelector={"disk": "none"}))
    with fails_to_record("unschedulable"), pytest.raises(DatabaseError, match="no room"):
        Engines().run(cluster.pk)
    scheduled = SchedulingDecision.objects.filter(cluster=cluster, result="scheduled")
    assert scheduled.count() == MIN_BINDINGS == SchedulingDecision.objects.count() - 1
    assert [move[2] for move in moves("placed-0")] == ["UnschedulablePodAdd", "Pop", "Done"]
    assert [move[1:3] for move in moves("again")][3:] == [("active", "NodeAdd")]
    assert [move[1:3] for move in moves("first")] == [("active", "UnschedulablePodAdd")]

    Engines().run(cluster.pk)
    for name, attempts in ("again", 2), ("first", 1):
        found = moves(name)
        assert found[-1][:3] == ("in_flight", "unschedulable", "ScheduleAttemptFailure")
        assert [move[0] for move in found] == ["", *(move[1] for move in found[:-1])]
        assert [move[2] for move in found].count("Pop") == attempts
        assert SchedulingDecision.objects.filter(cluster=cluster, name=name).count() == attempts


@contextmanager
def fails_to_record(result: str) -> Iterator[None]:
    """The database refuses decisions with this result in this block."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'no room for this decision'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER refuse_row BEFORE INSERT ON controlplane_schedulingdecision "
            f"FOR EACH ROW WHEN (NEW.result = '{result}') EXECUTE FUNCTION refuse_row()"
        )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION refuse_row CASCADE")
