"""Objects of a new cluster: built-in namespaces and priority classes, generated nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.system_classes import SYSTEM_CLASSES
from apps.controllers.devices.templates import ANNOTATION
from apps.controllers.kubelet import registration

Body = dict[str, Any]

BUILT_IN_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


#: The region of all generated nodes.
REGION = "region-1"
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class NodeSize:
    """The capacity of a generated node, as quantities."""

    cpu: str = "8"
    memory: str = "32Gi"
    pods: str = "110"


def generate_node(
    name: str,
    zone: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    pods: str = "110",
    beta_labels: bool = False,
    devices: Sequence[str] = (),
    now: datetime | None = None,
) -> Body:
    """The body of a Ready node in a zone, as its kubelet and a cloud provider report it.

    `beta_labels`: it has the labels of before Kubernetes 1.17, too. `devices`: the templates of the
    devices that the mock driver publishes for it. `now` is the time of its
    conditions; None for the time of the system.
    """
    capacity = {"cpu": cpu, "memory": memory, "ephemeral-storage": "100Gi", "pods": pods}
    labels = {
        **registration.node_labels(name),
        "node.kubernetes.io/instance-type": _NOT_IN_LABELS.sub("-", f"mock-{cpu}-{memory}"),
        "topology.kubernetes.io/region": REGION,
        "topology.kubernetes.io/zone": zone,
    }
    old = registration.beta_labels(labels) if beta_labels else {}
    status = registration.node_status(name, now or datetime.now(UTC))
    annotations = {"annotations": {ANNOTATION: ",".join(devices)}} if devices else {}
    return {
        "metadata": {"name": name, "labels": {**old, **labels}, **annotations},
        "status": {"allocatable": capacity, "capacity": capacity, **status},
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


def generate_nodes(
    count: int,
    zones: int,
    sizes: Sequence[NodeSize],
    *,
    beta_labels: bool,
    devices: Sequence[str] = (),
    now: datetime,
) -> Iterator[tuple[Kind, Body]]:
    """`count` nodes, spread over zones, with the sizes in turn; see `generate_node`."""
    width = len(str(count - 1)) if count else 1
    for index in range(count):
        zone = f"zone-{index % zones + 1}"
        size = sizes[index // zones % len(sizes)]
        name = f"node-{index:0{width}}"
        yield (
            kinds.NODE,
            generate_node(
                name,
                zone,
                cpu=size.cpu,
                memory=size.memory,
                pods=size.pods,
                beta_labels=beta_labels,
                devices=devices,
                now=now,
            ),
        )
