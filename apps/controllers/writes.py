"""Writes shared by several controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.writes import Create, Delete, Update
from apps.cluster.writing.binding import set_condition
from apps.cluster.writing.parts import BY_CONTROLLER
from apps.controllers.cache import Ref
from apps.controllers.controller import ReportedWrite, Requeue, parse_time
from apps.controllers.events.writer import PendingEvent, pod_reference
from apps.scheduler.objects import Pod

Body = dict[str, Any]

#: Pods of one workload that are created or deleted at once, whatever number it names.
BURST: Final = 500


def delete_pod(pod: Pod, *, grace_seconds: int | None = None) -> Delete:
    """Delete the pod with this UID."""
    options: Body = {"preconditions": {"uid": pod.metadata.uid}}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return Delete(kinds.POD, pod.metadata.namespace, pod.metadata.name, options)


def disrupt(pod: Pod, reason: str, message: str, now: datetime, **status: str) -> Update:
    """Set the condition DisruptionTarget and other fields of a pod's status."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}

    def change(body: Body) -> Body:
        current = {**(body.get("status") or {}), **status}
        conditions = current.get("conditions") or []
        current["conditions"] = set_condition(conditions, dict(condition), now)
        return {**body, "status": current}

    return update_object(
        ("Pod", pod.metadata.namespace, pod.metadata.name), pod.metadata.uid, change
    )


def update_object(ref: Ref, uid: str, change: Callable[[Body], Body]) -> Update:
    """Change the object with this UID, its status included."""
    kind, namespace, name = ref
    return Update(kinds.by_key(kind), namespace, name, change, BY_CONTROLLER, trusted=True, uid=uid)


def remove_owner(body: Body, uid: str) -> Body:
    """The object without its reference to this owner."""
    metadata = dict(body["metadata"])
    owners = [each for each in metadata.pop("ownerReferences", []) if each["uid"] != uid]
    if owners:
        metadata["ownerReferences"] = owners
    return {**body, "metadata": metadata}


def set_status(ref: Ref, uid: str, status: Body) -> Update:
    """Set these fields of an object's status; None removes a field."""

    def change(body: Body) -> Body:
        current = {**(body.get("status") or {}), **status}
        kept = {name: value for name, value in current.items() if value is not None}
        return {**body, "status": kept}

    return update_object(ref, uid, change)


def object_reference(body: Body) -> dict[str, str]:
    """The reference to a stored object in events."""
    metadata = body["metadata"]
    named = {name: metadata[name] for name in ("name", "uid", "resourceVersion")}
    home = {"namespace": metadata["namespace"]} if metadata.get("namespace") else {}
    return {"kind": body["kind"], "apiVersion": body["apiVersion"], **home, **named}


def reference_to(pod: Pod) -> dict[str, str]:
    """The reference to a pod in events."""
    metadata = pod.metadata
    return pod_reference(metadata.namespace, metadata.name, metadata.uid, metadata.resource_version)


def create_with_event(owner: Body, pod: Create, reporter: str) -> ReportedWrite:
    """Create a pod of a workload, and record the outcome as an event."""
    subject = object_reference(owner)

    def on_success(body: Body) -> PendingEvent:
        note = f"Created pod: {body['metadata']['name']}"
        return PendingEvent(subject, "SuccessfulCreate", note, reporter)

    def on_failure(refusal: ApiError) -> PendingEvent | None:
        if is_ending(refusal):
            return None
        note = f"Error creating: {refusal.message}"
        return PendingEvent(subject, "FailedCreate", note, reporter, warning=True)

    return ReportedWrite(pod, on_success, on_failure)


def is_ending(refusal: ApiError) -> bool:
    """Whether an object was refused because its namespace is being deleted."""
    causes = refusal.details.get("causes") or ()
    return any(each.get("reason") == "NamespaceTerminating" for each in causes)


def delete_with_event(owner: Body, pod: Pod, reporter: str) -> ReportedWrite:
    """Delete a pod of a workload, and record an event."""
    event = PendingEvent(
        object_reference(owner), "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}", reporter
    )
    return ReportedWrite(delete_pod(pod), lambda _: event)


def available_at(pod: Pod, min_ready_seconds: int) -> datetime | None:
    """When a pod is available, after `min_ready_seconds`; None while it is not ready."""
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "True":
            since = condition.last_transition_time or pod.metadata.creation_timestamp
            if since:
                return parse_time(since) + timedelta(seconds=min(min_ready_seconds, 10**9))
    return None


def availability(
    pods: Iterable[Pod], workload: Body, now: datetime
) -> tuple[set[str], list[Requeue]]:
    """The names of the available pods, and when the next ready pod becomes available."""
    seconds = workload["spec"].get("minReadySeconds") or 0
    ends = {pod.metadata.name: available_at(pod, seconds) for pod in pods}
    waiting = [end for end in ends.values() if end is not None and end > now]
    available = {name for name, end in ends.items() if end is not None and end <= now}
    return available, [Requeue(min(waiting))] if waiting else []


def is_unfinished(pod: Pod) -> bool:
    return pod.status.phase not in ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    """Whether a workload counts the pod: it is not finished and not being deleted."""
    return is_unfinished(pod) and not pod.metadata.deletion_timestamp


def is_terminating(pod: Pod) -> bool:
    """Whether the pod is being deleted and has not ended yet."""
    return is_unfinished(pod) and bool(pod.metadata.deletion_timestamp)


def is_ready(pod: Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)
