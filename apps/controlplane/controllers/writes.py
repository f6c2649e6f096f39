"""Writes that several controllers make."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from apps.cluster import kinds
from apps.cluster.binding import with_condition
from apps.cluster.operations import Create, Modify, Operation, Remove
from apps.controlplane.controllers.world import Ref
from apps.controlplane.pod_events import pod_event
from apps.scheduler.objects import Pod

Body = dict[str, Any]


def delete_pod(pod: Pod, *, grace_seconds: int | None = None) -> Remove:
    """Delete this very pod."""
    options: Body = {"preconditions": {"uid": pod.metadata.uid}}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return Remove(kinds.POD, pod.metadata.namespace, pod.metadata.name, options)


def disrupt(pod: Pod, reason: str, message: str, now: datetime, **status: str) -> Modify:
    """Give a pod the condition DisruptionTarget, and other fields of its status."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}

    def change(body: Body) -> Body:
        current = {**(body.get("status") or {}), **status}
        conditions = current.get("conditions") or []
        current["conditions"] = with_condition(conditions, dict(condition), now)
        return {**body, "status": current}

    return change_of(("Pod", pod.metadata.namespace, pod.metadata.name), pod.metadata.uid, change)


def change_of(ref: Ref, uid: str, change: Callable[[Body], Body]) -> Modify:
    """Change any part of this very object but its spec's generation."""
    kind, namespace, name = ref
    return Modify(kinds.by_name(kind), namespace, name, change, "controller", trusted=True, uid=uid)


def set_status(ref: Ref, uid: str, status: Body) -> Modify:
    """Set these fields of an object's status; None takes one away."""

    def change(body: Body) -> Body:
        current = {**(body.get("status") or {}), **status}
        kept = {name: value for name, value in current.items() if value is not None}
        return {**body, "status": kept}

    return change_of(ref, uid, change)


def tell(pod: Pod, reason: str, note: str, action: str, now: datetime, reporter: str) -> Operation:
    """An event about a pod."""
    meta = pod.metadata
    event: Create = pod_event(
        {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
        reason=reason,
        note=note,
        action=action,
        now=now,
        serial=0,
        reporter=reporter,
    )
    return event


def is_active(pod: Pod) -> bool:
    """Whether a workload counts the pod: it is not finished and not being deleted."""
    return pod.status.phase not in ("Succeeded", "Failed") and not pod.metadata.deletion_timestamp


def is_ready(pod: Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)
