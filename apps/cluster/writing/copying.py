"""Copies all objects of one cluster into another without changes.

The only writer besides the store: nothing is admitted, validated or stamped again, so uids,
versions, owners, bindings and statuses equal the original's. Every object has a row in the log of
the copy, under its version; the log starts with the copy (`forgotten_version`). Events are not
copied.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection
from django.db.backends.utils import CursorWrapper

from apps.cluster import kinds
from apps.cluster.models import Cluster, DataObject, KubernetesObject
from apps.cluster.writes import Actor
from apps.cluster.writing.fragments import insert_taints, log_changes

#: Objects per statement.
_BATCH = 2000
#: The tables to copy, each once, with the objects of CustomResourceDefinitions.
_MODELS = tuple(dict.fromkeys(kind.model for kind in kinds.ALL if kind is not kinds.EVENT))

_COPY = """
    INSERT INTO {table} (cluster_id, {columns})
    SELECT %s, {columns} FROM {table} WHERE cluster_id = %s AND id = ANY(%s) ORDER BY id
"""
_TAINTS = insert_taints(condition="n.cluster_id = %s")


def copy_objects(
    source: Cluster, target: Cluster, *, actor: Actor, progress: Callable[[int, int], None]
) -> int:
    """Copy the objects of `source` into the empty `target`; returns their number.

    Must run in a transaction with one snapshot of `source`. `progress` receives the number of
    copied objects and the total.
    """
    with connection.cursor() as cursor:
        rows = {model: _ids(cursor, model, source) for model in _MODELS}
        total = sum(map(len, rows.values()))
        done = 0
        for model, ids in rows.items():
            for start in range(0, len(ids), _BATCH):
                batch = ids[start : start + _BATCH]
                _copy(cursor, model, source, target, actor, batch)
                done += len(batch)
                progress(done, total)
        cursor.execute(_TAINTS, [target.pk])
    return total


def _ids(cursor: CursorWrapper, model: type[KubernetesObject], source: Cluster) -> list[int]:
    table = model._meta.db_table
    cursor.execute(f"SELECT id FROM {table} WHERE cluster_id = %s ORDER BY id", [source.pk])
    return [row[0] for row in cursor.fetchall()]


def _copy(
    cursor: CursorWrapper,
    model: type[KubernetesObject],
    source: Cluster,
    target: Cluster,
    actor: Actor,
    batch: list[int],
) -> None:
    table = model._meta.db_table
    columns = ", ".join(
        f'"{field.column}"'
        for field in model._meta.concrete_fields
        if field.column not in ("id", "cluster_id")
    )
    cursor.execute(_COPY.format(table=table, columns=columns), [target.pk, source.pk, batch])
    kind = "kind" if model is DataObject else f"'{model.__name__}'"
    values = {
        "cluster_id": "%(target)s",
        "version": "resource_version",
        "type": "'ADDED'",
        "kind": kind,
        "object": "body",
        "previous_version": "NULL",
        "at": "%(now)s",
        "user": "%(user)s",
        "request_id": "%(request)s",
        **{name: name for name in ("namespace", "name", "uid")},
    }
    cursor.execute(
        log_changes(values, f"{table} WHERE cluster_id = %(source)s AND id = ANY(%(batch)s)"),
        {
            "target": target.pk,
            "now": target.now(),
            "user": actor.user,
            "request": actor.request_id,
            "source": source.pk,
            "batch": batch,
        },
    )
