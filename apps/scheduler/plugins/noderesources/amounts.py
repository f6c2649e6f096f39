"""Requested and allocatable amounts of the resources that are scored, as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.config.resource_args import ResourceSpec
from apps.scheduler.framework.node_columns import CPU, MEMORY, Int64Array, NodeColumns
from apps.scheduler.framework.resources import CPU as CPU_NAME
from apps.scheduler.framework.resources import MEMORY as MEMORY_NAME
from apps.scheduler.framework.resources import is_scalar

#: an amount up to this can be multiplied by 100 in an int64
_SAFE = np.iinfo(np.int64).max // 100


@dataclass(slots=True)
class Amounts:
    """One resource on every row; ``allocatable`` 0 = does not count there."""

    name: str
    weight: int
    #: (n,) int64, by the pods on the node
    requested: Int64Array
    #: by the incoming pod
    pod: int
    #: (n,) int64
    allocatable: Int64Array


def amounts(
    resources: Sequence[ResourceSpec],
    pod_requests: Mapping[str, int],
    nodes: NodeColumns,
    *,
    nonzero: bool,
    devices: Callable[[str], Int64Array | None] = lambda name: None,
) -> list[Amounts]:
    """The resources that count for this pod, in the configured order.

    ``devices``: what a node without the resource has of it as devices, (2, n): all and in use.

    An extended resource that the pod does not request is left out. ``nonzero``: count containers
    without a request for CPU or memory with their defaults.
    """
    columns = []
    for resource in resources:
        wanted = pod_requests.get(resource.name, 0)
        resource_index = nodes.resource_index(resource.name)
        backed = devices(resource.name) if wanted and is_scalar(resource.name) else None
        if backed is not None:
            columns.append(_with_devices(resource, wanted, resource_index, nodes, backed))
            continue
        if resource_index < 0 or (wanted == 0 and is_scalar(resource.name)):
            continue
        requested = nodes.requested[resource_index]
        if nonzero and resource.name == CPU_NAME:
            requested = nodes.nonzero_requested[CPU]
        elif nonzero and resource.name == MEMORY_NAME:
            requested = nodes.nonzero_requested[MEMORY]
        columns.append(
            Amounts(
                resource.name, resource.weight, requested, wanted, nodes.allocatable[resource_index]
            )
        )
    return columns


def _with_devices(
    resource: ResourceSpec,
    wanted: int,
    resource_index: int,
    nodes: NodeColumns,
    devices: Int64Array,
) -> Amounts:
    """Nodes that do not have the resource themselves have it as devices."""
    none = np.zeros(len(nodes), dtype=np.int64)
    allocatable = nodes.allocatable[resource_index] if resource_index >= 0 else none
    requested = nodes.requested[resource_index] if resource_index >= 0 else none
    own = allocatable != 0
    return Amounts(
        resource.name,
        resource.weight,
        np.where(own, requested, devices[1]),
        wanted,
        np.where(own, allocatable, devices[0]),
    )


def percent(part: Int64Array, whole: Int64Array) -> Int64Array:
    """``part * 100 // whole``, exact also beyond int64; ``whole`` > 0 and ``part`` >= 0.

    Only sums that have wrapped around have a part greater than the whole; it counts as 100.
    """
    if part.size and part.max() > _SAFE:
        exact: NDArray[Any] = part.astype(object)
        return np.minimum(exact * 100 // whole, 100).astype(np.int64)
    return part * 100 // whole
