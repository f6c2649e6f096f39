"""Deletes an object at once, or marks it as being deleted while something holds it.

Finalizers hold any object; a namespace is also held by `spec.finalizers` until its contents are
deleted, and a bound pod by its grace period until its kubelet has stopped it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from apps.cluster import kinds
from apps.cluster.admission import custom_definitions
from apps.cluster.kinds import Kind
from apps.cluster.writing.metadata import timestamp

Body = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
DEFAULT_GRACE_SECONDS = 30
#: propagationPolicy -> the finalizer that requests it from the garbage collector
_PROPAGATION = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}


def is_held(kind: Kind, body: Body) -> bool:
    """Whether something still holds an object whose deletion was requested."""
    metadata = body["metadata"]
    if kind is kinds.POD and metadata.get("deletionGracePeriodSeconds"):
        return True
    if kind is kinds.NAMESPACE and (body.get("spec") or {}).get("finalizers"):
        return True
    return bool(metadata.get("finalizers"))


def mark_deleted(kind: Kind, body: Body, options: Mapping[str, Any], now: datetime) -> Body:
    """`body` marked as being deleted, as these DeleteOptions request.

    A second deletion can only shorten a pod's grace period, and say what becomes of the dependants.
    """
    if kind is kinds.NAMESPACE and not body["metadata"].get("deletionTimestamp"):
        return _terminating(body, now)
    if kind.key == "CustomResourceDefinition":
        return custom_definitions.terminate(dict(body), timestamp(now))
    metadata = {**body["metadata"]}
    if metadata.get("deletionTimestamp"):
        body = _shorten_grace_period(body, options) if kind is kinds.POD else body
        metadata = {**body["metadata"]}
    else:
        grace = _grace_seconds(body, options) if kind is kinds.POD else 0
        metadata["deletionTimestamp"] = timestamp(now + timedelta(seconds=grace))
        metadata["deletionGracePeriodSeconds"] = grace
        if kind.has_generation:
            metadata["generation"] = metadata.get("generation", 0) + 1
    metadata["finalizers"] = _finalizers(kind, metadata, options)
    if not metadata["finalizers"]:
        del metadata["finalizers"]
    return {**body, "metadata": metadata}


def _terminating(namespace: Body, now: datetime) -> Body:
    metadata = {**namespace["metadata"], "deletionTimestamp": timestamp(now)}
    status = {**(namespace.get("status") or {}), "phase": "Terminating"}
    return {**namespace, "metadata": metadata, "status": status}


def _shorten_grace_period(pod: Body, options: Mapping[str, Any]) -> Body:
    metadata = pod["metadata"]
    asked, left = options.get("gracePeriodSeconds"), metadata.get("deletionGracePeriodSeconds") or 0
    if asked is None or asked >= left:
        return pod
    grace = max(asked, 1) if asked < 0 else asked
    end = datetime.fromisoformat(metadata["deletionTimestamp"]).astimezone(UTC)
    moment = timestamp(end - timedelta(seconds=left - grace))
    changed = {"deletionTimestamp": moment, "deletionGracePeriodSeconds": grace}
    return {**pod, "metadata": {**metadata, **changed}}


def _grace_seconds(pod: Body, options: Mapping[str, Any]) -> int:
    """The grace period; 0 for a pod that has no node or has finished."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    grace = options.get("gracePeriodSeconds")
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
    return 1 if grace < 0 else int(grace)


def _finalizers(kind: Kind, metadata: Body, options: Mapping[str, Any]) -> list[str]:
    present = metadata.get("finalizers") or []
    if kind.is_record:
        return list(present)
    others = [name for name in present if name not in (FOREGROUND, ORPHAN)]
    wanted = _wanted_finalizer(kind, present, options)
    if wanted in present:
        return list(present)
    return [*others, wanted] if wanted else others


def _wanted_finalizer(kind: Kind, present: Sequence[str], options: Mapping[str, Any]) -> str:
    """The finalizer for what becomes of the dependants: asked for now or before, or the default."""
    policy = options.get("propagationPolicy")
    if policy is not None:
        return _PROPAGATION.get(policy, "")
    if options.get("orphanDependents") is not None:
        return ORPHAN if options["orphanDependents"] else ""
    for before in (ORPHAN, FOREGROUND):
        if before in present:
            return before
    return ORPHAN if kind.orphans else ""
