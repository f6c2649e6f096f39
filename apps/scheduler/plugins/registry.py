"""Where every in-tree plugin is built from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.scheduler.config import legacy
from apps.scheduler.framework.profile_plugins import PluginFactory
from apps.scheduler.plugins import names
from apps.scheduler.plugins.default_binder import DefaultBinder
from apps.scheduler.plugins.default_preemption import DefaultPreemption
from apps.scheduler.plugins.dynamic_resources import DynamicResources
from apps.scheduler.plugins.image_locality import ImageLocality
from apps.scheduler.plugins.interpodaffinity.plugin import InterPodAffinity
from apps.scheduler.plugins.legacy.in_tree_limits import (
    AzureDiskLimits,
    CinderLimits,
    EBSLimits,
    GCEPDLimits,
)
from apps.scheduler.plugins.legacy.node_prefer_avoid_pods import NodePreferAvoidPods
from apps.scheduler.plugins.legacy.resource_allocation import (
    NodeResourcesBalancedAllocationLegacy,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
)
from apps.scheduler.plugins.legacy.selector_spread import SelectorSpread
from apps.scheduler.plugins.node_affinity import NodeAffinity
from apps.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from apps.scheduler.plugins.node_name import NodeName
from apps.scheduler.plugins.node_ports import NodePorts
from apps.scheduler.plugins.node_unschedulable import NodeUnschedulable
from apps.scheduler.plugins.noderesources.balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from apps.scheduler.plugins.noderesources.fit import NodeResourcesFit
from apps.scheduler.plugins.nodevolumelimits.plugin import NodeVolumeLimits
from apps.scheduler.plugins.podtopologyspread.plugin import PodTopologySpread
from apps.scheduler.plugins.priority_sort import PrioritySort
from apps.scheduler.plugins.scheduling_gates import SchedulingGates
from apps.scheduler.plugins.taint_toleration import TaintToleration
from apps.scheduler.plugins.volume_restrictions import VolumeRestrictions
from apps.scheduler.plugins.volume_zone import VolumeZone
from apps.scheduler.plugins.volumebinding.plugin import VolumeBinding

#: name -> factory (typed arguments or None, handle) -> plugin, for converted profiles alone
LEGACY: Final[Mapping[str, PluginFactory]] = {
    legacy.SELECTOR_SPREAD: SelectorSpread,
    legacy.NODE_PREFER_AVOID_PODS: NodePreferAvoidPods,
    legacy.NODE_RESOURCES_BALANCED_ALLOCATION_LEGACY: NodeResourcesBalancedAllocationLegacy,
    legacy.NODE_RESOURCES_LEAST_ALLOCATED: NodeResourcesLeastAllocated,
    legacy.NODE_RESOURCES_MOST_ALLOCATED: NodeResourcesMostAllocated,
    legacy.REQUESTED_TO_CAPACITY_RATIO: RequestedToCapacityRatio,
    legacy.EBS_LIMITS: EBSLimits,
    legacy.GCE_PD_LIMITS: GCEPDLimits,
    legacy.AZURE_DISK_LIMITS: AzureDiskLimits,
    legacy.CINDER_LIMITS: CinderLimits,
}

#: the same for the plugins of this release
IN_TREE: Final[Mapping[str, PluginFactory]] = {
    names.SCHEDULING_GATES: SchedulingGates,
    names.PRIORITY_SORT: PrioritySort,
    names.NODE_UNSCHEDULABLE: NodeUnschedulable,
    names.NODE_NAME: NodeName,
    names.TAINT_TOLERATION: TaintToleration,
    names.NODE_AFFINITY: NodeAffinity,
    names.NODE_PORTS: NodePorts,
    names.NODE_RESOURCES_FIT: NodeResourcesFit,
    names.VOLUME_RESTRICTIONS: VolumeRestrictions,
    names.NODE_VOLUME_LIMITS: NodeVolumeLimits,
    names.VOLUME_BINDING: VolumeBinding,
    names.VOLUME_ZONE: VolumeZone,
    names.POD_TOPOLOGY_SPREAD: PodTopologySpread,
    names.INTER_POD_AFFINITY: InterPodAffinity,
    names.DYNAMIC_RESOURCES: DynamicResources,
    names.DEFAULT_PREEMPTION: DefaultPreemption,
    names.NODE_RESOURCES_BALANCED_ALLOCATION: NodeResourcesBalancedAllocation,
    names.IMAGE_LOCALITY: ImageLocality,
    names.DEFAULT_BINDER: DefaultBinder,
    names.NODE_DECLARED_FEATURES: NodeDeclaredFeatures,
}

#: everything that a profile may name without plugins from outside the tree
BUILT_IN: Final[Mapping[str, PluginFactory]] = {**LEGACY, **IN_TREE}
