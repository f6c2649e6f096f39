"""The shapes of clusters that are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tools.truth.sampled import EVERY_CANDIDATE
from tools.truth.wishes import ZONE

_SCORING = {
    "name": "NodeResourcesFit",
    "args": {
        "scoringStrategy": {
            "type": "MostAllocated",
            "resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}],
        }
    },
}
_SECOND = {
    "schedulerName": "second",
    "pluginConfig": [_SCORING],
    "plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}},
}


@dataclass(frozen=True, slots=True)
class Shape:
    features: str
    nodes: int = 30
    gates: dict[str, bool] = field(default_factory=dict)
    profiles: tuple[dict[str, Any], ...] = ()
    #: of an extender, without its address
    extender: dict[str, Any] = field(default_factory=dict)
    #: there may be more candidates than preemption looks for
    is_sampled: bool = False

    def config(self, address: str) -> dict[str, Any]:
        """The KubeSchedulerConfiguration; the real scheduler has its gates from a flag."""
        config: dict[str, Any] = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 100,
            "profiles": list(self.profiles) or [{"schedulerName": "default-scheduler"}],
        }
        if self.extender:
            verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 2}
            config["extenders"] = [{"urlPrefix": address, **verbs, **self.extender}]
        return config


_OWN_DEFAULTS = {
    "name": "PodTopologySpread",
    "args": {
        "defaultingType": "List",
        "defaultConstraints": [
            {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"},
            {"maxSkew": 3, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
        ],
    },
}
_RATIO = {
    "name": "NodeResourcesFit",
    "args": {
        "ignoredResources": ["example.com/card"],
        "ignoredResourceGroups": ["other.io"],
        "scoringStrategy": {
            "type": "RequestedToCapacityRatio",
            "resources": [{"name": name, "weight": 2} for name in ("memory", "hugepages-2Mi")],
            "requestedToCapacityRatio": {
                "shape": [
                    {"utilization": 0, "score": 3},
                    {"utilization": 40, "score": 10},
                    {"utilization": 90, "score": 1},
                ]
            },
        },
    },
}
_BALANCED = {
    "name": "NodeResourcesBalancedAllocation",
    "args": {"resources": [{"name": name, "weight": 1} for name in ("cpu", "ephemeral-storage")]},
}
_HARD = {
    "name": "InterPodAffinity",
    "args": {"hardPodAffinityWeight": 37, "ignorePreferredTermsOfExistingPods": True},
}
_RACK = {"key": "rack", "operator": "NotIn", "values": ["r5"]}
_ADDED = {
    "name": "NodeAffinity",
    "args": {
        "addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [_RACK]}]
            }
        }
    },
}
_WEIGHTED = {
    "schedulerName": "second",
    "pluginConfig": [_RATIO, _BALANCED, _HARD, _ADDED, _OWN_DEFAULTS],
    "plugins": {
        "multiPoint": {
            "disabled": [{"name": "TaintToleration"}],
            "enabled": [{"name": "TaintToleration", "weight": 7}],
        },
        "score": {"disabled": [{"name": "NodeAffinity"}], "enabled": [{"name": "NodeAffinity"}]},
    },
}
_MIXED = "images spread affinity nodeaffinity taints priorities services"
_DEVICES = "devices priorities"
_DEFAULT = {"schedulerName": "default-scheduler"}
_BOTH = (_DEFAULT, _SECOND)

SHAPES: Final = {
    "plain": Shape("images"),
    "affinity": Shape("affinity nodeaffinity"),
    "spread": Shape("spread services", 60),
    "taints": Shape("taints nodeaffinity"),
    "ports": Shape("ports sidecars"),
    "podlevel": Shape("podlevel sidecars"),
    "windows": Shape("windows taints"),
    "mixed": Shape(_MIXED + " ports sidecars", 80),
    "profiles": Shape(_MIXED + " profiles", 50, profiles=_BOTH),
    "volumes": Shape("volumes"),
    "ephemeral": Shape("volumes ephemeral"),
    "attachments": Shape("volumes attachments ephemeral"),
    "preempt": Shape("full priorities budgets", 40),
    "preempt-affinity": Shape("full priorities budgets affinity spread", 40),
    "preempt-volumes": Shape("full priorities volumes attachments", 30),
    "preempt-130": Shape(
        "full priorities budgets",
        130,
        profiles=({"schedulerName": "default-scheduler", "pluginConfig": [EVERY_CANDIDATE]},),
    ),
    "preempt-sampled": Shape("full priorities budgets", 130, is_sampled=True),
    "preempt-startless": Shape("full priorities budgets startless", 30),
    "extender-names": Shape(_MIXED, extender={"nodeCacheCapable": True}),
    "extender-objects": Shape(_MIXED, extender={"nodeCacheCapable": False}),
    "extender-preempt": Shape(
        "full priorities budgets", 30, extender={"nodeCacheCapable": True, "preemptVerb": "preempt"}
    ),
    "devices": Shape(_DEVICES),
    "alternatives": Shape(_DEVICES + " alternatives"),
    "partitions": Shape(_DEVICES + " partitions"),
    "consumable": Shape(_DEVICES + " consumable"),
    "conditions": Shape(_DEVICES + " conditions"),
    "devicetaints": Shape(_DEVICES + " devicetaints"),
    "admin": Shape(_DEVICES + " admin"),
    "extended": Shape(_DEVICES + " extended full"),
    "node-resources-on": Shape(
        f"{_DEVICES} noderesources", gates={"DRANodeAllocatableResources": True}
    ),
    "node-resources-consumed-on": Shape(
        f"{_DEVICES} noderesources consumable", gates={"DRANodeAllocatableResources": True}
    ),
    "devices-all": Shape(
        _DEVICES + " partitions consumable conditions devicetaints admin alternatives extended"
    ),
    "gates": Shape("gates priorities taints"),
    "overhead": Shape("overhead sidecars podlevel", 20),
    "host-ips": Shape("hostips"),
    "many-images": Shape("manyimages"),
    "spread-wide": Shape("spreadwide taints nodeaffinity", 40),
    "namespaces": Shape("namespaces", 40),
    "node-terms": Shape("terms"),
    "scalars": Shape("scalars sidecars"),
    "many-sidecars": Shape("manysidecars overhead"),
    "pod-level-more": Shape("podlevelmore manysidecars overhead"),
    "declared": Shape("declared"),
    "resizing": Shape("resizing full priorities podlevel", 20),
    "resizing-room": Shape("resizing podlevel overhead"),
    "nominated": Shape("nominated priorities spread"),
    "nominated-full": Shape("nominated full priorities budgets", 30),
    "mutating": Shape(f"{_MIXED} mutating nodeaffinity", 40),
    "mutating-full": Shape("mutating full priorities affinity taints", 40),
    "arguments": Shape(
        f"{_MIXED} profiles spreadwide terms scalars", 40, profiles=(_DEFAULT, _WEIGHTED)
    ),
    "arguments-namespaces": Shape(
        "namespaces services profiles taints", 40, profiles=(_DEFAULT, _WEIGHTED)
    ),
    "local-volumes": Shape("volumes local"),
    "exclusive-volumes": Shape("volumes exclusive"),
    "exclusive-preempt": Shape("volumes exclusive full priorities", 20),
    "disks": Shape("disks"),
    "disks-preempt": Shape("disks full priorities", 20),
    "stubborn": Shape("stubborn full priorities budgets", 30),
    "preempt-everything": Shape(
        "stubborn full priorities budgets hostips spreadwide namespaces taints nominated", 30
    ),
    "extender-managed": Shape(
        "scalars",
        extender={
            "nodeCacheCapable": True,
            "managedResources": [{"name": "example.com/card", "ignoredByScheduler": True}],
        },
    ),
    "everything": Shape(
        "gates overhead hostips spreadwide namespaces terms scalars declared resizing nominated"
        " mutating taints services",
        60,
    ),
    "comparisons-on": Shape(
        "taints comparisons", gates={"TaintTolerationComparisonOperators": True}
    ),
    "capacity-scoring-on": Shape("volumes", gates={"StorageCapacityScoring": True}),
    "limit-scaling-on": Shape("volumes attachments", gates={"VolumeLimitScaling": True}),
    "podlevel-off": Shape(
        "podlevel sidecars",
        gates={"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False},
    ),
    "consumable-off": Shape(_DEVICES + " consumable", gates={"DRAConsumableCapacity": False}),
    "partitions-off": Shape(_DEVICES + " partitions", gates={"DRAPartitionableDevices": False}),
    "devicetaints-off": Shape(_DEVICES + " devicetaints", gates={"DRADeviceTaints": False}),
    "alternatives-off": Shape(_DEVICES + " alternatives", gates={"DRAPrioritizedList": False}),
    "extended-off": Shape(_DEVICES + " extended full", gates={"DRAExtendedResource": False}),
    "conditions-off": Shape(_DEVICES + " conditions", gates={"DRADeviceBindingConditions": False}),
}
