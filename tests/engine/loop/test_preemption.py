"""Preemption by a pod with higher priority, as seen in the objects."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.models import Change, Cluster, Event, Pod
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import QueueEntry, SchedulingDecision
from apps.engine.profiles import revisions
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


GROUP_GATES = """
featureGates: {GenericWorkload: true, GangScheduling: true, WorkloadAwarePreemption: true}
"""


def attempts(cluster: Cluster, *names: str) -> int:
    return SchedulingDecision.objects.filter(cluster=cluster, name__in=names).count()


def waiting_in(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Pod -> the part of the queue and the plugin that gates it."""
    entries = QueueEntry.objects.filter(cluster=cluster)
    return {each.name: (each.queue, each.state["gating_plugin"]) for each in entries}


@pytest.mark.parametrize("grouped", [False, True])
def test_preemptors_wait_for_their_victims_in_a_new_process_too(
    cluster: Cluster, grouped: bool
) -> None:
    """A worker that ends does not let a pod, or a gang, try before its room is free."""
    names = ("m0", "m1")[: 1 + grouped]
    cpu = str(4 // len(names))
    member: dict[str, Any] = {}
    if grouped:
        revisions.add_revision(cluster, revisions.BUILT_IN + GROUP_GATES, user="tests")
        policy = {"schedulingPolicy": {"gang": {"minCount": 2}}, "priorityClassName": "high"}
        gang = {"metadata": {"name": "gang"}, "spec": policy}
        kind = kinds.by_name("PodGroup")
        store.create(cluster, kind, gang, actor=ACTOR, namespace="default")
        member["schedulingGroup"] = {"podGroupName": "gang"}
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=cluster.now())
    cluster.refresh_from_db()
    create(cluster, "slow", "low", terminationGracePeriodSeconds=30)
    Engines().run(cluster.pk)
    for name in names:
        create(cluster, name, "high", cpu=cpu, **member)
    Engines().run(cluster.pk)
    tried = attempts(cluster, *names)
    assert tried == len(names)
    waits = ("gated", "DefaultPreemption") if grouped else ("unschedulable", "")
    for _ in range(2):
        Engines().run(cluster.pk)
        assert attempts(cluster, *names) == tried
        assert waiting_in(cluster) == dict.fromkeys(names, waits)
    store.delete(
        cluster, kinds.POD, "default", "slow", actor=ACTOR, options={"gracePeriodSeconds": 0}
    )
    # members of a group complete their backoff
    backoff = cluster.now() + timedelta(seconds=2)
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=backoff)
    Engines().run(cluster.pk)
    assert nodes_of(cluster) == dict.fromkeys(names, "only")
