"""The objects that the scheduler reads, at a past version: tables rolled back by the change log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from functools import cache
from typing import Any, NamedTuple

from django.db import connection

from apps.cluster import sql
from apps.cluster.errors import Expired
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.engine.loop.informer import WATCHED, decode
from apps.scheduler.objects import KubeObject

TOO_OLD = "The change log no longer reaches back to this version."


class PastObject(NamedTuple):
    """An object at a past version."""

    kind: str
    item: KubeObject
    #: id of its row; None if the object has been updated or deleted since
    row: int | None


def read_objects_at(
    cluster: Cluster, version: int, kinds: Collection[Kind] = WATCHED
) -> list[PastObject]:
    """The objects of these kinds at `version`, unordered.

    Raises Expired when the change log does not reach back that far.
    """
    if version < cluster.forgotten_version:
        raise Expired(TOO_OLD)
    names = [kind.name for kind in kinds]
    # decoded while the database writes the next ones as text
    with closing(
        sql.stream_rows(
            _build_statement(tuple(kinds)),
            {"cluster": cluster.pk, "version": version, "kinds": names},
        )
    ) as rows:
        return list(_decode_rows(rows))


def sort_by_creation(cluster: Cluster, objects: Collection[PastObject]) -> list[PastObject]:
    """The objects in the order of their creation, as a new engine adds them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT uid::text, version FROM cluster_history "
            "WHERE cluster_id = %s AND uid = ANY(%s::uuid[]) AND type = 'ADDED'",
            [cluster.pk, [each.item.metadata.uid for each in objects]],
        )
        added: dict[str, int] = dict(cursor.fetchall())

    def age(each: PastObject) -> tuple[int, int]:
        # objects whose creation is no longer in the log are older than the others
        return added.get(each.item.metadata.uid, 0), each.row or 0

    return sorted(objects, key=age)


def _decode_rows(rows: Iterable[tuple[Any, ...]]) -> Iterator[PastObject]:
    for kind, row, body in rows:
        if body is None:
            raise Expired(TOO_OLD)
        item = decode(kind, body)
        if item is not None:
            yield PastObject(kind, item, row)


@cache
def _build_statement(kinds: tuple[Kind, ...]) -> str:
    """A single statement, so that tables and log are read from the same snapshot."""
    unchanged = " UNION ALL ".join(
        f"SELECT '{kind.name}', o.id, o.body::text FROM {kind.table} o "
        "WHERE o.cluster_id = %(cluster)s AND o.resource_version <= %(version)s "
        "AND NOT EXISTS (SELECT FROM later l WHERE l.uid = o.uid)"
        for kind in kinds
    )
    return (
        "WITH later AS MATERIALIZED (SELECT DISTINCT ON (uid) uid, kind, previous_version "
        "FROM cluster_history WHERE cluster_id = %(cluster)s AND version > %(version)s "
        "AND kind = ANY(%(kinds)s) ORDER BY uid, version) "
        f"{unchanged} UNION ALL "
        'SELECT l.kind, NULL, c."object"::text FROM later l LEFT JOIN cluster_history c '
        "ON c.cluster_id = %(cluster)s AND c.version = l.previous_version "
        "WHERE l.previous_version IS NOT NULL"
    )
