"""What feature gates turn on and off in the allocation of devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from apps.scheduler.cache.devices_in_use import Allocated
from apps.scheduler.features import FeatureGates
from apps.scheduler.objects import Device, ResourceClaim, ResourceSlice


@dataclass(frozen=True, slots=True)
class DeviceFeatures:
    """The features of devices that are on; by default those of kube-scheduler's defaults."""

    #: DRAPartitionableDevices: counters, and devices that select nodes themselves
    partitionable: bool = True
    #: DRAConsumableCapacity: devices that several claims share
    shared: bool = True
    #: DRADeviceTaints
    taints: bool = True
    #: DRADeviceBindingConditions, with DRAResourceClaimDeviceStatus, on which it depends
    binding_conditions: bool = True
    #: DRAPrioritizedList: requests with alternatives
    alternatives: bool = True
    #: DRAListTypeAttributes: attributes with several values
    lists: bool = False
    #: DRANodeAllocatableResources: devices that take CPU, memory … of their node
    node_resources: bool = False
    #: DRAWorkloadResourceClaims: claims that the pods of a PodGroup share
    of_groups: bool = False

    @classmethod
    def of(cls, gates: FeatureGates) -> DeviceFeatures:
        """The features that these gates leave on."""
        return cls(
            partitionable=gates.enabled("DRAPartitionableDevices"),
            shared=gates.enabled("DRAConsumableCapacity"),
            taints=gates.enabled("DRADeviceTaints"),
            binding_conditions=gates.enabled("DRADeviceBindingConditions")
            and gates.enabled("DRAResourceClaimDeviceStatus"),
            alternatives=gates.enabled("DRAPrioritizedList"),
            lists=gates.enabled("DRAListTypeAttributes"),
            node_resources=gates.enabled("DRANodeAllocatableResources"),
            of_groups=gates.enabled("DRAWorkloadResourceClaims"),
        )

    def view_of_slices(self, slices: Iterable[ResourceSlice]) -> Iterable[ResourceSlice]:
        """The slices without what is turned off; devices with counters are still among them."""
        if self.partitionable and self.shared and self.taints and self.binding_conditions:
            return slices
        return [
            msgspec.structs.replace(
                each,
                spec=msgspec.structs.replace(each.spec, devices=tuple(self._view(each))),
            )
            for each in slices
            if self.partitionable or each.spec.per_device_node_selection is None
        ]

    def _view(self, each: ResourceSlice) -> Iterator[Device]:
        for device in each.spec.devices:
            if device.binding_conditions and not self.binding_conditions:
                continue
            yield msgspec.structs.replace(
                device,
                taints=device.taints if self.taints else (),
                allow_multiple_allocations=device.allow_multiple_allocations and self.shared,
            )

    def view_of_allocated(self, allocated: Allocated) -> Allocated:
        """The devices in use; without sharing, a shared one is in use as any other is."""
        if self.shared:
            return allocated
        return Allocated({**allocated.shared, **allocated.devices})

    @property
    def refuses_capacity(self) -> bool:
        """Whether a request for capacity is an error; the plainest allocator ignores it."""
        return not self.shared and (self.binding_conditions or self.lists)

    def refused_request(self, claim: ResourceClaim) -> str:
        """Why a claim cannot be allocated with these features; "" if it can."""
        if self.alternatives:
            return ""
        for request in claim.spec.devices.requests:
            if request.first_available:
                return (
                    f"resource claim {claim.key}, request {request.name}: has subrequests, "
                    "but the DRAPrioritizedList feature is disabled"
                )
        return ""
