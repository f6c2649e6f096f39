"""The initial status of an object; the status that the client sends is ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from apps.cluster.admission.draft import Body
from apps.cluster.pods.qos import qos_class

GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"


def set_initial_status(kind: str, draft: Body) -> None:
    """Set the initial status of a new object."""
    initial = _INITIAL.get(kind)
    if initial is not None:
        draft["status"] = initial(draft)


def _initial_pod_status(pod: Body) -> Body:
    spec = pod.get("spec") or {}
    status: Body = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": GATED_MESSAGE,
                "lastProbeTime": None,
                "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
            }
        ]
    return status


def _initial_volume_status(volume: Body) -> Body:
    moment = volume["metadata"].get("creationTimestamp")
    return {"phase": "Pending", "lastPhaseTransitionTime": moment}


def _initial_budget_status(_: Body) -> Body:
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return dict.fromkeys(counts, 0)


_DAEMON_COUNTS: Final = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
)
_INITIAL: Final[dict[str, Callable[[Body], Body]]] = {
    "Pod": _initial_pod_status,
    "Namespace": lambda _: {"phase": "Active"},
    "PersistentVolume": _initial_volume_status,
    "PersistentVolumeClaim": lambda _: {"phase": "Pending"},
    "PodDisruptionBudget": _initial_budget_status,
    "ResourceQuota": lambda _: {},
    "Service": lambda _: {"loadBalancer": {}},
    "ReplicationController": lambda _: {"replicas": 0},
    "ReplicaSet": lambda _: {"replicas": 0},
    "StatefulSet": lambda _: {"replicas": 0, "availableReplicas": 0},
    "Deployment": lambda _: {},
    "DaemonSet": lambda _: dict.fromkeys(_DAEMON_COUNTS, 0),
    "Job": lambda _: {},
    "VolumeAttachment": lambda _: {"attached": False},
}
