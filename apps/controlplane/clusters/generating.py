"""Objects of a new cluster: built-in namespaces and priority classes, generated nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.system_classes import SYSTEM_CLASSES

Body = dict[str, Any]

#: The services that every cluster has, in the namespace `default`.
API_SERVICE = ("kubernetes",)
BUILT_IN_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


MAX_GENERATED_NODES = 20_000


@dataclass(frozen=True, slots=True)
class NodeSize:
    """The capacity of a generated node, as quantities."""

    cpu: str = "8"
    memory: str = "32Gi"
    pods: str = "110"


def generate_node(
    name: str, zone: str, *, cpu: str = "8", memory: str = "32Gi", pods: str = "110"
) -> Body:
    """The body of a Ready node in a zone."""
    capacity = {"cpu": cpu, "memory": memory, "ephemeral-storage": "100Gi", "pods": pods}
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": zone,
            },
        },
        "status": {
            "allocatable": capacity,
            "capacity": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def generate_built_in_objects() -> Iterator[tuple[Kind, Body]]:
    """The namespaces and priority classes that every cluster has."""
    for name in BUILT_IN_NAMESPACES:
        yield kinds.NAMESPACE, {"metadata": {"name": name}}
    for name, (value, description) in SYSTEM_CLASSES.items():
        yield (
            kinds.PRIORITY_CLASS,
            {"metadata": {"name": name}, "value": value, "description": description},
        )


def generate_api_service() -> tuple[Kind, Body]:
    """The service of the API server, which every cluster has in the namespace `default`."""
    labels = {"component": "apiserver", "provider": "kubernetes"}
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}
    return (
        kinds.by_name("Service"),
        {
            "metadata": {"name": API_SERVICE[0], "namespace": "default", "labels": labels},
            "spec": {"clusterIP": "10.96.0.1", "ports": [port]},
        },
    )


def generate_nodes(
    count: int, zones: int, sizes: Sequence[NodeSize]
) -> Iterator[tuple[Kind, Body]]:
    """`count` nodes, spread over zones, with the sizes in turn."""
    width = len(str(count - 1)) if count else 1
    for index in range(count):
        zone = f"zone-{index % zones + 1}"
        size = sizes[index // zones % len(sizes)]
        name = f"node-{index:0{width}}"
        body = generate_node(name, zone, cpu=size.cpu, memory=size.memory, pods=size.pods)
        yield kinds.NODE, body
