"""Causal chains: from who failed a node to the decision about the replacement, and back."""

from __future__ import annotations

from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations import running, service
from apps.cluster import kinds
from apps.cluster.models import Cluster, HistoricChange, Pod
from apps.cluster.writes import Actor, Update
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.studies.history.causes import read_chain, read_consequences
from tests.engine.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

ALICE = Actor("alice", "request-7")
NOT_READY = "node.kubernetes.io/not-ready"


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    cluster = create_cluster("lab", user="alice", nodes=2, tie_break="first-name")
    clock.set_manual(cluster)
    return cluster


def create_workload(cluster: Cluster, replicas: int) -> None:
    """ReplicaSet `web`, whose pods tolerate a failed node for 30 s."""
    toleration = {
        "key": NOT_READY,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 30,
    }
    template = pod("unused", cpu="1", tolerations=[toleration])
    body = {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": template["spec"]},
        },
    }
    store.create(cluster, kinds.by_name("ReplicaSet"), body, actor=ALICE, namespace="default")
    Engines().run(cluster.pk)


def set_ready(cluster: Cluster, name: str, status: str) -> HistoricChange:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        conditions = [{"type": "Ready", "status": status}]
        return {**body, "status": {**body["status"], "conditions": conditions}}

    store.write(cluster, [Update(kinds.NODE, "", name, change, "status")], actor=ALICE)
    return HistoricChange.objects.filter(cluster=cluster, name=name).latest("version")


def pass_time(cluster: Cluster, seconds: float) -> None:
    for _ in range(2):
        Engines().run(cluster.pk)
        clock.advance(cluster, seconds)
    Engines().run(cluster.pk)


def texts(cluster: Cluster, uid: Any) -> list[str]:
    return [f"{step.user}: {step.text}" for step in read_chain(cluster, uid)]


def test_a_failed_node_leads_to_the_decision_about_the_replacement(cluster: Cluster) -> None:
    create_workload(cluster, 1)
    old = Pod.objects.get(cluster=cluster)
    failure = set_ready(cluster, old.node_name, "False")
    pass_time(cluster, 40)
    assert not Pod.objects.filter(uid=old.uid).exists(), "it is deleted"
    new = Pod.objects.get(cluster=cluster)
    chain = texts(cluster, new.uid)
    assert chain == [
        "alice: ReplicaSet default/web was created",
        f"replicaset-controller: pod default/{old.name} was created",
        f": pod default/{old.name} was scheduled to node-0 in attempt 1",
        "alice: node node-0 failed",
        f"node-controller: node node-0 was tainted {NOT_READY}:NoExecute",
        f"taint-eviction-controller: pod default/{old.name} was evicted by a taint of its node",
        f"replicaset-controller: pod default/{new.name} was created, in place of default/"
        f"{old.name}",
        f": pod default/{new.name} was scheduled to node-1 in attempt 1",
    ]
    assert texts(cluster, old.uid) == chain, "the same from the deleted pod"
    steps = read_chain(cluster, new.uid)
    assert steps[3].version == failure.version and steps[7].decision
    assert steps[4].evidence == "the pod tolerated it for 30 s"
    assert [each.at for each in steps] == sorted(each.at for each in steps)

    # the other direction: from the change to the pods that it ended
    for version in (failure.version, steps[4].version):
        change = HistoricChange.objects.get(cluster=cluster, version=version)
        (ended,) = read_consequences(cluster, change).pods
        assert (ended.pod.uid, ended.node, ended.decision) == (old.uid, "node-1", steps[7].decision)
        assert ended.replacement is not None and ended.replacement.uid == new.uid
    recovery = set_ready(cluster, "node-0", "True")
    assert read_consequences(cluster, recovery).pods == []


def test_a_drain_a_preemption_and_more_replicas_are_causes(cluster: Cluster) -> None:
    create_workload(cluster, 1)
    old = Pod.objects.get(cluster=cluster)
    drain = service.start(
        "drain",
        "Drain node-0",
        cluster=cluster,
        arguments={"node": "node-0", "force": True, "timeout": 0},
        actor=ALICE,
    )
    running.run(drain.pk)
    pass_time(cluster, 40)
    (drained,) = [step for step in read_chain(cluster, old.uid) if step.operation]
    assert drained.operation == drain.pk and drained.text == "operation: Drain node-0"
    cordon = HistoricChange.objects.filter(name="node-0", user="alice").latest("version")
    assert [each.pod.name for each in read_consequences(cluster, cordon).pods] == [old.name]

    def scale(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "spec": {**body["spec"], "replicas": 2}}

    kind = kinds.by_name("ReplicaSet")
    store.write(cluster, [Update(kind, "default", "web", scale)], actor=ALICE)
    Engines().run(cluster.pk)
    newest = Pod.objects.filter(cluster=cluster).latest("pk")
    assert texts(cluster, newest.uid)[0] == "alice: ReplicaSet default/web was scaled from 1 to 2"

    high = {"metadata": {"name": "high"}, "value": 1000}
    store.create(cluster, kinds.by_name("PriorityClass"), high, actor=ALICE)
    create_pods(cluster, pod("vip", cpu="7", priorityClassName="high"))
    pass_time(cluster, 40)
    victims = [
        step
        for each in HistoricChange.objects.filter(kind="Pod", type="DELETED")
        for step in read_chain(cluster, each.uid)
        if "preempted pods on" in step.text
    ]
    assert victims and all("pod default/vip found no node" in step.text for step in victims)


def test_a_pod_that_was_one_too_many_has_no_replacement(cluster: Cluster) -> None:
    create_workload(cluster, 2)
    for replicas in (1, 2):

        def scale(body: dict[str, Any], replicas: int = replicas) -> dict[str, Any]:
            return {**body, "spec": {**body["spec"], "replicas": replicas}}

        kind = kinds.by_name("ReplicaSet")
        store.write(cluster, [Update(kind, "default", "web", scale)], actor=ALICE)
        pass_time(cluster, 40)
    gone = HistoricChange.objects.get(cluster=cluster, kind="Pod", type="DELETED")
    assert texts(cluster, gone.uid)[-2:] == [
        "alice: ReplicaSet default/web was scaled from 2 to 1",
        f"replicaset-controller: pod default/{gone.name} was deleted",
    ]
    newest = Pod.objects.filter(cluster=cluster).latest("pk")
    assert texts(cluster, newest.uid)[0] == "alice: ReplicaSet default/web was scaled from 1 to 2"


def test_a_pod_of_its_own_and_an_unknown_one(cluster: Cluster) -> None:
    create_pods(cluster, pod("lone"))
    Engines().run(cluster.pk)
    lone = Pod.objects.get(cluster=cluster)
    store.delete(cluster, kinds.POD, "default", "lone", actor=ALICE)
    assert texts(cluster, lone.uid) == [
        "tests: pod default/lone was created",
        ": pod default/lone was scheduled to node-0 in attempt 1",
        "alice: pod default/lone was deleted",
    ]
    assert read_chain(cluster, cluster.uid) == []
