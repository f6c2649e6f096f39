"""Pending pods are told apart: never, needs capacity, waits its turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apps.cluster.models import Cluster, Pod
from apps.controlplane.lab.prospects import Prospect, find_prospects
from tests.controlplane.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

NEAR = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "labelSelector": {"matchLabels": {"app": "db"}},
                "topologyKey": "kubernetes.io/hostname",
            }
        ]
    }
}


def test_each_pending_pod_has_the_class_that_a_simulation_proves(
    cluster: Cluster, schedule: Callable[..., None]
) -> None:
    database = pod("db", cpu="6", nodeName="node-0")
    database["metadata"]["labels"] = {"app": "db"}
    schedule(database, pod("full-1", cpu="6"), pod("full-2", cpu="6"))
    create_pods(
        cluster,
        pod("huge", cpu="64"),
        pod("large", cpu="4"),
        pod("small", cpu="1"),
        pod("elsewhere", nodeSelector={"disk": "ssd"}),
        pod("near", cpu="4", affinity=NEAR),
        pod("held", schedulingGates=[{"name": "example.com/quota"}]),
        pod("foreign", schedulerName="another"),
    )
    cluster.refresh_from_db()
    uids = [str(uid) for uid in Pod.objects.values_list("uid", flat=True)]
    found = {each.name: each for each in find_prospects(cluster, uids).values()}
    assert {name: each.prospect for name, each in found.items()} == {
        "huge": Prospect.NEVER,
        "large": Prospect.NEEDS_CAPACITY,
        "small": Prospect.WAITS_ITS_TURN,
        "elsewhere": Prospect.NEVER,
        "near": Prospect.NEEDS_CAPACITY,
        "held": Prospect.WAITS_ITS_TURN,
        "foreign": Prospect.NEVER,
    }
    assert found["huge"].sentence == (
        "It would not fit on an empty cluster. It needs 64 cpu; the largest node has 8."
    )
    assert found["large"].sentence == (
        "It would fit on 3 of 3 nodes without pods. "
        "It needs 4 cpu, which all 3 nodes do not have free."
    )
    assert found["small"].sentence == "It fits on 3 nodes now."
    assert "node selector" in found["elsewhere"].sentence
