"""What an update may change: the object without its status, or the part of a subresource."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.pods.resizing import record_allocation

Body = dict[str, Any]

#: The conditions of a CertificateSigningRequest that only `approval` sets.
APPROVALS: Final = ("Approved", "Denied")
#: What a controller changes: the object with its status.
BY_CONTROLLER: Final = "controller"
#: Parts whose updates may change the spec, which is counted in the generation.
SPEC_PARTS: Final = frozenset({"", BY_CONTROLLER, "ephemeralcontainers", "resize"})


def changed_part(kind: Kind, old: Body, new: Mapping[str, Any], subresource: str) -> Body:
    """`new` with everything that an update of this subresource leaves alone as in `old`."""
    if subresource == "status":
        return _status(kind, old, new)
    part = _PARTS.get(subresource)
    if part is not None:
        return part(old, new)
    body = dict(new)
    if kind.has_status and not subresource:
        body.pop("status", None)
        if "status" in old:
            body["status"] = old["status"]
    if kind is kinds.NAMESPACE and not subresource:
        # only `finalize` changes its finalizers
        body["spec"] = old.get("spec") or {}
    return body


def _status(kind: Kind, old: Body, new: Mapping[str, Any]) -> Body:
    status = copy.deepcopy(new.get("status") or {})
    if old["kind"] == "CertificateSigningRequest":
        conditions = status.pop("conditions", None) or ()
        given = [each for each in conditions if each["type"] not in APPROVALS]
        known = (old.get("status") or {}).get("conditions") or ()
        if kept := [each for each in known if each["type"] in APPROVALS] + given:
            status["conditions"] = kept
    if old["kind"] == "PersistentVolume" and "lastPhaseTransitionTime" not in status:
        moment = (old.get("status") or {}).get("lastPhaseTransitionTime")
        status |= {"lastPhaseTransitionTime": moment} if moment else {}
    metadata = new.get("metadata") or old["metadata"]
    names = kind.status_keeps
    others = {name: value for name, value in metadata.items() if name not in names}
    own = {name: old["metadata"][name] for name in names if name in old["metadata"]}
    return {**old, "status": status, "metadata": {**others, **own}}


def _approval(old: Body, new: Mapping[str, Any]) -> Body:
    """The old object with the conditions of the new one: only these change."""
    status = dict(old.get("status") or {})
    status["conditions"] = copy.deepcopy((new.get("status") or {}).get("conditions") or [])
    return {**old, "status": status, "metadata": new.get("metadata") or old["metadata"]}


def _ephemeral_containers(old: Body, new: Mapping[str, Any]) -> Body:
    containers = copy.deepcopy((new.get("spec") or {}).get("ephemeralContainers") or [])
    spec = {**old["spec"], "ephemeralContainers": containers}
    if not containers:
        del spec["ephemeralContainers"]
    return _with_version(old, new, spec)


def _resize(old: Body, new: Mapping[str, Any]) -> Body:
    """The spec; the status keeps what the containers have until the node resizes them."""
    resized = _with_version(old, new, copy.deepcopy(new.get("spec") or {}))
    return {**resized, "status": record_allocation(old)}


def _with_version(old: Body, new: Mapping[str, Any], spec: Body) -> Body:
    """`old` with another spec, and the version that the update is based on."""
    version = (new.get("metadata") or {}).get("resourceVersion")
    metadata = {**old["metadata"], **({"resourceVersion": version} if version else {})}
    return {**old, "spec": spec, "metadata": metadata}


_PARTS: Final[Mapping[str, Callable[[Body, Mapping[str, Any]], Body]]] = {
    "approval": _approval,
    "ephemeralcontainers": _ephemeral_containers,
    "resize": _resize,
}
