"""Writes one object that exists: a read, and one statement that takes no lock before it.

    read the row ──▶ apply the writes ──▶ statement ──▶ the row has another version: nothing is
                                              │          written, and the store locks it first
                                              └──▶ committed: version, row and log in one round trip

The statement takes its locks in the order of the store: the row, then the counter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import count
from typing import Any, Final

import msgspec
from django.db import connection

from apps.cluster import kinds, sql
from apps.cluster.allocation.services import may_allocate
from apps.cluster.exchange import exchange
from apps.cluster.kinds import Kind
from apps.cluster.models import Change, Cluster, Taint
from apps.cluster.quota.charging import QUOTA
from apps.cluster.writes import Actor, Create, Write, key_of
from apps.cluster.writing.fragments import log_changes, take_versions
from apps.cluster.writing.rows import PendingChange, Row

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Committed:
    """What was written: the last version, and whether to wake the cluster's loop."""

    version: int
    became_due: bool


def can_write(writes: Sequence[Write]) -> bool:
    """Whether these writes, at least one, may take this way."""
    first = writes[0]
    return (
        not connection.in_atomic_block
        and first.kind is not QUOTA
        and not any(may_allocate(write) for write in writes)
        and all(not isinstance(w, Create) and key_of(w) == key_of(first) for w in writes)
    )


def read_row(cluster: Cluster, kind: Kind, namespace: str, name: str) -> Row:
    """The row of an object, without a lock; it has no body if there is none."""
    with sql.preparing_cursor() as cursor:
        cursor.execute(
            f"SELECT t.id, t.resource_version, t.body::text FROM {kind.table} t "
            "WHERE t.cluster_id = %s AND t.namespace = %s AND t.name = %s",
            [cluster.pk, namespace, name],
        )
        return row_of(kind, *(cursor.fetchone() or (None, None, None)))


def row_of(kind: Kind, row_id: int | None, version: int | None, text: str | None) -> Row:
    """A row as it was read."""
    return Row(kind, row_id, version, None if text is None else sql.load_json(text))


def commit(
    cluster: Cluster,
    row: Row,
    old: Body,
    changes: Sequence[PendingChange],
    *,
    actor: Actor,
    now: datetime,
    wake: bool,
) -> Committed | None:
    """Give the changes of a row their versions and times, and write them.

    `row` has the version that was read, with the body `old`. None, and nothing is written, if it
    has another one now, or if the cluster has quotas: then the store decides.
    """
    kind, last = row.kind, changes[-1].body
    if kind is kinds.NODE and row.body is not None and _taints(last) != _taints(old):
        return None
    text = _statement(kind, tuple(change.type for change in changes))
    metadata = last["metadata"]
    values = [cluster.pk, row.id, row.version, wake, kind.key, metadata.get("namespace", "")]
    values += [metadata["name"], metadata["uid"], now, actor.user, actor.request_id]
    for change in changes:
        values += _split(change.body)
    if row.body is not None:
        values += [json for _, json in _columns(kind, last)]
    with exchange() as sent:
        answer = sent.send(text, values)
        sent.receive()
    if not answer.rows:
        return None
    base, became_due = answer.rows[0]
    for number, change in enumerate(changes, start=1):
        change.version = base + number
        change.at = now + timedelta(microseconds=number - 1)
        change.body["metadata"]["resourceVersion"] = str(change.version)
    return Committed(base + len(changes), became_due)


def _taints(node: Body) -> Any:
    return (node.get("spec") or {}).get("taints") or []


def _split(body: Body) -> tuple[str, str]:
    """The JSON text of an object before and after the digits of its resourceVersion."""
    metadata = {key: value for key, value in body["metadata"].items() if key != "resourceVersion"}
    rest = {key: value for key, value in body.items() if key != "metadata"}
    end = msgspec.json.encode(rest)[1:]
    tail = b'",%b,%b' % (msgspec.json.encode(metadata)[1:], end)
    return '{"metadata":{"resourceVersion":"', tail.decode()


def _columns(kind: Kind, body: Body) -> list[tuple[str, Any]]:
    """The columns of an object that a write may change, besides its version and its body."""
    values = {column: read(body) for column, read in kind.model.projected.items()}
    values["labels"] = body["metadata"].get("labels") or {}
    return [
        (name, msgspec.json.encode(value).decode() if isinstance(value, dict | list) else value)
        for name, value in sorted(values.items())
    ]


#: The parameters before the texts of the changes.
_COMMON: Final = (
    ("cluster", "bigint"),
    ("id", "bigint"),
    ("version", "bigint"),
    ("wake", "boolean"),
    ("kind", "text"),
    ("namespace", "text"),
    ("name", "text"),
    ("uid", "uuid"),
    ("now", "timestamptz"),
    ("user", "text"),
    ("request_id", "text"),
)


@cache
def _statement(kind: Kind, types: tuple[str, ...]) -> str:
    """The statement for changes of these types; the row is deleted if the last is a deletion."""
    changes = len(types)
    given = {name: f"${n}::{type_name}" for n, (name, type_name) in enumerate(_COMMON, 1)}
    texts = [
        f"({n}, '{change_type}', ${place}::text || (base + {n}) || ${place + 1})"
        for n, (change_type, place) in enumerate(zip(types, _places(), strict=False), 1)
    ]
    is_deleted = types[-1] == Change.Type.DELETED
    stored = _deletion(kind, given) if is_deleted else _update(kind, given, changes)
    admission = ["admission_version = c.resource_version + 1"] if kind.is_looked_up else []
    counter = take_versions(
        str(changes),
        f"c.id = {given['cluster']} AND c.quotas = 0 AND EXISTS (SELECT FROM locked)",
        wake=given["wake"],
        assignments=admission,
    )
    logged = log_changes(_log_values(given), "entry ORDER BY version")
    return f"""
        WITH locked AS MATERIALIZED (
            SELECT t.id FROM {kind.model._meta.db_table} t
            WHERE t.id = {given["id"]} AND t.resource_version = {given["version"]}
            FOR NO KEY UPDATE
        ), counter AS MATERIALIZED (
            {counter}
        ), entry AS MATERIALIZED (
            SELECT base, base + ord AS version, ord, type, text::jsonb AS object
            FROM counter, LATERAL (VALUES {", ".join(texts)}) AS change(ord, type, text)
        ), {stored}, logged AS (
            {logged}
        )
        SELECT base, wakes FROM counter
    """


def _log_values(given: dict[str, str]) -> dict[str, str]:
    return {
        "cluster_id": given["cluster"],
        **{
            name: given[name] for name in ("kind", "namespace", "name", "uid", "user", "request_id")
        },
        **{name: name for name in ("version", "type", "object")},
        "previous_version": f"CASE ord WHEN 1 THEN {given['version']} ELSE version - 1 END",
        "at": f"{given['now']} + (ord - 1) * interval '1 microsecond'",
    }


def _places() -> Iterator[int]:
    """The numbers of the first parameter of each change."""
    return count(len(_COMMON) + 1, 2)


def _update(kind: Kind, given: dict[str, str], changes: int) -> str:
    first = len(_COMMON) + 2 * changes + 1
    names = sorted({*kind.model.projected, "labels"})
    columns = [
        f'"{name}" = ${n}::{sql.column_type(kind.model, name)}'
        for n, name in enumerate(names, first)
    ]
    if kind is kinds.EVENT:
        # events expire after a time without an update
        columns.append(f"written_at = {given['now']} + (ord - 1) * interval '1 microsecond'")
    return f"""stored AS (
            UPDATE {kind.model._meta.db_table} t
            SET resource_version = version, body = object, {", ".join(columns)}
            FROM entry WHERE t.id = {given["id"]} AND ord = {changes}
        )"""


def _deletion(kind: Kind, given: dict[str, str]) -> str:
    table, row_id = kind.model._meta.db_table, given["id"]
    deleted = f"""stored AS (
            DELETE FROM {table} WHERE id = {row_id} AND EXISTS (SELECT FROM counter)
        )"""
    if kind is not kinds.NODE:
        return deleted
    return f"""untainted AS (
            DELETE FROM {Taint._meta.db_table} WHERE node_id = {row_id}
                AND EXISTS (SELECT FROM counter)
        ), {deleted}"""
