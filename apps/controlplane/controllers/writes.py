"""Writes that several controllers make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.writes import Create, Delete, Update
from apps.cluster.writing.binding import with_condition
from apps.controlplane.controllers.controller import Later, Reported, moment
from apps.controlplane.controllers.world import Ref
from apps.controlplane.events.writer import Told, about_pod
from apps.scheduler.objects import Pod

Body = dict[str, Any]


def delete_pod(pod: Pod, *, grace_seconds: int | None = None) -> Delete:
    """Delete this very pod."""
    options: Body = {"preconditions": {"uid": pod.metadata.uid}}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return Delete(kinds.POD, pod.metadata.namespace, pod.metadata.name, options)


def disrupt(pod: Pod, reason: str, message: str, now: datetime, **status: str) -> Update:
    """Give a pod the condition DisruptionTarget, and other fields of its status."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}

    def change(body: Body) -> Body:
        current = {**(body.get("status") or {}), **status}
        conditions = current.get("conditions") or []
        current["conditions"] = with_condition(conditions, dict(condition), now)
        return {**body, "status": current}

    return change_of(("Pod", pod.metadata.namespace, pod.metadata.name), pod.metadata.uid, change)


def change_of(ref: Ref, uid: str, change: Callable[[Body], Body]) -> Update:
    """Change any part of this very object but its spec's generation."""
    kind, namespace, name = ref
    return Update(kinds.by_name(kind), namespace, name, change, "controller", trusted=True, uid=uid)


def set_status(ref: Ref, uid: str, status: Body) -> Update:
    """Set these fields of an object's status; None takes one away."""

    def change(body: Body) -> Body:
        current = {**(body.get("status") or {}), **status}
        kept = {name: value for name, value in current.items() if value is not None}
        return {**body, "status": kept}

    return change_of(ref, uid, change)


def about(body: Body) -> dict[str, str]:
    """A stored object, as events refer to it."""
    metadata = body["metadata"]
    named = {"name": metadata["name"], "uid": metadata["uid"]}
    home = {"namespace": metadata["namespace"]} if metadata.get("namespace") else {}
    return {"kind": body["kind"], "apiVersion": body["apiVersion"], **home, **named}


def about_this(pod: Pod) -> dict[str, str]:
    """A pod, as events refer to it."""
    return about_pod(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def create_told(owner: Body, pod: Create, reporter: str) -> Reported:
    """Create a pod of a workload, and say so, or why not."""
    subject = about(owner)

    def done(body: Body) -> Told:
        note = f"Created pod: {body['metadata']['name']}"
        return Told(subject, "SuccessfulCreate", note, reporter)

    def failed(refusal: ApiError) -> Told:
        note = f"Error creating: {refusal.message}"
        return Told(subject, "FailedCreate", note, reporter, warning=True)

    return Reported(pod, done, failed)


def delete_told(owner: Body, pod: Pod, reporter: str) -> Reported:
    """Delete a pod of a workload, and say so."""
    told = Told(about(owner), "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}", reporter)
    return Reported(delete_pod(pod), lambda _: told)


def available_at(pod: Pod, min_ready_seconds: int) -> datetime | None:
    """When a pod has been ready for so long; None while it is not ready."""
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "True":
            since = condition.last_transition_time or pod.metadata.creation_timestamp
            if since:
                return moment(since) + timedelta(seconds=min(min_ready_seconds, 10**9))
    return None


def availability(
    pods: Iterable[Pod], workload: Body, now: datetime
) -> tuple[set[str], list[Later]]:
    """The names of the pods that are available, and when the next of the ready ones will be."""
    seconds = workload["spec"].get("minReadySeconds") or 0
    ends = {pod.metadata.name: available_at(pod, seconds) for pod in pods}
    waiting = [end for end in ends.values() if end is not None and end > now]
    available = {name for name, end in ends.items() if end is not None and end <= now}
    return available, [Later(min(waiting))] if waiting else []


def is_active(pod: Pod) -> bool:
    """Whether a workload counts the pod: it is not finished and not being deleted."""
    return pod.status.phase not in ("Succeeded", "Failed") and not pod.metadata.deletion_timestamp


def is_ready(pod: Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)
