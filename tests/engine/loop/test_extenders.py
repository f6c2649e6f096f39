"""Extenders in a cluster's loop: their requests, the recorded calls, and slow extenders."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.models import LoopLease, QueueEntry
from apps.engine.workers import lease
from apps.scheduler.framework.extender_calls import ExtenderVerb
from tests.engine.driving import (
    ACTOR,
    configure,
    create_pods,
    decisions_on,
    node_of,
    pod,
    run_until,
    status_of,
)
from tests.scheduler.extenders.running import RunningExtender, running_extender

pytestmark = pytest.mark.django_db(transaction=True)
GPU = "example.com/gpu"


@pytest.fixture
def extender() -> Iterator[RunningExtender]:
    with running_extender() as running:
        yield running


@pytest.fixture
def cluster() -> Cluster:
    cluster = create_cluster("lab", user="tests", nodes=2, tie_break="first-name")
    Cluster.objects.filter(pk=cluster.pk).update(controllers=False, kubelet=False)
    return cluster


@pytest.fixture
def engines() -> Iterator[Engines]:
    engines = Engines()
    yield engines
    engines.close()


def use(cluster: Cluster, extender: RunningExtender, **entry: Any) -> None:
    configure(cluster, extenders=[{"urlPrefix": extender.url, **entry}])


def change_node(cluster: Cluster, part: str, fields: dict[str, Any], subresource: str = "") -> None:
    def change(node: dict[str, Any]) -> dict[str, Any]:
        return {**node, part: {**node[part], **fields}}

    store.patch(cluster, kinds.NODE, "", "node-0", change, actor=ACTOR, subresource=subresource)


def gpu_pod(name: str) -> dict[str, Any]:
    body = pod(name)
    container = body["spec"]["containers"][0]
    container["resources"] = {"requests": {GPU: "1"}, "limits": {GPU: "1"}}
    return body


def test_an_extender_receives_complete_objects(
    cluster: Cluster, engines: Engines, extender: RunningExtender
) -> None:
    extender.answers("filter", {"Nodes": {"items": [{"metadata": {"name": "node-1"}}]}})
    use(cluster, extender, filterVerb="filter")
    body = pod("p")
    body["spec"]["containers"][0]["env"] = [{"name": "UNUSED", "value": "by the scheduler"}]
    create_pods(cluster, body)
    change_node(cluster, "status", {"volumesInUse": ["v"]}, subresource="status")
    engines.run(cluster.pk)
    assert node_of(cluster, "p") == "node-1"
    args = extender.asked("filter")
    assert args["Pod"]["spec"]["containers"][0]["env"] == body["spec"]["containers"][0]["env"]
    assert args["Pod"]["metadata"]["uid"]
    assert args["Nodes"]["items"][0]["status"]["volumesInUse"] == ["v"]


def test_an_extender_receives_the_current_version_of_a_node(
    cluster: Cluster, engines: Engines, extender: RunningExtender
) -> None:
    items = [{"metadata": {"name": "node-0"}}]
    extender.answers("filter", {"Nodes": {"items": items}})
    use(cluster, extender, filterVerb="filter")
    create_pods(cluster, pod("before"))
    engines.run(cluster.pk)
    change_node(cluster, "metadata", {"labels": {"colour": "green"}})
    create_pods(cluster, pod("after"))
    engines.run(cluster.pk)
    before, after = (request["body"] for request in extender.requests("filter"))
    assert "colour" not in before["Nodes"]["items"][0]["metadata"].get("labels", {})
    assert after["Nodes"]["items"][0]["metadata"]["labels"] == {"colour": "green"}


def test_scores_refusals_and_calls_are_in_the_ledger(
    cluster: Cluster, engines: Engines, extender: RunningExtender
) -> None:
    extender.answers("filter", {"NodeNames": ["node-0", "node-1"]})
    extender.answers("rank", [{"Host": "node-1", "Score": 10}])
    use(
        cluster,
        extender,
        filterVerb="filter",
        prioritizeVerb="rank",
        weight=5,
        nodeCacheCapable=True,
    )
    create_pods(cluster, pod("p"))
    engines.run(cluster.pk)
    extender.answers("filter", {"NodeNames": [], "FailedNodes": {"node-0": "no licence"}})
    create_pods(cluster, pod("q"))
    engines.run(cluster.pk)
    (placed,) = decisions_on(cluster, "p")
    assert (placed.node, placed.scores_of("node-1")[extender.url]) == ("node-1", (10, 100, 500))
    assert [(call.verb, call.nodes_in, call.nodes_out) for call in placed.extender_calls] == [
        (ExtenderVerb.FILTER, 2, 2),
        (ExtenderVerb.PRIORITIZE, 2, 1),
    ]
    refused, *_ = decisions_on(cluster, "q")
    assert refused.message.startswith("0/2 nodes are available: 1 no licence.")
    why = refused.status_of("node-0")
    assert why is not None and (why.plugin, why.reasons) == (extender.url, ("no licence",))
    assert len(refused.feasible) == 0
    entry = QueueEntry.objects.get(cluster=cluster)
    assert entry.unschedulable_plugins == ["Extender"]


def test_an_extender_that_is_slow_to_bind_does_not_delay_other_pods(
    cluster: Cluster, engines: Engines, extender: RunningExtender
) -> None:
    extender.answers("bind", {}, held=True)
    use(cluster, extender, bindVerb="bind", managedResources=[gpu()])
    create_pods(cluster, gpu_pod("slow"), pod("quick"))
    run_until(engines, cluster, lambda: node_of(cluster, "quick"))
    assert node_of(cluster, "slow") == ""
    assert status_of(cluster, "slow")["nominatedNodeName"] == "node-0"
    assert decisions_on(cluster, "slow") == []
    extender.release("bind")
    run_until(engines, cluster, lambda: node_of(cluster, "slow"))
    (decision,) = decisions_on(cluster, "slow")
    (call,) = decision.extender_calls
    assert (call.verb, call.error) == (ExtenderVerb.BIND, "")


def test_a_binding_that_an_extender_writes_through_the_api_is_accepted(
    cluster: Cluster, engines: Engines, extender: RunningExtender
) -> None:
    extender.answers("bind", {}, held=True)
    use(cluster, extender, bindVerb="bind", managedResources=[gpu()])
    create_pods(cluster, gpu_pod("p"))
    run_until(engines, cluster, lambda: extender.requests("bind"))
    asked = extender.asked("bind")
    target = {"target": {"kind": "Node", "name": asked["Node"]}}
    store.bind(cluster, asked["PodNamespace"], asked["PodName"], target, actor=Actor("extender"))
    engines.run(cluster.pk)
    extender.release("bind")
    run_until(engines, cluster, lambda: decisions_on(cluster, "p"))
    (decision,) = decisions_on(cluster, "p")
    assert (decision.result, node_of(cluster, "p")) == ("scheduled", asked["Node"])
    assert not QueueEntry.objects.filter(cluster=cluster).exists()
    engines._warm[cluster.pk].scheduler.validate()


def test_a_failed_bind_is_retried(
    cluster: Cluster, engines: Engines, extender: RunningExtender
) -> None:
    extender.answers("bind", {"Error": "not now"})
    use(cluster, extender, bindVerb="bind", managedResources=[gpu()])
    create_pods(cluster, gpu_pod("p"))
    run_until(engines, cluster, lambda: decisions_on(cluster, "p"))
    extender.answers("bind", {})
    run_until(engines, cluster, lambda: node_of(cluster, "p"))
    first, *_, last = decisions_on(cluster, "p")
    assert (first.result, first.message, last.result) == ("error", "not now", "scheduled")


def test_the_lease_is_kept_while_an_extender_is_slow(
    cluster: Cluster, extender: RunningExtender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "KEEP_SECONDS", 0.05)
    held = lease.acquire(cluster.pk)
    assert held is not None
    rows = LoopLease.objects.filter(cluster=cluster)
    with lease.keep_renewed(held):
        lost = timezone.now()
        rows.update(expires_at=lost)
        while rows.get().expires_at == lost:
            assert timezone.now() < lost + timedelta(seconds=5)
        assert rows.get().expires_at > timezone.now()
    rows.update(expires_at="2000-01-01T00:00:00Z")
    assert lease.acquire(cluster.pk, "next") is not None


def gpu() -> dict[str, Any]:
    return {"name": GPU, "ignoredByScheduler": True}
