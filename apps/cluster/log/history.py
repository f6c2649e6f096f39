"""Reads objects as of an earlier version of the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from apps.cluster import sql
from apps.cluster.errors import Expired
from apps.cluster.kind import Kind
from apps.cluster.models import Cluster

Body = dict[str, Any]

_TOO_OLD = "The resourceVersion for the provided list is too old."


def has_changed_since(cluster: Cluster, kind: Kind, version: int) -> bool:
    """Whether any object of this kind has changed after `version`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM cluster_history "
            "WHERE cluster_id = %s AND version > %s AND kind = %s)",
            [cluster.pk, version, kind.key],
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def stream_texts_at(
    cluster: Cluster, kind: Kind, version: int, *, after: tuple[str, str] = ("", "")
) -> Iterator[tuple[str, str, str]]:
    """The objects of a kind at `version` after a key: namespace, name and JSON text, in order.

    Changed objects are read from the log, the others from the table. Expired, before the first
    object, if the log does not go back to `version`. `sql.stream_rows` applies.
    """
    if version < cluster.forgotten_version:
        raise Expired(_TOO_OLD)
    values = {"cluster": cluster.pk, "version": version, "kind": kind.key}
    rows = sql.stream_rows(_past_query(kind), {**values, "ns": after[0], "name": after[1]})
    for incomplete, namespace, name, text in rows:
        if incomplete:
            raise Expired(_TOO_OLD)
        # a list without objects is one row of nulls
        if text is not None:
            yield namespace, name, text


def _past_query(kind: Kind) -> str:
    """Sorts keys without bodies, which do not fit into the memory of a sort."""
    table = kind.table
    return (
        "WITH later AS MATERIALIZED ("
        "SELECT DISTINCT ON (uid) uid, previous_version FROM cluster_history "
        "WHERE cluster_id = %(cluster)s AND version > %(version)s AND kind = %(kind)s "
        "ORDER BY uid, version), "
        "keys AS MATERIALIZED (SELECT o.namespace, o.name, o.id, NULL::bigint AS version "
        f"FROM {table} o "
        "WHERE o.cluster_id = %(cluster)s AND (o.namespace, o.name) > (%(ns)s, %(name)s) "
        "AND NOT EXISTS (SELECT FROM later l WHERE l.uid = o.uid) "
        "UNION ALL SELECT c.namespace, c.name, NULL, c.version FROM later l "
        "JOIN cluster_history c ON c.cluster_id = %(cluster)s AND c.version = l.previous_version "
        "WHERE (c.namespace, c.name) > (%(ns)s, %(name)s) ORDER BY 1, 2) "
        "SELECT EXISTS (SELECT FROM later l WHERE l.previous_version IS NOT NULL "
        "AND NOT EXISTS (SELECT FROM cluster_history c WHERE c.cluster_id = %(cluster)s "
        "AND c.version = l.previous_version)), k.namespace, k.name, CASE WHEN k.id IS NULL "
        'THEN (SELECT c."object"::text FROM cluster_history c '
        "WHERE c.cluster_id = %(cluster)s AND c.version = k.version) "
        f"ELSE (SELECT o.body::text FROM {table} o WHERE o.id = k.id) END "
        "FROM (SELECT) one LEFT JOIN keys k ON true"
    )


def is_retained(cursor: CursorWrapper, cluster_id: int, version: int) -> bool:
    """Whether the state at `version` can still be read, from the cluster's own log alone."""
    cursor.execute(
        "SELECT c.forgotten_version <= %(version)s AND NOT EXISTS (SELECT FROM cluster_forkpoint f "
        "WHERE f.cluster_id = c.id AND f.version > %(version)s) AND NOT EXISTS ("
        "SELECT FROM cluster_history l WHERE l.cluster_id = c.id AND l.version > %(version)s "
        "AND l.previous_version <= %(version)s AND NOT EXISTS (SELECT FROM cluster_history o "
        "WHERE o.cluster_id = c.id AND o.version = l.previous_version)) "
        "FROM cluster_cluster c WHERE c.id = %(cluster)s",
        {"cluster": cluster_id, "version": version},
    )
    row = cursor.fetchone()
    return bool(row and row[0])


def list_all(cursor: CursorWrapper, cluster_id: int, kind: Kind) -> Iterator[tuple[str, datetime]]:
    """The objects of a kind as JSON texts with their creation time, in the order of creation.

    They are fetched at once, so that the caller may continue after the transaction.
    """
    cursor.execute(
        f"SELECT body::text, created_at FROM {kind.table} o WHERE cluster_id = %s ORDER BY id",
        [cluster_id],
    )
    return _texts(cursor.fetchall())


def list_dependants(
    cursor: CursorWrapper, cluster_id: int, without: Collection[str]
) -> list[tuple[str, str, datetime]]:
    """The present objects of other kinds that are only data, with owners or finalizers.

    Each as (key of the kind, JSON text, creation time).
    """
    cursor.execute(
        "SELECT kind, body::text, created_at FROM cluster_dataobject WHERE cluster_id = %s "
        "AND kind <> ALL(%s) AND body->'metadata' ?| '{ownerReferences,finalizers}' ORDER BY id",
        [cluster_id, [*without]],
    )
    return [(kind, body, created_at) for kind, body, created_at in cursor.fetchall()]


def _texts(rows: list[tuple[Any, ...]]) -> Iterator[tuple[str, datetime]]:
    """The end of each row, a body and a time; a text is freed when the caller is done with it."""
    rows.reverse()
    while rows:
        *_, body, created_at = rows.pop()
        yield body, created_at


def list_all_at(
    cursor: CursorWrapper, cluster_id: int, kind: Kind, version: int
) -> Iterator[tuple[str, datetime]]:
    """`list_all` as of `version`, which must be retained (`is_retained`); deleted objects last.

    Call it in the same database snapshot as the other reads.
    """
    table = kind.table
    cursor.execute(
        "WITH later AS (SELECT DISTINCT ON (uid) uid, previous_version FROM cluster_history "
        "WHERE cluster_id = %(cluster)s AND version > %(version)s AND kind = %(kind)s "
        "ORDER BY uid, version) "
        f"SELECT o.id, o.body::text, o.created_at FROM {table} o "
        "WHERE o.cluster_id = %(cluster)s AND o.resource_version <= %(version)s "
        "UNION ALL "
        'SELECT o.id, c."object"::text, coalesce(o.created_at, '
        "(c.\"object\" #>> '{metadata,creationTimestamp}')::timestamptz) FROM later l "
        "JOIN cluster_history c ON c.cluster_id = %(cluster)s AND c.version = l.previous_version "
        f"LEFT JOIN {table} o ON o.cluster_id = %(cluster)s AND o.uid = l.uid "
        "ORDER BY 1 NULLS LAST",
        {"cluster": cluster_id, "version": version, "kind": kind.key},
    )
    return _texts(cursor.fetchall())
