"""The utilization of nodes, as the pages compute it."""

from __future__ import annotations

from typing import Any

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.dashboard.queries.usage import NodeUse, nodes_in_use
from tests.dashboard.conftest import add_pods, pod


def pod_requesting(name: str, **requests: str) -> dict[str, Any]:
    """A pod on node-0 with exactly these requests."""
    body = pod(name, nodeName="node-0")
    body["spec"]["containers"][0]["resources"] = {"requests": requests}
    return body


def only_node(cluster: Cluster, resource: str = "cpu") -> NodeUse:
    (node,) = nodes_in_use(cluster, resource=resource)
    return node


def test_pods_without_requests_use_nothing_of_a_node(db: None) -> None:
    cluster = create_cluster("lab", user="alice", nodes=1)
    add_pods(cluster, pod_requesting("idle"))
    node = only_node(cluster, resource="example.com/gpu")
    assert (node.cpu.requested, node.memory.requested, node.other.requested) == (0, 0, 0)
    assert node.pods.requested == 1
    add_pods(cluster, pod_requesting("busy", cpu="500m"))
    assert (only_node(cluster).cpu.requested, only_node(cluster).memory.requested) == (500, 0)


def test_sums_of_requests_are_limited_to_64_bits(db: None) -> None:
    cluster = create_cluster("lab", user="alice", nodes=1)
    add_pods(cluster, *(pod_requesting(f"vast-{number}", memory="7Ei") for number in range(2)))
    assert only_node(cluster).memory.requested == 2**63 - 1
