"""The dominant reason why a pod is pending, in plain words with figures."""

from __future__ import annotations

from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.studies.explanations.reasons import find_dominant_reason
from tests.engine.driving import ACTOR, create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    """Two nodes with 8 CPUs, one of which is tainted, and one with 2."""
    cluster = create_cluster("lab", user="tests")
    for name, cpu, taint in (("a", "8", ""), ("b", "8", "gpu"), ("small", "2", "")):
        body = generate_node(name, "zone-1", cpu=cpu)
        if taint:
            body["spec"] = {"taints": [{"key": taint, "effect": "NoSchedule"}]}
        store.create(cluster, kinds.NODE, body, actor=ACTOR)
    return cluster


@pytest.mark.parametrize(
    ("cpu", "spec", "expected"),
    [
        (
            "64",
            {},
            "It needs 64 cpu; the largest node has 8. 1 node has taints that it does not tolerate.",
        ),
        (
            "1",
            {"nodeSelector": {"disk": "ssd"}},
            "2 of 3 nodes do not match its node selector or required node affinity. "
            "1 node has taints that it does not tolerate.",
        ),
        (
            "1",
            {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}]},
            "None of the 3 nodes matches its node selector or required node affinity.",
        ),
        (
            "4",
            {
                "nodeSelector": {"kubernetes.io/hostname": "small"},
                "tolerations": [{"operator": "Exists"}],
            },
            "2 of 3 nodes do not match its node selector or required node affinity. "
            "1 node lacks cpu.",
        ),
    ],
)
def test_the_reason_that_rejected_most_nodes_comes_first(
    cluster: Cluster, cpu: str, spec: dict[str, Any], expected: str
) -> None:
    create_pods(cluster, pod("p", cpu=cpu, **spec))
    Engines().run(cluster.pk)
    found = Pod.objects.get(cluster=cluster, name="p")
    row = SchedulingDecision.objects.get(cluster=cluster, pod_uid=found.uid)
    assert find_dominant_reason(cluster, found, row) == expected


def test_a_request_that_fits_no_more_is_told_apart_from_one_that_never_fits(
    cluster: Cluster,
) -> None:
    create_pods(cluster, pod("first", cpu="7"), pod("second", cpu="7"))
    Engines().run(cluster.pk)
    found = Pod.objects.get(cluster=cluster, name="second")
    row = SchedulingDecision.objects.get(cluster=cluster, pod_uid=found.uid)
    assert find_dominant_reason(cluster, found, row) == (
        "It needs 7 cpu, which 2 of 3 nodes do not have free. "
        "1 node has taints that it does not tolerate."
    )
