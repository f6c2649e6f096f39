"""Pods that have a node but are not bound at once: held by Permit, or slow to prepare."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Change, Cluster, Event
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.loop.engine import Engine
from apps.engine.loop.engines import Engines
from apps.engine.models import QueueEntry
from apps.scheduler.framework.waiting_pods import WaitingPod
from tests.engine.driving import (
    ACTOR,
    create_pods,
    decisions_on,
    enable,
    node_of,
    pod,
    run_until,
    status_of,
)
from tests.engine.profiles.outside_plugins import Preparer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def plugins(settings: Any) -> None:
    settings.SCHEDWEB_PLUGINS = (
        "tests.engine.profiles.outside_plugins:Gatekeeper",
        "tests.engine.profiles.outside_plugins:Preparer",
    )


@pytest.fixture
def cluster() -> Cluster:
    """A cluster of one node with a manual clock and both plugins."""
    cluster = create_cluster("lab", user="tests", nodes=1, tie_break="first-name")
    Cluster.objects.filter(pk=cluster.pk).update(controllers=False, kubelet=False)
    enable(cluster, "Gatekeeper", "Preparer")
    clock.set_manual(cluster)
    return cluster


@pytest.fixture
def engines() -> Iterator[Engines]:
    Preparer.go.clear()
    engines = Engines()
    yield engines
    Preparer.go.set()
    engines.close()


def held(engines: Engines, cluster: Cluster) -> WaitingPod:
    (waiting,) = warm(engines, cluster).scheduler.waiting_pods
    return waiting


def warm(engines: Engines, cluster: Cluster) -> Engine:
    return engines._warm[cluster.pk]


def test_a_held_pod_keeps_its_place_while_others_are_bound(
    cluster: Cluster, engines: Engines
) -> None:
    create_pods(cluster, pod("held", cpu="7"))
    assert engines.run(cluster.pk) is False
    create_pods(cluster, pod("small", cpu="500m"), pod("big", cpu="4"))
    run_until(engines, cluster, lambda: node_of(cluster, "small"))
    assert (node_of(cluster, "held"), node_of(cluster, "small")) == ("", "node-0")
    assert status_of(cluster, "held")["nominatedNodeName"] == "node-0"
    (refused,) = decisions_on(cluster, "big")
    assert "1 Insufficient cpu" in refused.message
    assert decisions_on(cluster, "held") == []
    assert Event.objects.get(cluster=cluster, reason="Held").body["message"] == (
        "held on its way to node-0"
    )
    cluster.refresh_from_db()
    assert cluster.due_at is None
    assert cluster.timer_at is not None and cluster.manual_time is not None
    assert (cluster.timer_at - cluster.manual_time).total_seconds() == 60


def test_an_allowed_pod_is_bound_and_its_wait_is_recorded(
    cluster: Cluster, engines: Engines
) -> None:
    create_pods(cluster, pod("held"))
    engines.run(cluster.pk)
    clock.advance(cluster, 5)
    held(engines, cluster).allow("Gatekeeper")
    engines.run(cluster.pk)
    assert node_of(cluster, "held") == "node-0"
    assert "nominatedNodeName" not in status_of(cluster, "held")
    (decision,) = decisions_on(cluster, "held")
    assert (decision.result, decision.attempt) == ("scheduled", 1)
    wait = decision.permit_wait
    assert wait is not None and wait.outcome is not None
    assert (dict(wait.timeouts), wait.seconds) == ({"Gatekeeper": 60.0}, 5.0)
    assert wait.outcome.is_success
    cluster.refresh_from_db()
    # only the expiry of events is pending
    assert cluster.timer_at > cluster.now() + timedelta(minutes=59)
    assert not QueueEntry.objects.filter(cluster=cluster).exists()


def test_a_pod_is_rejected_after_its_timeout(cluster: Cluster, engines: Engines) -> None:
    create_pods(cluster, pod("held"))
    engines.run(cluster.pk)
    clock.advance(cluster, 60)
    engines.run(cluster.pk)
    (decision,) = decisions_on(cluster, "held")
    timeout = "rejected due to timeout after waiting 1m0s at plugin Gatekeeper"
    assert decision.message == f"0/1 nodes are available: 1 {timeout}."
    assert decision.permit_wait is not None and decision.permit_wait.seconds == 60
    assert "nominatedNodeName" not in status_of(cluster, "held")
    entry = QueueEntry.objects.get(cluster=cluster)
    assert (entry.queue, entry.unschedulable_plugins) == ("unschedulable", ["Gatekeeper"])


def test_a_held_pod_survives_the_loss_of_its_process(cluster: Cluster, engines: Engines) -> None:
    create_pods(cluster, pod("held"), pod("other"))
    engines.run(cluster.pk)
    successor = Engines()
    store.create(cluster, kinds.NODE, {"metadata": {"name": "a-new-one"}}, actor=ACTOR)
    successor.run(cluster.pk)
    waiting = held(successor, cluster)
    assert waiting.node_name == "node-0", "it is tried first where it was expected"
    waiting.allow("Gatekeeper")
    successor.run(cluster.pk)
    assert node_of(cluster, "held") == "node-0"
    assert [decision.attempt for decision in decisions_on(cluster, "held")] == [1]


def test_a_deleted_held_pod_is_released(cluster: Cluster, engines: Engines) -> None:
    create_pods(cluster, pod("held", cpu="7"))
    engines.run(cluster.pk)
    create_pods(cluster, pod("big", cpu="4"))
    engines.run(cluster.pk)
    assert node_of(cluster, "big") == ""
    store.delete(
        cluster, kinds.POD, "default", "held", actor=ACTOR, options={"gracePeriodSeconds": 0}
    )
    run_until(engines, cluster, lambda: node_of(cluster, "big"))
    assert not len(warm(engines, cluster).scheduler.waiting_pods)
    warm(engines, cluster).scheduler.validate()


def test_a_step_that_takes_no_time_costs_no_write(cluster: Cluster, engines: Engines) -> None:
    create_pods(cluster, *(pod(f"p{number}") for number in range(20)))
    run_until(engines, cluster, lambda: all(node_of(cluster, f"p{n}") for n in range(20)))
    assert Change.objects.filter(cluster=cluster, kind="Pod", type="MODIFIED").count() == 20


def test_a_slow_binding_delays_no_other_pod(cluster: Cluster, engines: Engines) -> None:
    create_pods(cluster, pod("slow"))
    engines.run(cluster.pk)
    create_pods(cluster, pod("quick"))
    run_until(engines, cluster, lambda: node_of(cluster, "quick"))
    assert node_of(cluster, "slow") == ""
    assert status_of(cluster, "slow")["nominatedNodeName"] == "node-0"
    cluster.refresh_from_db()
    assert cluster.due_at is not None, "somebody looks after the pod should this process be lost"
    Preparer.go.set()
    run_until(engines, cluster, lambda: node_of(cluster, "slow"))
    (decision,) = decisions_on(cluster, "slow")
    assert decision.durations["PreBind"] > 0
    warm(engines, cluster).scheduler.validate()
