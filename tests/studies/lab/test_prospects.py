"""Pending pods are told apart: never, needs capacity, waits its turn."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster, Pod
from apps.studies.explanations.prospects import Prospect, find_prospects, list_prospects
from tests.engine.driving import create_pods, pod

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
        "It needs 4 cpu, which none of the 3 nodes has free."
    )
    assert found["small"].sentence == "It fits on 3 nodes now."
    assert "node selector" in found["elsewhere"].sentence


def test_without_nodes_a_pod_needs_capacity() -> None:
    cluster = create_cluster("none", user="alice")
    create_pods(cluster, pod("first"))
    cluster.refresh_from_db()
    (found,) = list_prospects(cluster).pods
    assert found.prospect is Prospect.NEEDS_CAPACITY
    assert found.sentence == "The cluster has no nodes."


def test_the_expected_wait_follows_from_pods_that_waited_as_long(
    cluster: Cluster, schedule: Callable[..., None], client: Client, admin_user: Any
) -> None:
    """Twelve pods of priority 0 waited for 100 s to 1,200 s; this one has waited for 230 s."""
    schedule(*(pod(f"web-{number}", cpu="100m") for number in range(12)))
    schedule(pod("urgent", cpu="100m", priorityClassName="system-node-critical"))
    for number in range(12):
        web = Pod.objects.get(name=f"web-{number}")
        web.created_at -= timedelta(seconds=100 * (number + 1))
        web.save(update_fields=["created_at"])
    create_pods(cluster, pod("large", cpu="7900m"), pod("huge", cpu="64"))
    create_pods(cluster, pod("rare", cpu="7900m", priorityClassName="system-node-critical"))
    cluster.manual_time = cluster.now() + timedelta(seconds=230)
    cluster.save(update_fields=["manual_time"])
    client.force_login(admin_user)
    answer = client.get("/api/v1/clusters/lab/prospects").json()
    found = {each["name"]: each for each in answer["pods"]}
    wait = found["large"]["wait"]
    # those of 300 s and more
    assert wait["pods"] == 10 and 230 <= wait["waited"] < 290
    assert wait["median"] == pytest.approx(525, abs=60)
    assert wait["low"] == pytest.approx(145, abs=60) and wait["high"] == pytest.approx(905, abs=60)
    assert f"from {wait['pods']} pods of the same priority" in wait["sentence"]
    # one never runs, and only one pod has the priority of the other
    assert found["huge"]["wait"] is None and found["rare"]["wait"] is None
    page = client.get("/clusters/lab/pods/default/large/waiting").content.decode()
    assert "Expected to wait " in page and "from 10 pods of the same priority" in page
