"""The devices of a node, as ResourceSlices list them, and the claims and pods that have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Q

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.scheduler.objects import Device, ResourceClaim, ResourceSlice, decode
from apps.scheduler.plugins.dynamicresources.holders import Holder, find_holders

#: the most devices that are listed
MOST_DEVICES = 256


@dataclass(frozen=True, slots=True)
class NodeDevice:
    """A device that a ResourceSlice of the node lists."""

    slice: str
    driver: str
    pool: str
    name: str
    #: "model=a100"
    attributes: Sequence[str]
    #: "memory 40Gi"; with how much is in use, if the device is shared
    capacity: Sequence[str]
    #: "key=value:Effect"
    taints: Sequence[str]
    holders: Sequence[Holder]
    is_shared: bool


def list_node_devices(cluster: Cluster, node: str) -> list[NodeDevice]:
    """The devices of the slices with this nodeName, in the order of the scheduler's search."""
    stored = kinds.by_name("ResourceSlice").objects(cluster)
    slice_rows = stored.filter(body__spec__nodeName=node).order_by("name")
    slices = [item for row in slice_rows if (item := decode("ResourceSlice", row.body)) is not None]
    holders = find_holders(_claims_on(cluster, slices)) if slices else {}
    devices = [
        _describe(each, device, holders.get((each.spec.driver, each.spec.pool.name, device.name)))
        for each in sorted(slices, key=_order)
        for device in each.spec.devices
    ]
    return devices[:MOST_DEVICES]


def _order(each: ResourceSlice) -> tuple[str, str, str]:
    return each.spec.driver, each.spec.pool.name, each.metadata.name


def _claims_on(cluster: Cluster, slices: Sequence[ResourceSlice]) -> Iterator[ResourceClaim]:
    """The claims that have a device of one of these pools."""
    wanted = Q()
    for driver, pool in {(each.spec.driver, each.spec.pool.name) for each in slices}:
        result = [{"driver": driver, "pool": pool}]
        wanted |= Q(body__status__allocation__devices__results__contains=result)
    for row in kinds.by_name("ResourceClaim").objects(cluster).filter(wanted).order_by("name"):
        claim = decode("ResourceClaim", row.body)
        if claim is not None:
            yield claim


def _describe(each: ResourceSlice, device: Device, holders: Sequence[Holder] | None) -> NodeDevice:
    return NodeDevice(
        each.metadata.name,
        each.spec.driver,
        each.spec.pool.name,
        device.name,
        [
            f"{name}={', '.join(map(str, value.listed[1]))}"
            for name, value in sorted(device.attributes.items())
        ],
        [f"{name} {amount.value}" for name, amount in sorted(device.capacity.items())],
        [
            f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"
            for taint in device.taints
        ],
        holders or (),
        device.allow_multiple_allocations,
    )
