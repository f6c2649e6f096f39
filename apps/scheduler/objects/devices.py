"""DeviceClass, ResourceSlice, ResourceClaim: the objects of dynamic resource allocation."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from apps.scheduler.objects.meta import (
    Condition,
    Int64,
    KubeObject,
    KubeStruct,
    NodeSelector,
    Quantity,
    Time,
)


class CELDeviceSelector(KubeStruct, frozen=True):
    expression: str = ""


class DeviceSelector(KubeStruct, frozen=True):
    cel: CELDeviceSelector | None = None


class DeviceClassSpec(KubeStruct, frozen=True):
    selectors: tuple[DeviceSelector, ...] = ()
    #: as written: opaque parameters for drivers
    config: tuple[dict[str, Any], ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(KubeObject, frozen=True):
    spec: DeviceClassSpec = DeviceClassSpec()


_TYPES: Final = ("int", "bool", "string", "version")


class DeviceAttribute(KubeStruct, frozen=True):
    """Exactly one of the fields is set; the lists need the gate DRAListTypeAttributes."""

    int_value: Int64 | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")
    ints: tuple[Int64, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None

    @property
    def typed(self) -> tuple[str, Any]:
        """(name of the type, value); ("", None) for a list, or a type that is not known here."""
        for name in _TYPES:
            value = getattr(self, f"{name}_value")
            if value is not None:
                return name, value
        return "", None

    @property
    def listed(self) -> tuple[str, tuple[Any, ...]]:
        """(name of the type, values); a single value is a list of itself."""
        for name in _TYPES:
            values = getattr(self, f"{name}s")
            if values is not None:
                return name, values
        name, value = self.typed
        return name, (value,) if name else ()


class CapacityRequestPolicyRange(KubeStruct, frozen=True):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(KubeStruct, frozen=True):
    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(KubeStruct, frozen=True):
    value: Quantity = "0"
    request_policy: CapacityRequestPolicy | None = None


class Counter(KubeStruct, frozen=True):
    value: Quantity = "0"


class DeviceCounterConsumption(KubeStruct, frozen=True):
    counter_set: str = ""
    counters: dict[str, Counter] = {}


class CounterSet(KubeStruct, frozen=True):
    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(KubeStruct, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Time | None = None


class NodeAllocatableResourceMapping(KubeStruct, frozen=True):
    """What an allocated device takes of a resource of its node."""

    #: a capacity of the device, of which the consumed amount counts; None: the device itself
    capacity_key: str | None = None
    allocation_multiplier: Quantity | None = None


class Device(KubeStruct, frozen=True):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False
    #: by resource of the node: cpu, memory, ephemeral-storage, huge pages
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = {}


class ResourcePool(KubeStruct, frozen=True):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(KubeStruct, frozen=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(KubeObject, frozen=True):
    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceToleration(KubeStruct, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(KubeStruct, frozen=True):
    requests: dict[str, Quantity] = {}


class ExactDeviceRequest(KubeStruct, frozen=True):
    """What a request or one of its alternatives asks for; an alternative has a name as well."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = "ExactCount"
    count: Int64 = 1
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(KubeStruct, frozen=True):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[ExactDeviceRequest, ...] = ()


class DeviceConstraint(KubeStruct, frozen=True):
    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(KubeStruct, frozen=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    #: as written, with ``requests``
    config: tuple[dict[str, Any], ...] = ()


class ResourceClaimSpec(KubeStruct, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(KubeStruct, frozen=True):
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, Quantity] = {}


class DeviceAllocationResult(KubeStruct, frozen=True, omit_defaults=True):
    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[dict[str, Any], ...] = ()


class AllocationResult(KubeStruct, frozen=True):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: Time | None = None


class ResourceClaimConsumerReference(KubeStruct, frozen=True):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(KubeStruct, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(KubeStruct, frozen=True):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(KubeObject, frozen=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(KubeStruct, frozen=True):
    metadata: dict[str, Any] = {}
    #: as written: it becomes the spec of claims
    spec: dict[str, Any] = {}


class ResourceClaimTemplate(KubeObject, frozen=True):
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
