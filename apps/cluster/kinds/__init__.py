"""The declarations of all kinds, by the area under which users look for them.

Whatever knows kinds one by one reads it from here: a kind is declared once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.cluster.kind import Kind
from apps.cluster.kinds import (
    access,
    cluster,
    configuration,
    extensions,
    networking,
    policy,
    storage,
    workloads,
)
from apps.cluster.kinds.cluster import EVENT, NAMESPACE, NODE
from apps.cluster.kinds.policy import PRIORITY_CLASS
from apps.cluster.kinds.workloads import POD

__all__ = [
    "ALL",
    "AREAS",
    "EVENT",
    "NAMESPACE",
    "NODE",
    "POD",
    "PRIORITY_CLASS",
    "Kind",
    "by_api_version",
    "by_key",
    "by_name",
]

#: In the order of pages.
AREAS: Final[Mapping[str, tuple[Kind, ...]]] = {
    "Cluster": cluster.KINDS,
    "Workloads": workloads.KINDS,
    "Configuration": configuration.KINDS,
    "Services and networking": networking.KINDS,
    "Storage": storage.KINDS,
    "Policy and scheduling": policy.KINDS,
    "Access": access.KINDS,
    "Admission and extensions": extensions.KINDS,
}
ALL: Final[tuple[Kind, ...]] = tuple(kind for area in AREAS.values() for kind in area)

_BY_NAME: Final = {kind.name: kind for kind in ALL}


def by_key(key: str) -> Kind:
    """The kind with a `key`, also one of a CustomResourceDefinition: its group and plural."""
    kind = _BY_NAME.get(key)
    if kind is not None:
        return kind
    plural, _, group = key.partition(".")
    return Kind(plural, plural, group=group, definition_name=key)


def by_name(name: str) -> Kind:
    """The kind called `name` ("Pod"); raises KeyError if there is none."""
    return _BY_NAME[name]


def by_api_version(api_version: str, name: str) -> Kind:
    """The kind a manifest's apiVersion and kind name; raises KeyError if there is none."""
    kind = _BY_NAME[name]
    if kind.api_version != api_version:
        raise KeyError(f"{api_version} {name}")
    return kind
