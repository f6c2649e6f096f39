"""The initial status of an object; the status that the client sends is ignored."""

from __future__ import annotations

from typing import Final

from apps.cluster.admission.draft import Body
from apps.cluster.pods.qos import qos_class

GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"


def initial_pod_status(pod: Body) -> Body:
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


def initial_volume_status(volume: Body) -> Body:
    moment = volume["metadata"].get("creationTimestamp")
    return {"phase": "Pending", "lastPhaseTransitionTime": moment}


def initial_budget_status(_: Body) -> Body:
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return dict.fromkeys(counts, 0)


def initial_daemon_set_status(_: Body) -> Body:
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled")
    return dict.fromkeys((*counts, "numberReady"), 0)


def initial_registration_status(registration: Body) -> Body:
    if (registration.get("spec") or {}).get("service"):
        return {}
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": registration["metadata"].get("creationTimestamp"),
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {"conditions": [available]}
