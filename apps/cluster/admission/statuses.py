"""The status an object is born with; whatever the client says about it is not taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from apps.cluster.admission.draft import Body
from apps.cluster.pods.qos import qos_class

GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"


def set_initial_status(kind: str, draft: Body) -> None:
    """Replace the status of a new object by the one its kind starts with."""
    initial = _INITIAL.get(kind)
    if initial is not None:
        draft["status"] = initial(draft)


def _pod(pod: Body) -> Body:
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


def _persistent_volume(volume: Body) -> Body:
    moment = volume["metadata"].get("creationTimestamp")
    return {"phase": "Pending", "lastPhaseTransitionTime": moment}


def _budget(_: Body) -> Body:
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return dict.fromkeys(counts, 0)


_DAEMON_COUNTS: Final = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
)
_INITIAL: Final[dict[str, Callable[[Body], Body]]] = {
    "Pod": _pod,
    "Namespace": lambda _: {"phase": "Active"},
    "PersistentVolume": _persistent_volume,
    "PersistentVolumeClaim": lambda _: {"phase": "Pending"},
    "PodDisruptionBudget": _budget,
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
