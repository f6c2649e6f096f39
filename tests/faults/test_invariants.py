"""The invariants of the fault tests find what they are there for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.controlplane.clusters.generating import generate_node
from apps.controlplane.clusters.lifecycle import create_cluster
from apps.controlplane.loop.engines import Engines
from apps.controlplane.models import QueueMove, SchedulingDecision
from tests.controlplane.driving import ACTOR, create_pods, node_of, pod, run_until
from tests.faults.invariants import INVARIANTS, NOWHERE, violations

pytestmark = pytest.mark.django_db(transaction=True)

PODS = {"p0", "p1", "p2", "lost-in-space"}


@pytest.fixture
def cluster() -> Cluster:
    """A cluster in which three pods run, one of them at its second try, and one waits."""
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


def found() -> str:
    settings = connection.settings_dict
    url = make_conninfo(host=settings["HOST"], user=settings["USER"], dbname=settings["NAME"])
    return "\n".join(violations(url, "lab", PODS))


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


def test_a_sound_cluster_breaks_none(cluster: Cluster) -> None:
    assert found() == ""


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (run("DELETE FROM cluster_pod WHERE name = 'p0'"), "a pod is lost"),
        (run("UPDATE cluster_pod SET name = 'x' WHERE name = 'p0'"), "that nobody sent"),
        (run("UPDATE cluster_pod SET node_name = '' WHERE name = 'p0'"), "a pod waits that could"),
        (
            run("UPDATE cluster_pod SET node_name = 'node-0' WHERE name LIKE 'lost%'"),
            "a pod runs that fits nowhere",
        ),
        (run("DELETE FROM controlplane_queueentry"), "a pod that waits is not in the queue"),
        (
            run("UPDATE controlplane_queueentry SET pod_uid = gen_random_uuid()"),
            "in the queue that does not wait",
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
            "a pod runs that was never bound",
        ),
        (
            run("UPDATE cluster_pod SET requests = jsonb_set(requests, '{cpu}', '99000')"),
            "a node is over its capacity",
        ),
        (
            run("UPDATE cluster_node SET allocatable = jsonb_set(allocatable, '{pods}', '0')"),
            "a node holds more pods",
        ),
        (
            run("DELETE FROM cluster_change WHERE version = 2"),
            "a version is missing from the change log",
        ),
        (
            run("UPDATE cluster_change SET previous_version = 1 WHERE name = 'p0'"),
            "a change does not follow",
        ),
        (
            run("UPDATE cluster_pod SET body = jsonb_set(body, '{spec,x}', '1')"),
            "a pod is not what its last change made it",
        ),
        (repeat_a_decision, "not exactly one decision"),
        (repeat_a_decision, "the attempts of a pod are not"),
        (run("UPDATE controlplane_queueentry SET attempts = 5"), "counts other attempts"),
        (repeat_a_move("Done"), "a move of a pod does not begin"),
        (repeat_a_move("Pop"), "the moves of a pod do not end"),
        (repeat_a_move("Pop"), "taken from the queue more or less often"),
        (run("DELETE FROM cluster_event WHERE reason = 'Scheduled'"), "not exactly one event"),
    ],
)
def test_damage_is_found_and_named(
    cluster: Cluster, damage: Callable[[], None], expected: str
) -> None:
    damage()
    assert expected in found()


def test_every_invariant_is_tried_here() -> None:
    [mark] = [m for m in test_damage_is_found_and_named.pytestmark if m.name == "parametrize"]
    expected = [text for _, text in mark.args[1]]
    assert [what for what in INVARIANTS if not any(text in what for text in expected)] == []
