"""Every move between the queues is recorded: source, target, event, plugin."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.cluster.prepared import execute_together
from apps.cluster.writing import store
from apps.controlplane.clusters.generating import generate_node
from apps.controlplane.clusters.lifecycle import create_cluster
from apps.controlplane.loop.engines import Engines
from apps.controlplane.models import QueueMove, SchedulingDecision
from apps.controlplane.queue.history import QueueHistory
from apps.scheduler.queue.records import PodMove, SubQueue
from tests.controlplane.driving import ACTOR, create_pods, pod

OUTSIDE, ACTIVE, IN_FLIGHT = SubQueue.OUTSIDE, SubQueue.ACTIVE, SubQueue.IN_FLIGHT

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


def test_a_pop_is_written_with_the_decision_of_its_pod(cluster: Cluster) -> None:
    """After a crash between two parts of a batch, the pods of the second are popped again."""
    history = QueueHistory(cluster)
    uids = {name: str(uuid4()) for name in ("one", "two")}
    for name, uid in uids.items():
        history.note(PodMove(f"default/{name}", uid, OUTSIDE, ACTIVE, "Add", 1.0))
        history.note(PodMove(f"default/{name}", uid, ACTIVE, IN_FLIGHT, "Pop", 2.0))
    for name, others in (("one", 1), ("two", 2)):
        with transaction.atomic():
            execute_together(history.steps((), {uids[name]}))
        history.mark_committed()
        assert [move[2] for move in moves(name)] == ["Add", "Pop"]
        assert len(moves("two")) == others
        assert not history
