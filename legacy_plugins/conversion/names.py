"""The names of the plugins that configurations of earlier releases refer to.

A plugin that was added after v1beta3 needs no entry unless a conversion has to name it.
"""

from __future__ import annotations

from typing import Final

DEFAULT_BINDER: Final = "DefaultBinder"
DEFAULT_PREEMPTION: Final = "DefaultPreemption"
DYNAMIC_RESOURCES: Final = "DynamicResources"
IMAGE_LOCALITY: Final = "ImageLocality"
INTER_POD_AFFINITY: Final = "InterPodAffinity"
NODE_AFFINITY: Final = "NodeAffinity"
NODE_DECLARED_FEATURES: Final = "NodeDeclaredFeatures"
NODE_NAME: Final = "NodeName"
NODE_PORTS: Final = "NodePorts"
NODE_RESOURCES_BALANCED_ALLOCATION: Final = "NodeResourcesBalancedAllocation"
NODE_RESOURCES_FIT: Final = "NodeResourcesFit"
NODE_UNSCHEDULABLE: Final = "NodeUnschedulable"
NODE_VOLUME_LIMITS: Final = "NodeVolumeLimits"
POD_TOPOLOGY_SPREAD: Final = "PodTopologySpread"
PRIORITY_SORT: Final = "PrioritySort"
SCHEDULING_GATES: Final = "SchedulingGates"
TAINT_TOLERATION: Final = "TaintToleration"
VOLUME_BINDING: Final = "VolumeBinding"
VOLUME_RESTRICTIONS: Final = "VolumeRestrictions"
VOLUME_ZONE: Final = "VolumeZone"

# Plugins that v1 no longer has; they run only in converted profiles.
AZURE_DISK_LIMITS: Final = "AzureDiskLimits"
CINDER_LIMITS: Final = "CinderLimits"
EBS_LIMITS: Final = "EBSLimits"
GCE_PD_LIMITS: Final = "GCEPDLimits"
NODE_LABEL: Final = "NodeLabel"
NODE_PREFER_AVOID_PODS: Final = "NodePreferAvoidPods"
#: Our name for NodeResourcesBalancedAllocation up to 1.22, which had another formula.
NODE_RESOURCES_BALANCED_ALLOCATION_LEGACY: Final = "NodeResourcesBalancedAllocationLegacy"
#: The same from 1.23 on, before it compared with the node without the pod.
NODE_RESOURCES_BALANCED_ALLOCATION_V1BETA3: Final = "NodeResourcesBalancedAllocationV1beta3"
NODE_RESOURCES_LEAST_ALLOCATED: Final = "NodeResourcesLeastAllocated"
NODE_RESOURCES_MOST_ALLOCATED: Final = "NodeResourcesMostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
SELECTOR_SPREAD: Final = "SelectorSpread"
SERVICE_AFFINITY: Final = "ServiceAffinity"
VOLUME_CAPACITY_PRIORITY: Final = "VolumeCapacityPriority"
