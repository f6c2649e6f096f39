"""The status of CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.lookups import Lookups

Body = dict[str, Any]

_IS_ESTABLISHED: Final = (
    ("NamesAccepted", "NoConflicts", "no conflicts found"),
    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
)


def establish(definition: Body, lookups: Lookups, old: Mapping[str, Any]) -> None:
    """Set the status of an updated definition."""
    definition["status"] = established_status(definition)


def established_status(definition: Mapping[str, Any]) -> Body:
    """The status of a CustomResourceDefinition, which is served at once."""
    spec, status = definition["spec"], dict(definition.get("status") or {})
    stored = [each.get("name", "") for each in spec.get("versions") or () if each.get("storage")]
    before = [name for name in status.get("storedVersions") or () if name not in stored]
    status["acceptedNames"] = spec.get("names") or {}
    status["storedVersions"] = [*before, *stored]
    if not status.get("conditions"):
        at = definition["metadata"].get("creationTimestamp")
        status["conditions"] = [
            {
                "type": name,
                "status": "True",
                "lastTransitionTime": at,
                "reason": reason,
                "message": message,
            }
            for name, reason, message in _IS_ESTABLISHED
        ]
    return status
