"""The feature gates under which the API server of a cluster validates an object."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

Body = Mapping[str, Any]

#: Tolerations may have the operators Lt and Gt.
COMPARISONS: Final = "TaintTolerationComparisonOperators"
#: Attributes of devices may be lists.
LIST_ATTRIBUTES: Final = "DRAListTypeAttributes"
LIST_FIELDS: Final = ("bools", "ints", "strings", "versions")
#: PodGroups and their templates may have scheduling constraints.
TOPOLOGY_OF_GROUPS: Final = "TopologyAwareWorkloadScheduling"
#: They may have a disruption mode and a priority.
GROUP_PREEMPTION: Final = "WorkloadAwarePreemption"
#: Devices may take resources of their node, and pods say how much of it.
NODE_RESOURCES: Final = "DRANodeAllocatableResources"
#: Workloads and PodGroups may have ResourceClaims.
WORKLOAD_CLAIMS: Final = "DRAWorkloadResourceClaims"
#: The gates that the API server reads. `Cluster.api_gates` has those of them that are on.
API_GATES: Final = (
    COMPARISONS,
    LIST_ATTRIBUTES,
    TOPOLOGY_OF_GROUPS,
    GROUP_PREEMPTION,
    NODE_RESOURCES,
    WORKLOAD_CLAIMS,
)
#: fields of a PodGroup's spec, and of a template in a Workload, by gate
GROUP_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    TOPOLOGY_OF_GROUPS: ("schedulingConstraints",),
    GROUP_PREEMPTION: ("disruptionMode", "priorityClassName", "priority"),
    WORKLOAD_CLAIMS: ("resourceClaims",),
}
COMPARING_OPERATORS: Final = ("Lt", "Gt")

_enabled: ContextVar[Collection[str]] = ContextVar("api_gates", default=())


@contextmanager
def use_gates(enabled: Collection[str], old: Body | None) -> Iterator[None]:
    """Validate with these gates on; an update may keep using what `old` uses already."""
    token = _enabled.set(gates_in_force(enabled, old))
    try:
        yield
    finally:
        _enabled.reset(token)


def gates_in_force(enabled: Collection[str], old: Body | None) -> Collection[str]:
    """The enabled gates, and those whose fields `old` has already."""
    if old is None:
        return enabled
    used = [gate for gate, is_used in _USES.items() if gate not in enabled and is_used(old)]
    return (*enabled, *used)


def is_enabled(gate: str) -> bool:
    return gate in _enabled.get()


def _has_comparisons(old: Body) -> bool:
    """Whether a pod, the template of a workload or a RuntimeClass has such tolerations."""
    spec = old.get("spec") or {}
    template = (spec.get("template") or {}).get("spec") or {}
    parts = (spec, template, old.get("scheduling") or {})
    tolerations = (each for part in parts for each in part.get("tolerations") or ())
    return any(each.get("operator") in COMPARING_OPERATORS for each in tolerations)


def _has_list_attributes(old: Body) -> bool:
    """Whether a ResourceSlice has such attributes."""
    return any(
        attribute.get(field) is not None
        for device in _devices(old)
        for attribute in (device.get("attributes") or {}).values()
        for field in LIST_FIELDS
    )


def _has_node_resources(old: Body) -> bool:
    """Whether devices of a ResourceSlice take resources of their node, or those of a pod do."""
    if (old.get("status") or {}).get("nodeAllocatableResourceClaimStatuses"):
        return True
    return any(device.get("nodeAllocatableResourceMappings") for device in _devices(old))


def _devices(old: Body) -> Iterable[Body]:
    """The devices of a ResourceSlice; a claim has none of its own."""
    devices = (old.get("spec") or {}).get("devices")
    return devices if isinstance(devices, list) else ()


def _has_group_fields(gate: str, old: Body) -> bool:
    """Whether a PodGroup has fields of the gate, or a template in a Workload."""
    if old.get("kind") not in ("PodGroup", "Workload"):
        return False
    spec = old.get("spec") or {}
    parts = (spec, *(spec.get("podGroupTemplates") or ()))
    given = (part.get(field) for part in parts for field in GROUP_FIELDS[gate])
    # every group has a disruption mode
    return any(value not in (None, "Pod") for value in given)


#: whether an object uses what a gate permits
_USES: Final[Mapping[str, Callable[[Body], bool]]] = {
    COMPARISONS: _has_comparisons,
    LIST_ATTRIBUTES: _has_list_attributes,
    TOPOLOGY_OF_GROUPS: partial(_has_group_fields, TOPOLOGY_OF_GROUPS),
    GROUP_PREEMPTION: partial(_has_group_fields, GROUP_PREEMPTION),
    NODE_RESOURCES: _has_node_resources,
    WORKLOAD_CLAIMS: partial(_has_group_fields, WORKLOAD_CLAIMS),
}
