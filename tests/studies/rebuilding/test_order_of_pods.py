"""Pods of equal importance are spared in the order in which they arrived on their node."""

from __future__ import annotations

from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.studies import rebuilding
from tests.engine.driving import ACTOR, create_pods, enable, node_of, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster(settings: Any) -> Cluster:
    """One node of 4 CPUs without a kubelet: no pod there ever starts."""
    settings.SCHEDWEB_PLUGINS = ("tests.engine.profiles.outside_plugins:Gatekeeper",)
    cluster = create_cluster("lab", user="tests", tie_break="first-name", kubelet=False)
    enable(cluster, "Gatekeeper")
    node = {
        "metadata": {"name": "only"},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    important = {"metadata": {"name": "high"}, "value": 9}
    writes = [Create(kinds.NODE, node), Create(kinds.by_name("PriorityClass"), important)]
    store.write(cluster, writes, actor=ACTOR)
    return cluster


def recompute_preemption(cluster: Cluster) -> list[str]:
    """The differences between the recorded preemption by the pod "vip" and the recomputed one."""
    row = SchedulingDecision.objects.filter(cluster=cluster, name="vip").order_by("id")[0]
    recorded = read(row).decision
    assert recorded.post_filter is not None
    assert len(recorded.post_filter.candidates) == 1
    return rebuilding.compare(recorded, rebuilding.recompute(row))


@pytest.mark.parametrize("names", [("held", "bound"), ("bound", "held")])
def test_a_pod_that_waits_for_permit_has_its_place_among_bound_pods(
    cluster: Cluster, names: tuple[str, str]
) -> None:
    engines = Engines()
    for name in names:
        create_pods(cluster, pod(name, cpu="2"))
        engines.run(cluster.pk)
    assert (node_of(cluster, "held"), node_of(cluster, "bound")) == ("", "only")
    create_pods(cluster, pod("vip", cpu="2", priorityClassName="high"))
    engines.run(cluster.pk)
    engines.close()
    assert recompute_preemption(cluster) == []
