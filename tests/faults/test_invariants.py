"""Each invariant of the fault tests detects its violation."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop.engines import Engines
from apps.engine.models import QueueMove, SchedulingDecision
from tests.engine.driving import ACTOR, create_pods, node_of, pod, run_until
from tests.faults.invariants import INVARIANTS, NOWHERE, find_violations

pytestmark = pytest.mark.django_db(transaction=True)

PODS = {"p0", "p1", "p2", "lost-in-space"}


@pytest.fixture
def cluster() -> Cluster:
    """A cluster with three running pods, one of them after two attempts, and a pending pod."""
    cluster = create_cluster("lab", user="tests", nodes=2)
    nowhere = pod("lost-in-space", nodeSelector={"there-is": "none"})
    nowhere["metadata"]["labels"] = {NOWHERE: "true"}
    late = pod("p2", nodeSelector={"kubernetes.io/hostname": "node-late"})
    create_pods(cluster, pod("p0"), pod("p1"), late, nowhere)
    engines = Engines()
    engines.run(cluster.pk)
    store.create(cluster, kinds.NODE, generate_node("node-late", "zone-0"), actor=ACTOR)
    run_until(engines, cluster, lambda: node_of(cluster, "p2"))
    engines.run(cluster.pk)
    engines.close()
    return cluster


def find() -> str:
    settings = connection.settings_dict
    url = make_conninfo(host=settings["HOST"], user=settings["USER"], dbname=settings["NAME"])
    return "\n".join(find_violations(url, "lab", PODS))


def run(statement: str) -> Callable[[], None]:
    def change() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    return change


def repeat_a_decision() -> None:
    decision = SchedulingDecision.objects.get(name="p0")
    decision.pk = None
    decision.save(force_insert=True)


def repeat_a_move(event: str) -> Callable[[], None]:
    def change() -> None:
        move = QueueMove.objects.get(name="p0", event=event)
        move.pk = None
        move.save(force_insert=True)

    return change


def test_an_intact_cluster_has_no_violations(cluster: Cluster) -> None:
    assert find() == ""


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (run("DELETE FROM cluster_pod WHERE name = 'p0'"), "a pod is lost"),
        (run("UPDATE cluster_pod SET name = 'x' WHERE name = 'p0'"), "an unexpected pod exists"),
        (
            run("UPDATE cluster_pod SET node_name = '' WHERE name = 'p0'"),
            "a schedulable pod is pending",
        ),
        (
            run("UPDATE cluster_pod SET node_name = 'node-0' WHERE name LIKE 'lost%'"),
            "an unschedulable pod is running",
        ),
        (run("DELETE FROM controlplane_queueentry"), "a pending pod is not in the queue"),
        (
            run("UPDATE controlplane_queueentry SET pod_uid = gen_random_uuid()"),
            "a pod in the queue is not pending",
        ),
        (
            run(
                "UPDATE cluster_change SET object = jsonb_set(object, '{spec,nodeName}', '\"x\"') "
                "WHERE version = (SELECT max(version) FROM cluster_change WHERE name = 'p0')"
            ),
            "a pod was bound twice",
        ),
        (
            run("UPDATE cluster_pod SET node_name = 'elsewhere' WHERE name = 'p0'"),
            "a running pod was never bound",
        ),
        (
            run("UPDATE cluster_pod SET requests = jsonb_set(requests, '{cpu}', '99000')"),
            "a node is over its capacity",
        ),
        (
            run("UPDATE cluster_node SET allocatable = jsonb_set(allocatable, '{pods}', '0')"),
            "a node has more pods than allowed",
        ),
        (
            run("DELETE FROM cluster_change WHERE version = 2"),
            "a version is missing from the change log",
        ),
        (
            run("UPDATE cluster_change SET previous_version = 1 WHERE name = 'p0'"),
            "a change does not refer to the previous change",
        ),
        (
            run("UPDATE cluster_pod SET body = jsonb_set(body, '{spec,x}', '1')"),
            "a pod differs from its last change",
        ),
        (repeat_a_decision, "does not have exactly one decision"),
        (repeat_a_decision, "the attempts of a pod are not"),
        (
            run("UPDATE controlplane_queueentry SET attempts = 5"),
            "the attempts of a queue entry",
        ),
        (repeat_a_move("Done"), "a move of a pod does not start"),
        (repeat_a_move("Pop"), "the last move of a pod does not lead"),
        (repeat_a_move("Pop"), "the number of pops of a pod differs"),
        (
            run("DELETE FROM cluster_event WHERE reason = 'Scheduled'"),
            "exactly one Scheduled event",
        ),
    ],
)
def test_a_violation_is_detected(
    cluster: Cluster, damage: Callable[[], None], expected: str
) -> None:
    damage()
    assert expected in find()


def test_every_invariant_has_a_case() -> None:
    [mark] = [m for m in test_a_violation_is_detected.pytestmark if m.name == "parametrize"]
    expected = [text for _, text in mark.args[1]]
    assert [what for what in INVARIANTS if not any(text in what for text in expected)] == []
