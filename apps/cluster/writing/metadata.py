"""The metadata that the server sets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from apps.cluster.errors import BadRequest, Conflict
from apps.cluster.kinds import POD, Kind
from apps.cluster.ownership.managers import creation_entry
from apps.cluster.random_ids import random_uuid_text
from apps.cluster.writing.parts import changed_part

Body = dict[str, Any]

#: Fields that an update cannot change.
_SERVER_SET = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "selfLink",
)
#: Metadata whose changes count as changes of the object.
_COUNTED_METADATA = {"Deployment": "annotations", "EndpointSlice": "labels"}


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds, as `metadata.creationTimestamp` is written."""
    return _timestamp(moment.replace(microsecond=0))


@lru_cache(maxsize=64)
def _timestamp(second: datetime) -> str:
    return second.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with microseconds, as a MicroTime is written."""
    return f"{timestamp(moment)[:-1]}.{moment.microsecond:06}Z"


def stamp_new(
    kind: Kind,
    body: Mapping[str, Any],
    namespace: str,
    now: datetime,
    manager: str = "",
    uid: str = "",
    restored: bool = False,
) -> Body:
    """A copy of a new object with its type and the metadata the server sets.

    `manager` is the client that owns its fields; `uid` is random if it is "". One that is
    `restored` keeps its times and its generation. Raises BadRequest if the object names another
    namespace.
    """
    metadata = dict(body.get("metadata") or {})
    if kind.namespaced:
        named = metadata.setdefault("namespace", namespace) or namespace
        if namespace and named != namespace:
            raise BadRequest(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
        metadata["namespace"] = named
    else:
        metadata.pop("namespace", None)
    past = _past(kind, metadata) if restored else {}
    for server_set in (*_SERVER_SET, "resourceVersion"):
        if server_set != "generation" or kind.has_generation:
            metadata.pop(server_set, None)
    metadata["uid"] = uid or random_uuid_text()
    metadata["creationTimestamp"] = created = timestamp(now)
    if kind.has_generation:
        metadata["generation"] = 1
    metadata |= past
    if manager:
        metadata["managedFields"] = [creation_entry(manager, kind.api_version, created)]
    return {
        **body,
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": metadata,
    }


def _past(kind: Kind, metadata: Body) -> Body:
    """What a restored object keeps of the metadata that the server sets."""
    kept = ["creationTimestamp", "generation"] if kind.has_generation else ["creationTimestamp"]
    # whatever nothing holds has been deleted already
    if kind is POD or metadata.get("finalizers"):
        kept += ["deletionTimestamp", "deletionGracePeriodSeconds"]
    return {name: metadata[name] for name in kept if metadata.get(name)}


def stamp_updated(kind: Kind, old: Body, new: Mapping[str, Any], subresource: str) -> Body:
    """`new` with the server's metadata of `old`, and only the part it may change."""
    _check_version(kind, old, new)
    body = changed_part(kind, old, new, subresource)
    body |= {"apiVersion": kind.api_version, "kind": kind.name}
    before = old["metadata"]
    metadata = dict(body.get("metadata") or {})
    for server_set in _SERVER_SET:
        metadata.pop(server_set, None)
        if server_set in before:
            metadata[server_set] = before[server_set]
    metadata["name"] = before["name"]
    if kind.namespaced:
        metadata["namespace"] = before["namespace"]
    # An object that is created in the same transaction has no version yet.
    if "resourceVersion" in before:
        metadata["resourceVersion"] = before["resourceVersion"]
    body["metadata"] = metadata
    return body


def count_generation(kind: Kind, old: Body, new: Body, *, metadata: bool = True) -> None:
    """Increment the generation of `new` if its spec, with all defaults, has changed.

    With `metadata`, changes of the metadata that count for this kind do so, too.
    """
    is_counted = kind.has_generation or kind.counts_changes
    if is_counted and _desired(kind, new, metadata) != _desired(kind, old, metadata):
        generation = old["metadata"].get("generation", 0) + 1
        new["metadata"] = {**new["metadata"], "generation": generation}


def _desired(kind: Kind, body: Body, metadata: bool) -> Any:
    """The part whose changes are counted."""
    counted = _COUNTED_METADATA.get(kind.key) if metadata else None
    also = body["metadata"].get(counted) or {} if counted else {}
    if not kind.is_data:
        return also, body.get("spec")
    return also, {name: v for name, v in body.items() if name not in ("metadata", "status")}


def _check_version(kind: Kind, old: Body, new: Mapping[str, Any]) -> None:
    """Reject an update based on an older version, or on another object."""
    before, after = old["metadata"], new.get("metadata") or {}
    name = before["name"]
    if after.get("uid") and after["uid"] != before["uid"]:
        raise Conflict(
            kind.plural,
            name,
            f"Precondition failed: UID in precondition: {after['uid']}, UID in object meta: "
            f"{before['uid']}",
            kind.group,
        )
    version = after.get("resourceVersion")
    if version and str(version) != before.get("resourceVersion", ""):
        raise Conflict(
            kind.plural,
            name,
            "the object has been modified; please apply your changes to the latest version and "
            "try again",
            kind.group,
        )
