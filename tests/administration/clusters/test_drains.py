"""Draining a node, and the preview of a drain."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from apps.administration.clusters import drains
from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations import running, service
from apps.cluster import kinds
from apps.cluster.models import Cluster, Node, Pod
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.models import Operation
from apps.studies.explanations.states import states
from apps.studies.rebuilding import PastState

pytestmark = pytest.mark.django_db(transaction=True)

ACTOR = Actor("alice")
ROOM = {"requests": {"cpu": "3"}}


@pytest.fixture
def lab() -> Cluster:
    """Two nodes of 8 CPUs; a ReplicaSet keeps three pods of 3 CPUs."""
    cluster = create_cluster("lab", user="alice", nodes=2, tie_break="first-name")
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "x", "resources": ROOM}]},
    }
    body = {
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    store.create(cluster, kinds.by_name("ReplicaSet"), body, actor=ACTOR, namespace="default")
    Engines().run(cluster.pk)
    assert sorted(Pod.objects.values_list("node_name", flat=True)) != [""] * 3
    cluster.refresh_from_db()
    return cluster


@pytest.fixture
def loop(lab: Cluster) -> Iterator[None]:
    """A worker that runs the cluster in the background."""
    stopped = threading.Event()

    def work() -> None:
        engines = Engines()
        while not stopped.is_set():
            engines.run(lab.pk)
            stopped.wait(0.05)
        engines.close()
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stopped.set()
    thread.join()


def crowded(lab: Cluster) -> str:
    """The node with two of the three pods."""
    names = list(Pod.objects.filter(cluster=lab).values_list("node_name", flat=True))
    return max(names, key=names.count)


def drain(lab: Cluster, node: str, **arguments: Any) -> Operation:
    asked = {"node": node, "force": False, "timeout": 20, **arguments}
    operation = service.start("drain", "Drain", actor=ACTOR, cluster=lab, arguments=asked)
    running.run(operation.pk)
    return service.get_operation(operation.pk)


def budget(lab: Cluster, least: int) -> None:
    body = {
        "metadata": {"name": "web"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}},
    }
    kind = kinds.by_name("PodDisruptionBudget")
    store.create(lab, kind, body, actor=ACTOR, namespace="default")
    Engines().run(lab.pk)


def test_the_preview_shows_where_each_pod_would_go_and_writes_nothing(lab: Cluster) -> None:
    node = crowded(lab)
    version = Cluster.objects.get(pk=lab.pk).resource_version
    moving = drains.plan_drain(lab, node).moving
    found = drains.preview_landings(lab, node, moving)
    # 8 CPUs: one pod is there already, one more fits
    assert [bool(landing.node) for landing in found] == [True, False]
    assert found[0].node != node
    assert "Insufficient cpu" in found[1].message and "unschedulable" in found[1].message
    assert Cluster.objects.get(pk=lab.pk).resource_version == version


def test_a_preview_leaves_the_state_unchanged(lab: Cluster) -> None:
    node = crowded(lab)
    moving = drains.plan_drain(lab, node).moving
    with states.now(lab) as state:
        before = occupied(state)
    found = drains.preview_landings(lab, node, moving)
    with states.now(lab) as state:
        state.scheduler.cache.validate()
        assert occupied(state) == before
    assert drains.preview_landings(lab, node, moving) == found


def occupied(state: PastState) -> dict[str, Any]:
    """For each node: whether it is cordoned, its pods, and what they request."""
    nodes = state.scheduler.cache.nodes.values()
    return {
        each.name: (
            each.node and each.node.spec.unschedulable,
            set(each.pods),
            dict(each.requested),
        )
        for each in nodes
    }


def test_a_drained_node_is_cordoned_and_empty(lab: Cluster, loop: None) -> None:
    node = crowded(lab)
    remove_grace_periods(lab)
    done = drain(lab, node)
    assert (done.state, done.cause) == ("succeeded", "")
    assert done.message == f"2 pods have left {node}; it stays cordoned"
    assert Node.objects.get(cluster=lab, name=node).unschedulable
    assert not Pod.objects.filter(cluster=lab, node_name=node).exists()


def test_a_budget_that_allows_nothing_ends_the_drain_with_its_name(lab: Cluster) -> None:
    budget(lab, 3)
    node = crowded(lab)
    plan = drains.plan_drain(lab, node)
    assert all(pod.blocked and pod.budgets == ["web: allowed disruptions 0"] for pod in plan.moving)
    started = time.monotonic()
    done = drain(lab, node, timeout=1)
    assert time.monotonic() - started < 15
    assert done.state == "failed"
    assert "timed out with 2 pods remaining" in done.cause
    assert "The disruption budget web needs 3 healthy pods" in done.cause
    assert Pod.objects.filter(cluster=lab, node_name=node).count() == 2


def test_a_plan_reads_the_budgets_once(
    lab: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    budget(lab, 3)
    node = crowded(lab)
    # that of the budgets is streamed, and streamed queries are not counted
    with django_assert_num_queries(1):
        plan = drains.plan_drain(lab, node)
    assert len(plan.moving) == 2


def test_pods_without_a_controller_are_evicted_only_with_force(lab: Cluster) -> None:
    container = {"name": "main", "image": "x"}
    alone = {
        "metadata": {"name": "alone"},
        "spec": {"nodeName": crowded(lab), "containers": [container]},
    }
    store.create(lab, kinds.POD, alone, actor=ACTOR, namespace="default")
    done = drain(lab, crowded(lab))
    assert done.state == "failed" and "no controller recreates 1 pod of " in done.cause


def remove_grace_periods(lab: Cluster) -> None:
    """Let pods terminate at once."""
    for pod in Pod.objects.filter(cluster=lab):
        grace = {"terminationGracePeriodSeconds": 0}
        body = {**pod.body, "spec": {**pod.body["spec"], **grace}}
        Pod.objects.filter(pk=pod.pk).update(body=body)


def test_a_plan_uses_up_the_budgets_pod_by_pod(lab: Cluster) -> None:
    """One disruption is allowed: the first pod may go, the second is blocked."""
    budget(lab, least=2)
    plan = drains.plan_drain(lab, crowded(lab))
    assert [pod.blocked for pod in plan.moving] == [False, True]
    assert [pod.budgets for pod in plan.moving] == [
        ["web: allowed disruptions 1"],
        ["web: allowed disruptions 0"],
    ]
