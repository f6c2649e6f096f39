"""Reads the log of changes: all changes after version N, in order.

A version becomes visible only after every smaller one, because a writer locks the cluster's counter
from taking its versions to the commit. A reader that remembers the last version it saw can
therefore continue at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from django.db import connection

from apps.cluster import sql


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """One row of the log, its object decoded. Readers may share it: do not modify the object."""

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
        return [_decode_row(row) for row in cursor.fetchall()]


async def read_changes(
    database: psycopg.AsyncConnection[Any], cluster_id: int, version: int, *, limit: int
) -> list[LoggedChange]:
    """Up to `limit` changes with a version above `version`, read on an event loop."""
    cursor = await database.execute(
        f"SELECT {_COLUMNS} FROM cluster_change WHERE cluster_id = %s AND version > %s "
        "ORDER BY version LIMIT %s",
        [cluster_id, version, limit],
    )
    return [_decode_row(row) for row in await cursor.fetchall()]


def objects_at(cluster_id: int, versions: Collection[int]) -> dict[int, dict[str, Any]]:
    """Objects as of these versions; versions that are no longer in the log are omitted."""
    with connection.cursor() as cursor:
        cursor.execute(
            'SELECT version, "object"::text FROM cluster_change '
            "WHERE cluster_id = %s AND version = ANY(%s)",
            [cluster_id, list(versions)],
        )
        return {version: sql.load_json(text) for version, text in cursor.fetchall()}


def creations(cluster_id: int, uids: Iterable[str]) -> dict[str, tuple[int, str]]:
    """The change that created each of these objects; uid -> (version, request id).

    Objects whose creation is no longer in the log are omitted.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT uid::text, version, request_id FROM cluster_change "
            "WHERE cluster_id = %s AND uid = ANY(%s::uuid[]) AND type = 'ADDED'",
            [cluster_id, list(uids)],
        )
        return {uid: (version, request_id) for uid, version, request_id in cursor.fetchall()}


def _decode_row(row: tuple[Any, ...]) -> LoggedChange:
    version, change_type, kind, namespace, name, uid, body, *rest = row
    return LoggedChange(
        version, change_type, kind, namespace, name, uid, sql.load_json(body), *rest
    )
