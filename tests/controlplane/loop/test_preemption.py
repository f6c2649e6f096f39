"""Preemption by a pod with higher priority, as seen in the objects."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster import kinds, queries
from apps.cluster.models import Change, Cluster, Event, Pod
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.controlplane.clusters.lifecycle import create_cluster
from apps.controlplane.ledger.reading import read
from apps.controlplane.loop.engines import Engines
from apps.controlplane.models import SchedulingDecision
from apps.scheduler.preemption.ranking import Criterion

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = Actor("tests", "request-9")
CLASSES = {"low": 1, "middle": 5, "high": 9}


@pytest.fixture
def cluster() -> Cluster:
    """One node with 4 CPUs, and priority classes."""
    cluster = create_cluster("lab", user="tests", tie_break="first-name")
    node = {
        "metadata": {"name": "only"},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    classes = [
        Create(kinds.by_name("PriorityClass"), {"metadata": {"name": name}, "value": value})
        for name, value in CLASSES.items()
    ]
    store.write(cluster, [Create(kinds.NODE, node), *classes], actor=ACTOR)
    return cluster


def create(cluster: Cluster, name: str, priority: str, cpu: str = "4", **spec: Any) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    body = {
        "metadata": {"name": name},
        "spec": {
            "containers": [container],
            "priorityClassName": priority,
            "terminationGracePeriodSeconds": 0,
            **spec,
        },
    }
    store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")


def nodes_of(cluster: Cluster) -> dict[str, str]:
    return dict(Pod.objects.filter(cluster=cluster).values_list("name", "node_name"))


def nominated(cluster: Cluster, name: str) -> str:
    body = queries.get(cluster, kinds.POD, "default", name)
    node: str = body["status"].get("nominatedNodeName", "")
    return node


def test_victims_are_deleted_and_the_preemptor_gets_their_node(cluster: Cluster) -> None:
    engines = Engines()
    create(cluster, "small", "low", cpu="1")
    create(cluster, "large", "low", cpu="3")
    engines.run(cluster.pk)
    create(cluster, "vip", "high", cpu="2")
    engines.run(cluster.pk)
    assert nodes_of(cluster) == {"small": "only", "vip": "only"}
    assert nominated(cluster, "vip") == ""
    changes = Change.objects.filter(cluster=cluster, kind="Pod", name="large")
    *_, terminating, deleted = changes.order_by("version")
    assert (deleted.type, terminating.type) == (Change.Type.DELETED, Change.Type.MODIFIED)
    (condition,) = [
        each
        for each in terminating.object["status"]["conditions"]
        if each["type"] == "DisruptionTarget"
    ]
    assert condition["reason"] == "PreemptionByScheduler"
    assert condition["message"] == (
        "default-scheduler: preempting to accommodate a higher priority pod"
    )


def test_a_victim_with_a_grace_period_is_deleted_once(cluster: Cluster) -> None:
    engines = Engines()
    create(cluster, "slow", "low", terminationGracePeriodSeconds=30)
    engines.run(cluster.pk)
    for name in ("vip", "other"):
        create(cluster, name, "high", cpu="2")
        engines.run(cluster.pk)
        assert nominated(cluster, name) == "only"
    assert nodes_of(cluster) == {"slow": "only", "vip": "", "other": ""}
    victim = queries.get(cluster, kinds.POD, "default", "slow")
    assert victim["metadata"]["deletionGracePeriodSeconds"] == 30
    event = Event.objects.get(cluster=cluster, reason="Preempted")
    preemptor = Pod.objects.get(cluster=cluster, name="vip")
    assert event.body["message"] == f"Preempted by pod {preemptor.uid} on node only"


def test_a_pod_with_lower_priority_loses_its_nomination(cluster: Cluster) -> None:
    engines = Engines()
    create(cluster, "slow", "low", cpu="2", terminationGracePeriodSeconds=30)
    create(cluster, "slower", "low", cpu="2", terminationGracePeriodSeconds=30)
    engines.run(cluster.pk)
    create(cluster, "middle", "middle", cpu="2")
    engines.run(cluster.pk)
    assert nominated(cluster, "middle") == "only"
    create(cluster, "vip", "high")
    engines.run(cluster.pk)
    assert (nominated(cluster, "vip"), nominated(cluster, "middle")) == ("only", "")


def test_the_ledger_records_the_candidates_of_preemption(cluster: Cluster) -> None:
    engines = Engines()
    create(cluster, "small", "low", cpu="1")
    create(cluster, "large", "low", cpu="3")
    engines.run(cluster.pk)
    create(cluster, "vip", "high", cpu="2")
    engines.run(cluster.pk)
    row = SchedulingDecision.objects.get(cluster=cluster, name="vip", attempt=1)
    assert row.nominated_node == "only"
    decision = read(row).decision
    assert decision.plugin_durations["PostFilter"]["DefaultPreemption"] > 0
    result = decision.post_filter
    assert result is not None
    (candidate,) = result.candidates
    assert (candidate.node, candidate.victims) == ("only", ("default/large",))
    assert candidate.figures[:2] == (0, CLASSES["low"])
    assert result.decided_by == Criterion.ONLY_CANDIDATE
