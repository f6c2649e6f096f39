"""Plugins of releases before 1.26, allowed only in profiles that were converted (see convert/)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from apps.scheduler.config.args import DEFAULT_RESOURCES, ResourceSpec, UtilizationShapePoint
from apps.scheduler.config.in_tree import KnownPlugins

#: Our name for what was NodeResourcesBalancedAllocation up to 1.22: it had another formula.
NODE_RESOURCES_BALANCED_ALLOCATION_LEGACY: Final = "NodeResourcesBalancedAllocationLegacy"
SELECTOR_SPREAD: Final = "SelectorSpread"
NODE_PREFER_AVOID_PODS: Final = "NodePreferAvoidPods"
NODE_RESOURCES_LEAST_ALLOCATED: Final = "NodeResourcesLeastAllocated"
NODE_RESOURCES_MOST_ALLOCATED: Final = "NodeResourcesMostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
EBS_LIMITS: Final = "EBSLimits"
GCE_PD_LIMITS: Final = "GCEPDLimits"
AZURE_DISK_LIMITS: Final = "AzureDiskLimits"
CINDER_LIMITS: Final = "CinderLimits"

#: legacy plugin → the extension points it implements
LEGACY_PLUGINS: Final[KnownPlugins] = {
    SELECTOR_SPREAD: frozenset({"preScore", "score"}),
    NODE_PREFER_AVOID_PODS: frozenset({"score"}),
    NODE_RESOURCES_BALANCED_ALLOCATION_LEGACY: frozenset({"score"}),
    NODE_RESOURCES_LEAST_ALLOCATED: frozenset({"score"}),
    NODE_RESOURCES_MOST_ALLOCATED: frozenset({"score"}),
    REQUESTED_TO_CAPACITY_RATIO: frozenset({"score"}),
    EBS_LIMITS: frozenset({"filter"}),
    GCE_PD_LIMITS: frozenset({"filter"}),
    AZURE_DISK_LIMITS: frozenset({"filter"}),
    CINDER_LIMITS: frozenset({"filter"}),
}

#: Names that v1 refuses with a message of their own instead of "does not exist".
REMOVED_IN_V1: Final = frozenset({EBS_LIMITS, GCE_PD_LIMITS, AZURE_DISK_LIMITS, CINDER_LIMITS})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResourcesLeastAllocatedArgs:
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResourcesMostAllocatedArgs:
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedToCapacityRatioArgs:
    """At least one point; the points' scores are 0–10, as in the shapes of NodeResourcesFit."""

    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


LegacyArgs = (
    NodeResourcesLeastAllocatedArgs | NodeResourcesMostAllocatedArgs | RequestedToCapacityRatioArgs
)

#: legacy plugin → the type of its arguments
LEGACY_PLUGIN_ARGS: Final[dict[str, type[LegacyArgs]]] = {
    NODE_RESOURCES_LEAST_ALLOCATED: NodeResourcesLeastAllocatedArgs,
    NODE_RESOURCES_MOST_ALLOCATED: NodeResourcesMostAllocatedArgs,
    REQUESTED_TO_CAPACITY_RATIO: RequestedToCapacityRatioArgs,
}
