"""A cluster with a life: pods are bound, moved and deleted, nodes are added and cordoned."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop.engines import Engines
from tests.engine.driving import ACTOR, Body, create_pods, pod


@dataclass(frozen=True)
class Past:
    """A cluster, and its versions before and after its pods were moved."""

    cluster: Cluster
    before: int
    after: int


def cordoned(body: Body) -> Body:
    return {**body, "spec": {**body["spec"], "unschedulable": True}}


def run(cluster: Cluster) -> int:
    """Let the loop finish; the version at its end."""
    Engines().run(cluster.pk)
    cluster.refresh_from_db()
    return cluster.resource_version


@pytest.fixture
def past() -> Past:
    cluster = create_cluster("lab", user="alice", nodes=3, zones=3, tie_break="first-name")
    create_pods(
        cluster,
        pod("stays", cpu="1", nodeName="node-1"),
        pod("moves", cpu="1", nodeName="node-0"),
        pod("leaves", cpu="1"),
        pod("waits", cpu="9"),
    )
    before = run(cluster)
    store.patch(cluster, kinds.NODE, "", "node-0", cordoned, actor=ACTOR)
    for name in ("moves", "leaves"):
        store.delete(
            cluster,
            kinds.POD,
            "default",
            name,
            actor=ACTOR,
            options={"gracePeriodSeconds": 0},
        )
    node = generate_node("large", "zone-1")
    node["status"]["allocatable"]["cpu"] = "16"
    store.create(cluster, kinds.NODE, node, actor=ACTOR)
    create_pods(cluster, pod("moves", cpu="1"), pod("comes", cpu="64"))
    return Past(cluster, before, run(cluster))
