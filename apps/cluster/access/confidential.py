"""Kinds of objects that viewers do not read, as with the role `view` of Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.cluster.access.gate import require_role
from apps.cluster.access.grants import AnyUser, role_of
from apps.cluster.models import Cluster, DataObject, HistoricChange
from apps.cluster.roles import Role

#: The role that reads them.
READER: Final = Role.OPERATOR
#: Their keys, with group and resource. All are kinds that are only data.
KINDS: Final[Mapping[str, tuple[str, str]]] = {"Secret": ("", "secrets")}


def reader_of(group: str, plural: str) -> Role:
    """The role that reading these resources requires; `*` stands for all of them."""
    for its_group, resource in KINDS.values():
        if group in (its_group, "*") and plural in (resource, "*"):
            return READER
    return Role.VIEWER


def hidden_kinds(user: AnyUser, cluster: Cluster) -> tuple[str, ...]:
    """The keys of the kinds whose objects the user does not read, of a cluster that it sees."""
    role = role_of(user, cluster.pk) or Role.VIEWER
    return tuple(KINDS) if role < READER else ()


def require_reading(user: AnyUser, cluster: Cluster, key: str) -> None:
    """Forbidden unless the user reads objects of the kind with this key."""
    if key in KINDS:
        require_role(user, cluster.pk, cluster.name, READER)


def require_copying(user: AnyUser, cluster: Cluster) -> None:
    """Forbidden if the owner of a copy with its history would read what is hidden from the user."""
    hidden = hidden_kinds(user, cluster)
    there = DataObject.objects.filter(cluster=cluster, kind__in=hidden)
    if hidden and (there.exists() or _had(cluster, hidden)):
        require_role(user, cluster.pk, cluster.name, READER)


def _had(cluster: Cluster, keys: tuple[str, ...]) -> bool:
    return HistoricChange.objects.filter(cluster=cluster, kind__in=keys).exists()
