"""What a DELETE makes of an object: gone at once, or marked while something holds it.

Finalizers hold any object; a namespace is held by `spec.finalizers` too, until its contents are
gone; a bound pod by its grace period, until its kubelet has stopped it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.writing.metadata import timestamp

Body = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
DEFAULT_GRACE_SECONDS = 30
#: propagationPolicy -> the finalizer with which the garbage collector is asked for it
_PROPAGATION = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}
#: Kinds of which the garbage collector takes no notice.
_WITHOUT_DEPENDANTS = ("Event", "Lease")


def is_held(kind: Kind, body: Body) -> bool:
    """Whether an object whose deletion was asked for stays for the time being."""
    metadata = body["metadata"]
    if kind is kinds.POD and metadata.get("deletionGracePeriodSeconds"):
        return True
    if kind is kinds.NAMESPACE and (body.get("spec") or {}).get("finalizers"):
        return True
    return bool(metadata.get("finalizers"))


def marked(kind: Kind, body: Body, options: Mapping[str, Any], now: datetime) -> Body:
    """`body` with what the server notes of a deletion with these DeleteOptions.

    A second deletion changes nothing, but that it may shorten a pod's grace period.
    """
    if body["metadata"].get("deletionTimestamp"):
        return _hurried(body, options) if kind is kinds.POD else body
    grace = _grace_seconds(body, options) if kind is kinds.POD else 0
    metadata = {**body["metadata"], "deletionTimestamp": timestamp(now + timedelta(seconds=grace))}
    if kind.has_generation:
        metadata["generation"] = metadata.get("generation", 0) + 1
    if kind is kinds.NAMESPACE:
        status = {**(body.get("status") or {}), "phase": "Terminating"}
        return {**body, "metadata": metadata, "status": status}
    metadata["deletionGracePeriodSeconds"] = grace
    finalizers = _finalizers(kind, metadata, options)
    if finalizers:
        metadata["finalizers"] = finalizers
    return {**body, "metadata": metadata}


def _hurried(pod: Body, options: Mapping[str, Any]) -> Body:
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
    """How long a pod may take to stop; nothing runs of one that has no node or is finished."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    grace = options.get("gracePeriodSeconds")
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
    return 1 if grace < 0 else int(grace)


def _finalizers(kind: Kind, metadata: Body, options: Mapping[str, Any]) -> list[str]:
    present = metadata.get("finalizers") or []
    policy = options.get("propagationPolicy")
    if policy is None and options.get("orphanDependents") is not None:
        policy = "Orphan" if options["orphanDependents"] else "Background"
    if policy is None or kind.name in _WITHOUT_DEPENDANTS:
        return present
    wanted = _PROPAGATION.get(policy, "")
    others = [name for name in present if name not in (FOREGROUND, ORPHAN)]
    return [*others, wanted] if wanted else others
