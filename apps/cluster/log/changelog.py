"""Reads the log of changes: all changes after version N, in order.

A version becomes visible only after every smaller one, because a writer locks the cluster's counter
from taking its versions to the commit. A reader that remembers the last version it saw can
therefore continue at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec
from django.db import connection

from apps.cluster import sql
from apps.cluster.arrays import texts
from apps.cluster.connections import Channel, Statement
from apps.cluster.exchange import KEEP_PLAN, Answer, Exchange


@dataclass(frozen=True)
class LoggedChange:
    """One row of the log. Readers may share it: do not modify its object."""

    version: int
    type: str
    kind: str
    namespace: str
    name: str
    uid: str
    #: The object as JSON text.
    text: str
    previous_version: int | None
    at: datetime
    user: str
    request_id: str

    @cached_property
    def object(self) -> dict[str, Any]:
        """The object; most watches send its line and do not need it."""
        loaded: dict[str, Any] = sql.load_json(self.text)
        return loaded

    @cached_property
    def line(self) -> str:
        """The object as JSON text without the spaces of the database's, for all watches."""
        return msgspec.json.format(self.text, indent=-1)


class ObjectChange(NamedTuple):
    """What the loop needs of a change."""

    version: int
    type: str
    kind: str
    namespace: str
    name: str
    uid: str
    at: datetime
    request_id: str
    #: The object: JSON text from the log, plain data from a write of this process.
    body: str | dict[str, Any]


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
            f"SELECT {_COLUMNS} FROM cluster_history WHERE cluster_id = %s AND version > %s "
            f"{restriction}ORDER BY version LIMIT %s",
            parameters,
        )
        return [LoggedChange(*row) for row in cursor.fetchall()]


def read_objects_after(
    sent: Exchange, cluster_id: int, version: int, *, without: Collection[str], limit: int
) -> Answer:
    """Read up to `limit` changes of other kinds with a version above `version`, in version order.

    The rows of the answer are for `ObjectChange`; their bodies are JSON text.
    """
    sent.send(KEEP_PLAN)
    return sent.send(_OBJECTS_AFTER, [cluster_id, version, texts([*without]), limit])


_OBJECTS_AFTER: Final = (
    "SELECT version, type, kind, namespace, name, uid::text, at, request_id, "
    '"object"::text FROM cluster_change WHERE cluster_id = $1 AND version > $2 '
    "AND kind <> ALL($3) ORDER BY version LIMIT $4"
)


async def read_changes(
    channel: Channel, cluster_id: int, version: int, *, limit: int
) -> list[LoggedChange]:
    """Up to `limit` changes with a version above `version`, read on an event loop."""
    values = [b"%d" % each for each in (cluster_id, version, limit)]
    return [_decode_texts(row) for row in await channel.query(_CHANGES_AFTER, values)]


_CHANGES_AFTER: Final = Statement(
    (
        f"SELECT {_COLUMNS} FROM cluster_change WHERE cluster_id = $1 AND version > $2 "
        "ORDER BY version LIMIT $3"
    ).encode(),
    (False, False, False),
)


def _decode_texts(row: tuple[bytes | None, ...]) -> LoggedChange:
    """A row whose columns are PostgreSQL's texts."""
    version, change_type, kind, namespace, name, uid, body, previous, at, *who = [
        str(each, "utf-8") if each is not None else "" for each in row
    ]
    return LoggedChange(
        int(version),
        change_type,
        kind,
        namespace,
        name,
        uid,
        body,
        int(previous) if previous else None,
        datetime.fromisoformat(at),
        *who,
    )


def objects_at(cluster_id: int, versions: Collection[int]) -> dict[int, dict[str, Any]]:
    """Objects as of these versions; versions that are no longer in the log are omitted."""
    with connection.cursor() as cursor:
        cursor.execute(
            'SELECT version, "object"::text FROM cluster_history '
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
            "SELECT uid::text, version, request_id FROM cluster_history "
            "WHERE cluster_id = %s AND uid = ANY(%s::uuid[]) AND type = 'ADDED'",
            [cluster_id, list(uids)],
        )
        return {uid: (version, request_id) for uid, version, request_id in cursor.fetchall()}
