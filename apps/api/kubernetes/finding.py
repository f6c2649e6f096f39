"""Reads what a request is about: its cluster and, in the same statement, its object."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec
from django.db.models import JSONField

from apps.api.kubernetes.paths import Target
from apps.cluster import kinds, sql
from apps.cluster.errors import NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.writing.rows import Row
from apps.cluster.writing.single_object import row_of

_COLUMNS: Final = Cluster._meta.concrete_fields
_NAMES: Final = ", ".join(f'c."{field.column}"' for field in _COLUMNS)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The cluster and the object of a request."""

    cluster: Cluster
    #: the row of the object, without a body if there is none; None if the request is for no object
    row: Row | None = None
    #: of a Binding: the labels of the node, empty if there is none; None if they were not read
    node_labels: dict[str, str] | None = None


class _Reference(msgspec.Struct):
    name: str = ""


class _Binding(msgspec.Struct):
    target: _Reference = msgspec.field(default_factory=_Reference)


def find_cluster(name: str) -> Cluster:
    """The cluster of a path; NotFound if there is none."""
    return _cluster_of(name, None if "\x00" in name else _read(_cluster_query(), [name]))


def find(cluster_name: str, target: Target, read: Callable[[], bytes]) -> Resolved:
    """The cluster and the object that a request is about; `read` returns its body.

    NotFound if there is no such cluster.
    """
    kind, namespace = target.resource.kind, target.namespace or ""
    keys = [namespace, target.name, cluster_name]
    if not target.name or not target.resource.reads_rows or "\x00" in "".join(keys):
        return Resolved(find_cluster(cluster_name))
    if target.subresource == "binding":
        node = _node_of(read())
        row = _read(_binding_query(), [node, *keys])
        cluster = _cluster_of(cluster_name, row)
        assert row is not None
        labels = json.loads(row[-1] or "{}") if node else None
        return Resolved(cluster, row_of(kind, *row[-4:-1]), labels)
    row = _read(_object_query(kind), keys)
    cluster = _cluster_of(cluster_name, row)
    assert row is not None
    return Resolved(cluster, row_of(kind, *row[-3:]))


def _node_of(raw: bytes) -> str:
    """The node of a Binding in JSON; "" for any other body, whose node is read later."""
    try:
        name = msgspec.json.decode(raw, type=_Binding).target.name
    except msgspec.MsgspecError:
        return ""
    return "" if "\x00" in name else name


def _read(statement: str, parameters: Sequence[str]) -> tuple[Any, ...] | None:
    with sql.preparing_cursor() as cursor:
        cursor.execute(statement, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def _cluster_of(name: str, row: tuple[Any, ...] | None) -> Cluster:
    if row is None:
        raise NotFound("clusters", name)
    # JSON is returned as text, which the ORM would have decoded
    values = [
        json.loads(value) if isinstance(field, JSONField) else value
        for field, value in zip(_COLUMNS, row, strict=False)
    ]
    return Cluster.from_db("default", [field.attname for field in _COLUMNS], values)


@cache
def _cluster_query() -> str:
    return f"SELECT {_NAMES} FROM {Cluster._meta.db_table} c WHERE c.name = %s"


@cache
def _object_query(kind: Kind) -> str:
    return (
        f"SELECT {_NAMES}, o.id, o.resource_version, o.body::text {_from(kind)} WHERE c.name = %s"
    )


@cache
def _binding_query() -> str:
    return (
        f"SELECT {_NAMES}, o.id, o.resource_version, o.body::text, "
        f"(SELECT n.labels::text FROM {kinds.NODE.table} n "
        "WHERE n.cluster_id = c.id AND n.namespace = '' AND n.name = %s) "
        f"{_from(kinds.POD)} WHERE c.name = %s"
    )


def _from(kind: Kind) -> str:
    return (
        f"FROM {Cluster._meta.db_table} c LEFT JOIN {kind.table} o "
        "ON o.cluster_id = c.id AND o.namespace = %s AND o.name = %s"
    )
