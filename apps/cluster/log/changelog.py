"""Reading the log of changes: everything after version N, in order, none missed.

A version becomes visible only after every smaller one, because its writer holds the cluster's
counter from taking the version to the commit. So a reader that remembers the last version it
saw can ask again at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
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


def objects_at(cluster_id: int, versions: Collection[int]) -> dict[int, dict[str, Any]]:
    """Objects as the changes of these versions left them; forgotten ones are left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            'SELECT version, "object"::text FROM cluster_change '
            "WHERE cluster_id = %s AND version = ANY(%s)",
            [cluster_id, list(versions)],
        )
        return {version: sql.load_json(text) for version, text in cursor.fetchall()}


def creations(cluster_id: int, uids: Iterable[str]) -> dict[str, tuple[int, str]]:
    """The change that created each of these objects; uid -> (version, request id).

    Those whose creation is no longer in the log are left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT uid::text, version, request_id FROM cluster_change "
            "WHERE cluster_id = %s AND uid = ANY(%s::uuid[]) AND type = 'ADDED'",
            [cluster_id, list(uids)],
        )
        return {uid: (version, request_id) for uid, version, request_id in cursor.fetchall()}


def _logged(row: tuple[Any, ...]) -> LoggedChange:
    version, change_type, kind, namespace, name, uid, body, *rest = row
    return LoggedChange(
        version, change_type, kind, namespace, name, uid, sql.load_json(body), *rest
    )
