"""The shapes of clusters that are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tools.truth.sampled import EVERY_CANDIDATE

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


_MIXED = "images spread affinity nodeaffinity taints priorities services"
_DEVICES = "devices priorities"
_BOTH = ({"schedulerName": "default-scheduler"}, _SECOND)

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
