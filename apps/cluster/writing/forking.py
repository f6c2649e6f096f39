"""Gives a fork the objects of another cluster at a version.

Like `copying`, it admits, validates and stamps nothing. The fork shares the change log of the other
cluster up to the version (`apps.cluster.log.sharing`): its objects get no changes in its own log.
Bodies of unchanged objects do not leave the database. Events are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db import connection
from django.db.backends.utils import CursorWrapper

from apps.cluster import kinds, sql
from apps.cluster.errors import Expired
from apps.cluster.models import Cluster, DataObject, ForkPoint, KubernetesObject
from apps.cluster.writing.fragments import insert_taints

Body = dict[str, Any]

_MODELS: Final = tuple(dict.fromkeys(kind.model for kind in kinds.ALL if kind is not kinds.EVENT))
_OWN_TABLES: Final = [model.__name__ for model in _MODELS if model is not DataObject]
_UNCHANGED = """
    INSERT INTO {table} (cluster_id, {columns})
    SELECT %(fork)s, {columns} FROM {table}
    WHERE cluster_id = %(source)s AND resource_version <= %(version)s ORDER BY id
"""
_UNCHANGED_BY_ID = """
    INSERT INTO {table} (id, cluster_id, {columns})
    SELECT k.number, %(fork)s, {columns}
    FROM unnest(%(ids)s::bigint[], %(numbers)s::bigint[]) k(original, number)
    JOIN {table} o ON o.id = k.original
"""
#: The objects of some kinds that have changed since, as they were; and when they were created.
_CHANGED = """
    WITH later AS (
        SELECT DISTINCT ON (uid) uid, previous_version FROM cluster_history
        WHERE cluster_id = %(source)s AND version > %(version)s
        AND (kind = %(kind)s OR %(kind)s = '' AND kind <> ALL(%(others)s)) ORDER BY uid, version
    )
    SELECT l.uid::text, c.kind, c."object"::text, added.at FROM later l
    LEFT JOIN cluster_history c
        ON c.cluster_id = %(source)s AND c.version = l.previous_version
    LEFT JOIN cluster_history added
        ON added.cluster_id = %(source)s AND added.uid = l.uid AND added.type = 'ADDED'
    WHERE l.previous_version IS NOT NULL
"""
#: The unchanged and the changed objects in the order of their creation.
_ORDER = """
    SELECT o.uid::text, o.id FROM (
        SELECT uid, id FROM {table}
        WHERE cluster_id = %(source)s AND resource_version <= %(version)s
        UNION ALL SELECT unnest(%(changed)s::uuid[]), NULL
    ) o LEFT JOIN cluster_history added
        ON added.cluster_id = %(source)s AND added.uid = o.uid AND added.type = 'ADDED'
    ORDER BY coalesce(added.version, 0), o.id
"""
_NUMBERS = "SELECT nextval(pg_get_serial_sequence('{table}', 'id')) FROM generate_series(1, %s)"
_TAINTS = insert_taints(condition="n.cluster_id = %s")
_POINTS = """
    INSERT INTO cluster_forkpoint (cluster_id, ancestor, name, version, at, shared)
    SELECT %s, ancestor, name, least(version, %s), at, shared FROM cluster_forkpoint
    WHERE cluster_id = %s
"""


def fork_objects(source: Cluster, fork: Cluster, point: ForkPoint) -> int:
    """Give the empty `fork` the objects of `source` at the fork point; returns their number.

    Saves the point. Call it in a transaction that has locked the counter of `source`. Raises
    Expired if the change log no longer reaches back to the version.
    """
    with connection.cursor() as cursor:
        total = sum(_fork_table(cursor, model, source, fork, point.version) for model in _MODELS)
        cursor.execute(_TAINTS, [fork.pk])
        cursor.execute(_POINTS, [fork.pk, point.version, source.pk])
    point.save()
    return total


def _fork_table(
    cursor: CursorWrapper,
    model: type[KubernetesObject],
    source: Cluster,
    fork: Cluster,
    version: int,
) -> int:
    table = model._meta.db_table
    columns = ", ".join(
        f'"{field.column}"'
        for field in model._meta.concrete_fields
        if field.column not in ("id", "cluster_id")
    )
    values = {"source": source.pk, "fork": fork.pk, "version": version}
    changed = _read_changed(cursor, model, values)
    if not changed:
        cursor.execute(_UNCHANGED.format(table=table, columns=columns), values)
        return int(cursor.rowcount)
    cursor.execute(_ORDER.format(table=table), {**values, "changed": [each[0] for each in changed]})
    order = cursor.fetchall()
    cursor.execute(_NUMBERS.format(table=table), [len(order)])
    numbers = sorted(row[0] for row in cursor.fetchall())
    unchanged = [
        (row, number) for (_, row), number in zip(order, numbers, strict=True) if row is not None
    ]
    cursor.execute(
        _UNCHANGED_BY_ID.format(table=table, columns=columns),
        {
            **values,
            "ids": [row for row, _ in unchanged],
            "numbers": [number for _, number in unchanged],
        },
    )
    numbered = {uid: number for (uid, row), number in zip(order, numbers, strict=True) if not row}
    rows = [_row(model, fork, each, numbered[each[0]]) for each in changed]
    sql.insert_rows(cursor, model, rows)
    return len(order)


def _read_changed(
    cursor: CursorWrapper, model: type[KubernetesObject], values: dict[str, Any]
) -> Sequence[tuple[Any, ...]]:
    kind = "" if model is DataObject else model.__name__
    cursor.execute(_CHANGED, {**values, "kind": kind, "others": [*_OWN_TABLES, "Event"]})
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    if any(body is None for _, _, body, _ in rows):
        raise Expired("The change log no longer reaches back to this version.")
    return rows


def _row(
    model: type[KubernetesObject], fork: Cluster, changed: tuple[Any, ...], number: int
) -> dict[str, Any]:
    uid, kind, text, created_at = changed
    body: Body = sql.load_json(text)
    metadata = body["metadata"]
    return {
        "id": number,
        "cluster_id": fork.pk,
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "uid": uid,
        "resource_version": int(metadata["resourceVersion"]),
        "labels": metadata.get("labels") or {},
        "body": body,
        "created_at": created_at or metadata["creationTimestamp"],
        **({"kind": kind} if model is DataObject else {}),
        **{column: read(body) for column, read in model.projected.items()},
    }
