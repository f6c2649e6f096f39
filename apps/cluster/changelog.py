"""Reading the log of changes: everything after version N, in order, none missed.

A version becomes visible only after every smaller one, because its writer holds the cluster's
counter from taking the version to the commit. So a reader that remembers the last version it
saw can ask again at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from apps.cluster import sql


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """One row of the log, its object decoded."""

    version: int
    type: str
    kind: str
    namespace: str
    name: str
    uid: str
    object: dict[str, Any]
    previous_version: int | None
    at: datetime
    user: str
    request_id: str


_COLUMNS = (
    'version, type, kind, namespace, name, uid::text, "object"::text, previous_version, at, '
    '"user", request_id'
)


def changes_after(
    cluster_id: int,
    version: int,
    *,
    kinds: Collection[str] | None = None,
    limit: int = 1000,
) -> list[LoggedChange]:
    """Up to `limit` changes with a version above `version`, in version order."""
    restriction = "" if kinds is None else "AND kind = ANY(%s) "
    parameters: list[Any] = [cluster_id, version, *([] if kinds is None else [list(kinds)]), limit]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_COLUMNS} FROM cluster_change WHERE cluster_id = %s AND version > %s "
            f"{restriction}ORDER BY version LIMIT %s",
            parameters,
        )
        return [_logged(row) for row in cursor.fetchall()]


def all_changes_after(
    cluster_id: int, version: int, *, batch: int = 1000
) -> Iterator[LoggedChange]:
    """Every change above `version` that is committed by the time its batch is read."""
    while changes := changes_after(cluster_id, version, limit=batch):
        yield from changes
        version = changes[-1].version


def object_at(cluster_id: int, version: int) -> dict[str, Any] | None:
    """The object as the change of this version left it; None when it was forgotten."""
    with connection.cursor() as cursor:
        cursor.execute(
            'SELECT "object"::text FROM cluster_change WHERE cluster_id = %s AND version = %s',
            [cluster_id, version],
        )
        row = cursor.fetchone()
    return None if row is None else sql.load_json(row[0])


def objects_at(cluster_id: int, versions: Collection[int]) -> dict[int, dict[str, Any]]:
    """Objects as the changes of these versions left them; forgotten ones are left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            'SELECT version, "object"::text FROM cluster_change '
            "WHERE cluster_id = %s AND version = ANY(%s)",
            [cluster_id, list(versions)],
        )
        return {version: sql.load_json(text) for version, text in cursor.fetchall()}


def creation_requests(cluster_id: int, uids: Iterable[str]) -> dict[str, str]:
    """The request that created each of these objects; uid -> request id."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT uid::text, request_id FROM cluster_change "
            "WHERE cluster_id = %s AND uid = ANY(%s::uuid[]) AND type = 'ADDED'",
            [cluster_id, list(uids)],
        )
        return dict(cursor.fetchall())


def _logged(row: tuple[Any, ...]) -> LoggedChange:
    version, change_type, kind, namespace, name, uid, body, *rest = row
    return LoggedChange(
        version, change_type, kind, namespace, name, uid, sql.load_json(body), *rest
    )
