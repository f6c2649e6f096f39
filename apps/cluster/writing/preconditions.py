"""Preconditions for creating or deleting an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.cluster import kinds
from apps.cluster.admission.draft import forbidden
from apps.cluster.errors import Conflict, Forbidden, NotFound
from apps.cluster.kinds import Kind
from apps.cluster.lookups import Lookups
from apps.cluster.system_classes import SYSTEM_CLASSES

Body = dict[str, Any]

#: Kinds whose deletion only sets a time at first: storage checks it, in its own words.
_CHECKED_BY_STORAGE = frozenset({"Namespace", "CustomResourceDefinition"})
_IMMORTAL_NAMESPACES = frozenset({"default", "kube-public", "kube-system"})


def check_namespace(kind: Kind, body: Body, lookups: Lookups) -> None:
    """Raise NotFound if a new object's namespace does not exist, Forbidden if it is terminating."""
    if not kind.namespaced:
        return
    metadata = body["metadata"]
    name = metadata.get("name") or metadata.get("generateName") or ""
    namespace = metadata.get("namespace", "")
    stored = lookups.namespace(namespace)
    if stored is None:
        raise NotFound("namespaces", namespace)
    if stored["metadata"].get("deletionTimestamp"):
        raise Forbidden(
            f'{kind.qualified_plural} "{name}" is forbidden: unable to create new content in '
            f"namespace {namespace} because it is being terminated",
            details={
                "name": name,
                "kind": kind.plural,
                "causes": [
                    {
                        "reason": "NamespaceTerminating",
                        "message": f"namespace {namespace} is being terminated",
                        "field": "metadata.namespace",
                    }
                ],
            },
        )


def check_deletable(kind: Kind, body: Body) -> None:
    """Raise Forbidden for a system namespace or priority class."""
    name = body["metadata"]["name"]
    if kind is kinds.NAMESPACE and name in _IMMORTAL_NAMESPACES:
        raise Forbidden(
            f'namespaces "{name}" is forbidden: this namespace may not be deleted',
            details={"name": name, "kind": kind.plural},
        )
    if kind is kinds.PRIORITY_CLASS and name in SYSTEM_CLASSES:
        why = "this is a system priority class and cannot be deleted"
        raise forbidden(kind.plural, name, why, kind.group)


def check_preconditions(kind: Kind, body: Body, wanted: Mapping[str, Any]) -> None:
    """Raise Conflict if the object's UID or version is not the one that the deletion requires."""
    metadata = body["metadata"]
    for precondition, label, actual, guess in (
        ("uid", "UID", metadata["uid"], "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", metadata.get("resourceVersion", ""), "modified"),
    ):
        asked = wanted.get(precondition)
        if asked and asked != actual and kind.key in _CHECKED_BY_STORAGE:
            why = (
                f"Precondition failed: {label} in precondition: {asked}, {label} in object meta: "
                f"{actual}"
            )
            raise Conflict(kind.plural, metadata["name"], why, kind.group)
        if asked and asked != actual:
            raise Conflict(
                kind.name,
                metadata["name"],
                f"the {label} in the precondition ({asked}) does not match the {label} in record "
                f"({actual}). The object might have been {guess}",
                kind.group,
            )
