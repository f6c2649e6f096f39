"""Every in-tree plugin, in the order of the default profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.scheduler.framework.declaration import plugin_table
from apps.scheduler.framework.profile_plugins import PluginFactory
from apps.scheduler.plugins.default_binder import DefaultBinder
from apps.scheduler.plugins.default_preemption import DefaultPreemption
from apps.scheduler.plugins.dynamicresources.plugin import DynamicResources
from apps.scheduler.plugins.examples.wait_for_group import WaitForGroup
from apps.scheduler.plugins.gang_scheduling import GangScheduling
from apps.scheduler.plugins.image_locality import ImageLocality
from apps.scheduler.plugins.interpodaffinity.plugin import InterPodAffinity
from apps.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from apps.scheduler.plugins.node_name import NodeName
from apps.scheduler.plugins.node_ports import NodePorts
from apps.scheduler.plugins.node_unschedulable import NodeUnschedulable
from apps.scheduler.plugins.nodeaffinity.plugin import NodeAffinity
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

PLUGINS: Final[tuple[type[Any], ...]] = (
    SchedulingGates,
    PrioritySort,
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    DefaultPreemption,
    NodeResourcesBalancedAllocation,
    ImageLocality,
    DefaultBinder,
    NodeDeclaredFeatures,
    GangScheduling,
)

#: Shipped with the tree, but treated like plugins from outside: profiles have to enable them.
EXAMPLES: Final[tuple[type[Any], ...]] = (WaitForGroup,)

#: name → class
BUILT_IN: Final[Mapping[str, PluginFactory]] = {plugin.name: plugin for plugin in PLUGINS}


#: the table that `config.load` receives
TABLE: Final = plugin_table(PLUGINS)
