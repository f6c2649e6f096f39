"""The status of CustomResourceDefinitions: what a client that writes them gets, and what follows.

The API server accepts the names of a definition, serves it and deletes its objects after the write
that asks for it. Watches see each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.lookups import Lookups

Body = dict[str, Any]

#: What holds a definition that is being deleted until its objects are gone.
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
_ACCEPTED: Final = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
_INSTALLING: Final = (
    "Established",
    "False",
    "Installing",
    "the initial names have been accepted",
)
_ESTABLISHED: Final = (
    "Established",
    "True",
    "InitialNamesAccepted",
    "the initial names have been accepted",
)
_PENDING: Final = (
    "Terminating",
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
_IN_PROGRESS: Final = (
    "Terminating",
    "True",
    "InstanceDeletionInProgress",
    "CustomResource deletion is in progress",
)


def new_status(definition: Mapping[str, Any]) -> Body:
    """The status of a CustomResourceDefinition that was just created."""
    return {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": _stored(definition),
    }


def note_stored_version(definition: Body, lookups: Lookups, old: Mapping[str, Any]) -> None:
    """Add the storage version of an updated definition to those that objects may be stored in.

    An update of the status may leave it out.
    """
    status = definition.setdefault("status", {})
    before = status.get("storedVersions") or []
    if before and definition["spec"] == old["spec"]:
        return
    status["storedVersions"] = [
        *before,
        *(name for name in _stored(definition) if name not in before),
    ]


def _stored(definition: Mapping[str, Any]) -> list[str]:
    versions = definition["spec"].get("versions") or ()
    return [each.get("name", "") for each in versions if each.get("storage")]


def accept_names(definition: Body, at: str) -> Body:
    """The definition with its names accepted, at a time; unchanged if they are."""
    status = definition.get("status") or {}
    names = definition["spec"]["names"]
    if definition["metadata"].get("deletionTimestamp") or status.get("acceptedNames") == names:
        return definition
    accepted = {**definition, "status": {**status, "acceptedNames": names}}
    updated = with_condition(accepted, _ACCEPTED, at)
    if _condition(definition, "Established") is None:
        updated = with_condition(updated, _INSTALLING, at)
    return updated


def establish(definition: Body, at: str) -> Body:
    """The definition as one that is served; unchanged if it is served or being deleted."""
    established = _condition(definition, "Established")
    if definition["metadata"].get("deletionTimestamp") or established is None:
        return definition
    return (
        definition
        if established["status"] == "True"
        else with_condition(definition, _ESTABLISHED, at)
    )


def terminate(definition: Body, at: str) -> Body:
    """The definition marked as being deleted, and held until its objects are deleted."""
    metadata = definition["metadata"]
    if metadata.get("deletionTimestamp"):
        return definition
    finalizers = [name for name in metadata.get("finalizers") or () if name != CLEANUP]
    held = {**metadata, "deletionTimestamp": at, "finalizers": [*finalizers, CLEANUP]}
    return with_condition({**definition, "metadata": held}, _PENDING, at)


def clean_up(definition: Body, at: str) -> Body:
    """The definition whose objects are being deleted."""
    return with_condition(definition, _IN_PROGRESS, at)


def release(definition: Body) -> Body:
    """The definition that its objects hold no longer."""
    metadata = definition["metadata"]
    finalizers = [name for name in metadata.get("finalizers") or () if name != CLEANUP]
    rest = {name: value for name, value in metadata.items() if name != "finalizers"}
    return {
        **definition,
        "metadata": {**rest, **({"finalizers": finalizers} if finalizers else {})},
    }


def with_condition(definition: Body, wanted: tuple[str, str, str, str], at: str) -> Body:
    """The definition with a condition (type, status, reason, message) in place or at the end."""
    name, status, reason, message = wanted
    old = _condition(definition, name)
    since = old["lastTransitionTime"] if old is not None and old["status"] == status else at
    condition = {
        "type": name,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    given = definition.get("status") or {}
    conditions = [
        condition if each["type"] == name else each for each in given.get("conditions") or ()
    ]
    if old is None:
        conditions.append(condition)
    return {**definition, "status": {**given, "conditions": conditions}}


def _condition(definition: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == name), None)
