"""What the API server writes in a status even if it is empty, and what it leaves out."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.draft import Body, child, drop_empty

#: Fields with the value that is written if there is none.
_WRITTEN: Final[Mapping[str, Mapping[str, Any]]] = {
    "DaemonSet": {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    "Ingress": {"loadBalancer": {}},
    "PersistentVolume": {"phase": "Pending"},
    "PersistentVolumeClaim": {"phase": "Pending"},
    "PodDisruptionBudget": {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
    "ReplicaSet": {"replicas": 0},
    "ReplicationController": {"replicas": 0},
    "Service": {"loadBalancer": {}},
    "StatefulSet": {"replicas": 0, "availableReplicas": 0},
    "VolumeAttachment": {"attached": False},
}
_GENERATION: Final = "observedGeneration"
_LEFT_OUT: Final[Mapping[str, tuple[str, ...]]] = {
    "DaemonSet": (
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        _GENERATION,
    ),
    "Deployment": (
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        _GENERATION,
    ),
    "HorizontalPodAutoscaler": ("currentReplicas",),
    "Job": ("active", "succeeded", "failed"),
    "PodDisruptionBudget": (_GENERATION,),
    "ReplicaSet": ("fullyLabeledReplicas", "readyReplicas", "availableReplicas", _GENERATION),
    "ReplicationController": (
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        _GENERATION,
    ),
    "StatefulSet": ("readyReplicas", "currentReplicas", "updatedReplicas", _GENERATION),
}
_CHANGED: Final = {"lastTransitionTime": None}
_PROBED: Final = {"lastProbeTime": None, **_CHANGED}
_STANDARD: Final = {**_CHANGED, "reason": "", "message": ""}
#: The same of a condition.
_CONDITIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    **dict.fromkeys(
        (
            "APIService",
            "CustomResourceDefinition",
            "DaemonSet",
            "FlowSchema",
            "HorizontalPodAutoscaler",
            "Namespace",
            "PriorityLevelConfiguration",
            "ReplicaSet",
            "ReplicationController",
            "StatefulSet",
        ),
        _CHANGED,
    ),
    **dict.fromkeys(("Job", "PersistentVolumeClaim", "Pod"), _PROBED),
    **dict.fromkeys(
        (
            "PodDisruptionBudget",
            "PodGroup",
            "Service",
            "ServiceCIDR",
            "ValidatingAdmissionPolicy",
        ),
        _STANDARD,
    ),
    "Deployment": {"lastUpdateTime": None, **_CHANGED},
    "Node": {"lastHeartbeatTime": None, **_CHANGED},
}


def default_status(kind: str, draft: Body) -> None:
    """Write the status of an object as the API server writes it."""
    written = _WRITTEN.get(kind)
    if written is not None:
        status = child(draft, "status")
        for name, value in written.items():
            status.setdefault(name, copy.copy(value))
    else:
        status = draft.get("status") or {}
    if not status:
        return
    drop_empty(status, *_LEFT_OUT.get(kind, ()))
    if kind in _CONDITIONS and kind != "CustomResourceDefinition":
        drop_empty(status, "conditions")
    for condition in status.get("conditions") or ():
        for name, value in _CONDITIONS.get(kind, {}).items():
            condition.setdefault(name, value)
    more = _MORE.get(kind)
    if more is not None:
        more(draft, status)


def _default_service(service: Body, status: Body) -> None:
    if service["spec"].get("type") == "LoadBalancer":
        for ingress in status["loadBalancer"].get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


_MORE: Final = {"Service": _default_service}
