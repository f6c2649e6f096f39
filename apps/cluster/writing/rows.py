"""The second half of a write: takes versions from the counter, writes the rows and the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError
from django.db.backends.utils import CursorWrapper

from apps.cluster import kinds, sql
from apps.cluster.errors import NotFound
from apps.cluster.kinds import Kind
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Change, Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing.fragments import insert_taints, take_versions

Body = dict[str, Any]

_TAKE_VERSIONS: Final = take_versions(
    "%(changes)s",
    "c.id = %(cluster)s",
    wake="%(wake)s",
    assignments=(
        "quotas = c.quotas + %(more_quotas)s",
        "admission_version = "
        "CASE WHEN %(changes_admission)s THEN c.resource_version + 1 ELSE c.admission_version END",
    ),
    returning=("c.resource_version", "c.quotas"),
)
_TAINT: Final = insert_taints(condition="n.id = ANY(%s)")


class CreatedMeanwhile(Exception):
    """An object was created since its name was looked up; nothing has been written."""


@dataclass(slots=True)
class Row:
    """A locked row: its state before and after the write."""

    kind: Kind
    id: int | None
    version: int | None
    body: Body | None
    changed: bool = False
    #: when a restored object was created
    born_at: datetime | None = None
    #: creation time, if this write creates it
    created_at: datetime | None = None
    #: time of its last change in this write
    changed_at: datetime | None = None


@dataclass(slots=True)
class PendingChange:
    """A change without a version yet."""

    type: Change.Type
    row: Row
    body: Body
    previous: PendingChange | None
    previous_version: int | None
    version: int = 0
    at: datetime | None = None

    def recorded(self, actor: Actor) -> ObjectChange:
        """The change as the log has it; it has a version and a time."""
        assert self.at is not None
        metadata = self.body["metadata"]
        return ObjectChange(
            self.version,
            self.type.value,
            self.row.kind.key,
            metadata.get("namespace", ""),
            metadata["name"],
            metadata["uid"],
            self.at,
            actor.request_id,
            self.body,
        )


def commit(
    cursor: CursorWrapper,
    cluster: Cluster,
    rows: Sequence[Row],
    changes: Sequence[PendingChange],
    *,
    actor: Actor,
    now: datetime,
    wake: bool,
) -> tuple[int, bool, int]:
    """Give every change its version and time, and write rows and log.

    The changes of one write are a microsecond apart: pods created together have an order in which
    they are scheduled, and which can be read again from their rows. Returns the last version,
    whether to wake the cluster's loop, and the number of quotas of the cluster. Raises
    CreatedMeanwhile.
    """
    last, became_due, quotas = _take_versions(cursor, cluster, changes, wake)
    first = last - len(changes) + 1
    for version, change in enumerate(changes, start=first):
        change.version = version
        change.at = now + timedelta(microseconds=version - first)
        change.row.changed_at = change.at
        if change.type == Change.Type.ADDED:
            born = change.row.born_at
            change.row.created_at = change.at if born is None else born + (change.at - now)
        change.body["metadata"]["resourceVersion"] = str(version)
        if change.previous is not None and change.type != Change.Type.ADDED:
            change.previous_version = change.previous.version
    _write_rows(cursor, cluster, [row for row in rows if row.changed])
    log = [_log_row(change, cluster, actor) for change in changes]
    sql.insert_rows(cursor, Change, log)
    return last, became_due, quotas


def take_counter(cursor: CursorWrapper, cluster: Cluster) -> None:
    """Lock the cluster's counter until the commit: no other write takes versions in between."""
    cursor.execute("SELECT 1 FROM cluster_cluster WHERE id = %s FOR NO KEY UPDATE", [cluster.pk])


def _take_versions(
    cursor: CursorWrapper, cluster: Cluster, changes: Sequence[PendingChange], wake: bool
) -> tuple[int, bool, int]:
    of_quotas = [change.type for change in changes if change.row.kind.key == "ResourceQuota"]
    more_quotas = of_quotas.count(Change.Type.ADDED) - of_quotas.count(Change.Type.DELETED)
    changes_admission = any(change.row.kind.is_looked_up for change in changes)
    cursor.execute(
        _TAKE_VERSIONS,
        {
            "cluster": cluster.pk,
            "changes": len(changes),
            "more_quotas": more_quotas,
            "changes_admission": changes_admission,
            "wake": wake,
        },
    )
    row = cursor.fetchone()
    if row is None:
        raise NotFound("clusters", cluster.name)
    _, became_due, version, quotas = row
    return version, became_due, quotas


def _write_rows(cursor: CursorWrapper, cluster: Cluster, rows: Sequence[Row]) -> None:
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row.kind.key, []).append(row)
    for of_kind in by_kind.values():
        kind = of_kind[0].kind
        _delete(cursor, kind, [row.id for row in of_kind if row.body is None and row.id])
        remaining = [(row, row.body) for row in of_kind if row.body is not None]
        new = [each for each in remaining if each[0].id is None]
        known = [each for each in remaining if each[0].id is not None]
        _insert(cursor, cluster, kind, new)
        _update(cursor, cluster, kind, known)
        if kind is kinds.NODE:
            _project_taints(cursor, [row.id for row, _ in remaining])


def _insert(
    cursor: CursorWrapper, cluster: Cluster, kind: Kind, new: Sequence[tuple[Row, Body]]
) -> None:
    columns = [
        {**_columns(cluster, kind, row, body), "created_at": row.created_at} for row, body in new
    ]
    try:
        ids = sql.insert_rows(cursor, kind.model, columns)
    except IntegrityError as collision:
        raise CreatedMeanwhile from collision
    # taints refer to the ids of nodes; other kinds need no ids
    if kind is kinds.NODE:
        for (row, _), row_id in zip(new, ids, strict=True):
            row.id = row_id


def _update(
    cursor: CursorWrapper, cluster: Cluster, kind: Kind, remaining: Sequence[tuple[Row, Body]]
) -> None:
    columns = [
        {
            "id": row.id,
            **_columns(cluster, kind, row, body),
            # an object that was deleted and created again
            **({"created_at": row.created_at} if row.created_at else {}),
        }
        for row, body in remaining
    ]
    for is_new in (False, True):
        rows = [each for each in columns if ("created_at" in each) == is_new]
        sql.update_rows(cursor, kind.model, rows)


def _delete(cursor: CursorWrapper, kind: Kind, ids: Sequence[int]) -> None:
    if not ids:
        return
    if kind is kinds.NODE:
        cursor.execute("DELETE FROM cluster_taint WHERE node_id = ANY(%s)", [list(ids)])
    sql.delete_rows(cursor, kind.model, ids)


def _columns(cluster: Cluster, kind: Kind, row: Row, body: Body) -> dict[str, Any]:
    metadata = body["metadata"]
    # events expire after a time without an update
    written = {"written_at": row.changed_at} if kind is kinds.EVENT else {}
    return {
        "cluster_id": cluster.pk,
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "uid": metadata["uid"],
        "resource_version": int(metadata["resourceVersion"]),
        "labels": metadata.get("labels") or {},
        "body": body,
        **kind.constants,
        **written,
        **{column: read(body) for column, read in kind.model.projected.items()},
    }


def _log_row(change: PendingChange, cluster: Cluster, actor: Actor) -> dict[str, Any]:
    metadata = change.body["metadata"]
    return {
        "cluster_id": cluster.pk,
        "version": change.version,
        "type": change.type.value,
        "kind": change.row.kind.key,
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "uid": metadata["uid"],
        "object": change.body,
        "previous_version": change.previous_version,
        "at": change.at,
        "user": actor.user,
        "request_id": actor.request_id,
    }


def _project_taints(cursor: CursorWrapper, nodes: list[int | None]) -> None:
    """Rewrite the taint rows of these nodes."""
    cursor.execute("DELETE FROM cluster_taint WHERE node_id = ANY(%s)", [nodes])
    cursor.execute(_TAINT, [nodes])
