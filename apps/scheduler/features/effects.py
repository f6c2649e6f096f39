"""What a feature gate changes in this scheduler, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.scheduler.features.gates import ALL_OF_STAGE, GATES, FeatureGate

#: Gates that change what this scheduler decides, or when it retries a pod.
EFFECTS: Final[Mapping[str, str]] = {
    "SchedulerPopFromBackoffQ": (
        "On: when activeQ is empty, a pod is taken from backoffQ before its backoff ends. "
        "Off: a pod always completes its backoff, as before 1.33."
    ),
    "SchedulerAsyncPreemption": (
        "On: a pod that has preempted others is kept out of the queue until its victims terminate. "
        "Off: it waits among the unschedulable pods, and any helpful event retries it."
    ),
    "StorageCapacityScoring": (
        "On: VolumeBinding scores nodes by the storage that the pod's claims would use; the "
        "argument shape can be set."
    ),
    "TaintTolerationComparisonOperators": (
        "On: tolerations with the operators Lt and Gt compare whole numbers. Off: the API server "
        "rejects new pods with them, and those of existing pods tolerate nothing."
    ),
    "VolumeLimitScaling": (
        "On: NodeVolumeLimits rejects nodes without the CSI driver of a volume, if the CSIDriver "
        "has preventPodSchedulingIfMissing."
    ),
    "MatchLabelKeysInPodTopologySpread": (
        "Off: matchLabelKeys of topology spread constraints are ignored, also where the API "
        "server has already merged them into the selector."
    ),
    "PodLevelResources": "Off: requests in spec.resources of a pod do not count.",
    "InPlacePodLevelResourcesVerticalScaling": (
        "Off: a resize of pod-level resources in progress does not count, only spec.resources."
    ),
    "NodeDeclaredFeatures": "Off: the plugin NodeDeclaredFeatures is not in the default profile.",
    "GenericWorkload": (
        "On: the kinds Workload and PodGroup are served, and the pods of a PodGroup are tried "
        "together: see the page of the plugin GangScheduling."
    ),
    "GangScheduling": (
        "On: the plugin GangScheduling is in the default profile. It binds the pods of a gang "
        "together, or none of them."
    ),
    "TopologyAwareWorkloadScheduling": (
        "On: a PodGroup with schedulingConstraints is tried in one value of a node label after "
        "the other, and all its pods are scheduled in the best one in which it fits. Members of "
        "groups do not preempt."
    ),
    "WorkloadAwarePreemption": (
        "On: a PodGroup preempts for all its pods at once, with its own priority; groups with "
        "the disruption mode PodGroup are evicted as a whole. Members do not preempt for "
        "themselves."
    ),
    "WorkloadWithJob": (
        "On, with GenericWorkload: a new indexed Job that runs all its pods at once gets a "
        "Workload and a PodGroup, so that its pods are a gang."
    ),
    "NominatedNodeNameForExpectation": (
        "Off: a pod that waits for Permit, or whose binding is slow, does not name its node in "
        "status.nominatedNodeName, so that node is not tried first if the scheduler restarts."
    ),
    "OpportunisticBatching": (
        "Off: every pod is scored, and no results are reused for pods with the same signature. On: "
        "a pod that is like the one before it, and does not fit on the node of that pod, gets the "
        "next node of the old ranking without being scored."
    ),
    "DRAConsumableCapacity": (
        "Off: a device with allowMultipleAllocations is allocated to one claim at a time, and "
        "capacity in requests does not count."
    ),
    "DRADeviceBindingConditions": (
        "Off: devices with binding conditions are not allocated, and PreBind waits for none."
    ),
    "DRADeviceTaints": "Off: taints of devices do not keep claims away.",
    "DRAExtendedResource": (
        "Off: DeviceClasses do not back extended resources; a node has to list them itself."
    ),
    "DRAListTypeAttributes": (
        "On: attributes of devices may be lists. matchAttribute requires a value that all devices "
        "have, distinctAttribute that no two of them have a value in common."
    ),
    "DRANodeAllocatableResources": (
        "On: devices with nodeAllocatableResourceMappings take CPU, memory and the like of their "
        "node, together with the requests of the pod."
    ),
    "DRAPartitionableDevices": (
        "Off: devices that consume counters, and slices whose devices select nodes, are not "
        "allocated."
    ),
    "DRAPrioritizedList": (
        "Off: a pod with a claim that has firstAvailable is unschedulable, with a message that "
        "names the gate, and DynamicResources scores no node."
    ),
    "DRAResourceClaimDeviceStatus": (
        "Off: as DRADeviceBindingConditions, which depends on it and has to be off, too."
    ),
    "DRAWorkloadResourceClaims": (
        "On: a PodGroup may have ResourceClaims, which its pods share and which are reserved for "
        "the group."
    ),
}
#: Gates of behavior that is always on in 1.36; the value is what it concerns.
_SETTLED: Final[Mapping[str, str]] = {
    "SchedulerQueueingHints": "Plugins say which events may make a rejected pod schedulable.",
    "NodeInclusionPolicyInPodTopologySpread": (
        "nodeAffinityPolicy and nodeTaintsPolicy of topology spread constraints count."
    ),
    "MatchLabelKeysInPodAffinity": "matchLabelKeys and mismatchLabelKeys of pod affinity count.",
    "InPlacePodVerticalScaling": "Resizes of containers in progress count.",
    "PodSchedulingReadiness": "Pods with scheduling gates are kept out of the queue.",
    "SidecarContainers": "Restartable init containers count like containers.",
    "DynamicResourceAllocation": "The plugin DynamicResources is in the default profile.",
    "SeparateTaintEvictionController": "The taint eviction controller is a controller of its own.",
    "VolumeAttributesClass": "A claim matches only volumes of its attributes class.",
}
#: Gates about devices have names with this prefix.
_DEVICES: Final = "DRA"


def effect_of(gate: FeatureGate) -> str:
    """What the gate changes here; a sentence that says so where it changes nothing."""
    if gate.name in EFFECTS:
        return EFFECTS[gate.name]
    if gate.name in _SETTLED:
        return f"{_SETTLED[gate.name]} Locked: this cannot be turned off."
    if gate.name == "SchedulerAsyncAPICalls":
        return "No effect: this scheduler writes its results after each batch in any case."
    if gate.name == "DRAAdminAccess":
        return "Administrators have access to devices in use. Locked: this cannot be turned off."
    if gate.name == "DRASchedulerFilterTimeout":
        return "No effect: a search for devices is not interrupted after filterTimeout."
    if gate.name in ALL_OF_STAGE:
        return f"Sets all {gate.stage.lower()} gates that are not set themselves."
    return "No effect on scheduling: it concerns other components."


def concerns_scheduling(gate: FeatureGate) -> bool:
    """Whether the gate is about scheduling, whatever it changes here."""
    return (
        gate.name in EFFECTS
        or gate.name in _SETTLED
        or gate.name in ALL_OF_STAGE
        or gate.name.startswith((_DEVICES, "Scheduler"))
    )


def listed_gates(*, everything: bool = False) -> list[FeatureGate]:
    """The gates for a list: those about scheduling, or all; those with an effect come first."""
    shown = [gate for gate in GATES.values() if everything or concerns_scheduling(gate)]
    return sorted(shown, key=lambda gate: (gate.name not in EFFECTS, gate.locked, gate.name))
