"""Plugins of earlier releases that v1 no longer has, and the converter of their configurations.

An out-of-tree package like any other, loaded as one that SCHEDWEB_PLUGINS names; a site has it
unless SCHEDWEB_LEGACY_PLUGINS is 0. Only converted configurations may name its plugins. It imports
the core alone, and nothing imports it.
"""

from __future__ import annotations

from typing import Final

from apps.scheduler.framework.declaration import PluginPackage
from legacy_plugins.balanced_allocation import NodeResourcesBalancedAllocationV1beta3
from legacy_plugins.conversion import convert
from legacy_plugins.in_tree_limits import AzureDiskLimits, CinderLimits, EBSLimits, GCEPDLimits
from legacy_plugins.node_label import NodeLabel
from legacy_plugins.node_prefer_avoid_pods import NodePreferAvoidPods
from legacy_plugins.resource_allocation import (
    NodeResourcesBalancedAllocationLegacy,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
)
from legacy_plugins.selector_spread import SelectorSpread
from legacy_plugins.service_affinity import ServiceAffinity
from legacy_plugins.volume_capacity import VolumeCapacityPriority

PACKAGE: Final = PluginPackage(
    plugins=(
        SelectorSpread,
        NodePreferAvoidPods,
        NodeResourcesBalancedAllocationLegacy,
        NodeResourcesLeastAllocated,
        NodeResourcesMostAllocated,
        RequestedToCapacityRatio,
        EBSLimits,
        GCEPDLimits,
        AzureDiskLimits,
        CinderLimits,
        NodeLabel,
        ServiceAffinity,
        NodeResourcesBalancedAllocationV1beta3,
        VolumeCapacityPriority,
    ),
    convert=convert,
)
