"""The only write door: every change of every object of every cluster goes through `write`.

One write is one short transaction: lock the rows it changes, apply the changes, take as many
versions as there are changes from the cluster's counter, write the rows and one log row a
change, commit. The counter comes last, because its row stays locked until the commit is on
disk: versions become visible in order, and a reader of the log never misses one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.backends.utils import CursorWrapper

from apps.cluster import kinds, sql
from apps.cluster.admission import admit
from apps.cluster.announce import announcer
from apps.cluster.binding import bind_change
from apps.cluster.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
)
from apps.cluster.kinds import Kind
from apps.cluster.lookups import StoreLookups
from apps.cluster.metadata import count_generation, mark_deleted, stamp_changed, stamp_new
from apps.cluster.models import Change, Cluster, Taint
from apps.cluster.validation import validate

Body = dict[str, Any]
Key = tuple[str, str, str]

_IMMORTAL_NAMESPACES = frozenset({"default", "kube-public", "kube-system"})


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something, and the request it belongs to; both are kept in the log."""

    user: str
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object from what a client sent."""

    kind: Kind
    body: Mapping[str, Any]
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Modify:
    """Change an object under its row lock.

    `change` gets the stored object, which it must not alter, and returns the new one; raising
    an ApiError refuses. `trusted` changes are the control plane's own: not admitted and
    validated again. `uid`, when given, names the very object that is meant.
    """

    kind: Kind
    namespace: str
    name: str
    change: Callable[[Body], Mapping[str, Any]]
    subresource: str = ""
    trusted: bool = False
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete an object; `options` are DeleteOptions."""

    kind: Kind
    namespace: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


Operation = Create | Modify | Remove


@dataclass(slots=True)
class _Row:
    """A row a write holds: as it was, and as it will be."""

    kind: Kind
    id: int | None
    version: int | None
    body: Body | None
    changed: bool = False


@dataclass(slots=True)
class _Change:
    """A change that has no version yet."""

    type: Change.Type
    row: _Row
    body: Body
    previous: _Change | None
    previous_version: int | None
    version: int = 0


def write(
    cluster: Cluster,
    operations: Sequence[Operation],
    *,
    actor: Actor,
    collect_refusals: bool = False,
    dry_run: bool = False,
    wake: bool = True,
) -> list[Body | ApiError]:
    """Carry out `operations` in one transaction and return the object each of them left.

    The first refusal raises and nothing is written; with `collect_refusals` it is returned in
    its place and the others go on. `wake` tells the scheduling loop that it has work. May be
    called inside an outer transaction, but once and last, since it takes the counter; or several
    times if all of them only create, which waits for no other row.
    """
    return _Write(cluster, actor, collect_refusals).run(operations, dry_run=dry_run, wake=wake)


def create(
    cluster: Cluster,
    kind: Kind,
    body: Mapping[str, Any],
    *,
    actor: Actor,
    namespace: str = "",
    dry_run: bool = False,
) -> Body:
    """Create one object and return it as stored."""
    return _one(write(cluster, [Create(kind, body, namespace)], actor=actor, dry_run=dry_run))


def create_many(
    cluster: Cluster,
    objects: Sequence[tuple[Kind, Mapping[str, Any]]],
    *,
    actor: Actor,
    wake: bool = True,
) -> list[Body]:
    """Create all of them or, when one is refused, none."""
    operations = [Create(kind, body) for kind, body in objects]
    return [_one([body]) for body in write(cluster, operations, actor=actor, wake=wake)]


def update(
    cluster: Cluster,
    kind: Kind,
    namespace: str,
    name: str,
    body: Mapping[str, Any],
    *,
    actor: Actor,
    subresource: str = "",
    dry_run: bool = False,
) -> Body:
    """Replace an object; Conflict when `body` carries an older resourceVersion."""
    return patch(
        cluster,
        kind,
        namespace,
        name,
        lambda _: body,
        actor=actor,
        subresource=subresource,
        dry_run=dry_run,
    )


def patch(
    cluster: Cluster,
    kind: Kind,
    namespace: str,
    name: str,
    change: Callable[[Body], Mapping[str, Any]],
    *,
    actor: Actor,
    subresource: str = "",
    dry_run: bool = False,
) -> Body:
    """Read, change and write an object under its row lock."""
    operation = Modify(kind, namespace, name, change, subresource)
    return _one(write(cluster, [operation], actor=actor, dry_run=dry_run))


def bind(
    cluster: Cluster,
    namespace: str,
    name: str,
    binding: Mapping[str, Any],
    *,
    actor: Actor,
    dry_run: bool = False,
) -> Body:
    """Bind a pod; Conflict when it is bound, gated or being deleted."""
    target = (binding.get("target") or {}).get("name", "")
    labels = node_labels(cluster, [target]).get(target, {})
    change = bind_change(binding, labels, cluster.now())
    operation = Modify(kinds.POD, namespace, name, change, "binding", trusted=True)
    return _one(write(cluster, [operation], actor=actor, dry_run=dry_run))


def delete(
    cluster: Cluster,
    kind: Kind,
    namespace: str,
    name: str,
    *,
    actor: Actor,
    options: Mapping[str, Any] | None = None,
    dry_run: bool = False,
) -> Body:
    """Delete an object, or mark it when finalizers hold it; its last state is returned."""
    operation = Remove(kind, namespace, name, options or {})
    return _one(write(cluster, [operation], actor=actor, dry_run=dry_run))


def node_labels(cluster: Cluster, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Labels of the named nodes; a node that does not exist is left out."""
    rows = kinds.NODE.model.objects.filter(cluster=cluster, name__in=set(names))
    return dict(rows.values_list("name", "labels"))


def _one(outcomes: Sequence[Body | ApiError]) -> Body:
    outcome = outcomes[0]
    if isinstance(outcome, ApiError):
        raise outcome
    return outcome


class _Write:
    """The state of one `write`."""

    def __init__(self, cluster: Cluster, actor: Actor, collect_refusals: bool) -> None:
        self.cluster = cluster
        self.actor = actor
        self.collect_refusals = collect_refusals
        self.now: datetime = cluster.now()
        self.lookups = StoreLookups(cluster)
        self.rows: dict[Key, _Row] = {}
        self.changes: list[_Change] = []
        self.latest: dict[Key, _Change] = {}

    def run(
        self, operations: Sequence[Operation], *, dry_run: bool, wake: bool
    ) -> list[Body | ApiError]:
        prepared = [self._prepare(operation) for operation in operations]
        with transaction.atomic(), connection.cursor() as cursor:
            self._lock(cursor, prepared)
            outcomes = [self._apply(operation) for operation in prepared]
            if self.changes:
                self._commit(cursor, wake=wake and not dry_run)
            if dry_run:
                transaction.set_rollback(True)
        return outcomes

    def _guard(self, refusal: ApiError) -> ApiError:
        if not self.collect_refusals:
            raise refusal
        return refusal

    # before any lock is held

    def _prepare(self, operation: Operation) -> Operation | ApiError:
        """Admit and validate what is new, while nobody waits for it."""
        if not isinstance(operation, Create):
            return operation
        kind = operation.kind
        try:
            stamped = stamp_new(kind, operation.body, operation.namespace, self.now)
            body = admit(kind.name, stamped, self.lookups)
            _validate(kind, body, None)
            self._check_namespace(kind, body)
        except ApiError as refusal:
            return self._guard(refusal)
        return Create(kind, body, body["metadata"].get("namespace", ""))

    def _check_namespace(self, kind: Kind, body: Body) -> None:
        name, namespace = (
            body["metadata"]["name"],
            body["metadata"].get("namespace", ""),
        )
        if not kind.namespaced:
            return
        found = self.lookups.namespace(namespace)
        if found is None:
            raise NotFound("namespaces", namespace)
        if found["metadata"].get("deletionTimestamp"):
            raise Forbidden(
                f'{kind.qualified_plural} "{name}" is forbidden: unable to create new content in '
                f"namespace {namespace} because it is being terminated",
                details={
                    "name": name,
                    "kind": kind.plural,
                    "causes": [
                        {
                            "reason": "NamespaceTerminating",
                            "message": f"namespace {namespace} is being terminated",
                            "field": "metadata.namespace",
                        }
                    ],
                },
            )

    def _lock(self, cursor: CursorWrapper, operations: Sequence[Operation | ApiError]) -> None:
        """Lock the rows, kind by kind and in id order, so that two writes never deadlock."""
        wanted: dict[str, set[tuple[str, str]]] = {}
        for operation in operations:
            if not isinstance(operation, ApiError):
                kind, namespace, name = _key(operation)
                wanted.setdefault(kind, set()).add((namespace, name))
        for kind_name in sorted(wanted):
            kind, names = kinds.by_name(kind_name), sorted(wanted[kind_name])
            cursor.execute(
                "SELECT t.id, t.namespace, t.name, t.resource_version, t.body::text "
                f"FROM {kind.model._meta.db_table} t "
                "JOIN unnest(%s::text[], %s::text[]) AS w(namespace, name) "
                "ON t.namespace = w.namespace AND t.name = w.name "
                "WHERE t.cluster_id = %s ORDER BY t.id FOR NO KEY UPDATE OF t",
                [[ns for ns, _ in names], [name for _, name in names], self.cluster.pk],
            )
            for row_id, namespace, name, version, body in cursor.fetchall():
                self.rows[kind_name, namespace, name] = _Row(
                    kind, row_id, version, sql.load_json(body)
                )

    # under the locks

    def _apply(self, operation: Operation | ApiError) -> Body | ApiError:
        if isinstance(operation, ApiError):
            return operation
        try:
            if isinstance(operation, Create):
                return self._create(operation)
            row, body = self._existing(operation)
            if isinstance(operation, Modify):
                return self._modify(operation, row, body)
            return self._remove(operation, row, body)
        except ApiError as refusal:
            return self._guard(refusal)

    def _create(self, operation: Create) -> Body:
        key = _key(operation)
        row = self.rows.get(key)
        if row is not None and row.body is not None:
            raise AlreadyExists(operation.kind.plural, key[2], operation.kind.group)
        if row is None:
            row = self.rows[key] = _Row(operation.kind, None, None, None)
        return self._record(Change.Type.ADDED, key, row, dict(operation.body))

    def _existing(self, operation: Modify | Remove) -> tuple[_Row, Body]:
        key = _key(operation)
        row = self.rows.get(key)
        if row is None or row.body is None:
            raise NotFound(operation.kind.plural, key[2], operation.kind.group)
        return row, row.body

    def _modify(self, operation: Modify, row: _Row, old: Body) -> Body:
        kind, key = operation.kind, _key(operation)
        if operation.uid and operation.uid != old["metadata"]["uid"]:
            raise NotFound(kind.plural, key[2], kind.group)
        new = stamp_changed(kind, old, operation.change(old), operation.subresource)
        if not operation.trusted:
            new = admit(kind.name, new, self.lookups, old=old)
            _validate(kind, new, old, operation.subresource)
        if not operation.subresource:
            count_generation(kind, old, new)
        if new == old:
            return old
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            return self._record(Change.Type.DELETED, key, row, new)
        return self._record(Change.Type.MODIFIED, key, row, new)

    def _remove(self, operation: Remove, row: _Row, old: Body) -> Body:
        kind, key = operation.kind, _key(operation)
        _check_deletable(kind, old)
        _check_preconditions(kind, old, operation.options.get("preconditions") or {})
        held, marked = old["metadata"].get("finalizers"), old["metadata"].get("deletionTimestamp")
        if held:
            if marked:
                return old
            return self._record(Change.Type.MODIFIED, key, row, mark_deleted(kind, old, self.now))
        # a pod's end is part of its last state; of other kinds nothing is told
        last = mark_deleted(kind, old, self.now) if kind is kinds.POD and not marked else dict(old)
        return self._record(Change.Type.DELETED, key, row, last)

    def _record(self, change_type: Change.Type, key: Key, row: _Row, body: Body) -> Body:
        body["metadata"] = dict(body["metadata"])
        previous = self.latest.get(key)
        change = _Change(change_type, row, body, previous, row.version if row.body else None)
        self.changes.append(change)
        self.latest[key] = change
        row.body = None if change_type == Change.Type.DELETED else body
        row.changed = True
        return body

    # versions, rows, log

    def _commit(self, cursor: CursorWrapper, *, wake: bool) -> None:
        last, became_due = self._take_versions(cursor, len(self.changes), wake)
        first = last - len(self.changes) + 1
        for version, change in enumerate(self.changes, start=first):
            change.version = version
            change.body["metadata"]["resourceVersion"] = str(version)
            if change.previous is not None and change.type != Change.Type.ADDED:
                change.previous_version = change.previous.version
        self._write_rows(cursor)
        sql.insert_rows(cursor, Change, [self._log_row(change) for change in self.changes])
        transaction.on_commit(lambda: announcer.committed(self.cluster.pk, last, due=became_due))

    def _take_versions(self, cursor: CursorWrapper, count: int, wake: bool) -> tuple[int, bool]:
        """Take `count` versions; return the last one and whether the loop must be woken."""
        cursor.execute(
            "UPDATE cluster_cluster c SET resource_version = c.resource_version + %s, "
            "due_at = CASE WHEN %s AND o.idle THEN clock_timestamp() ELSE c.due_at END "
            "FROM (SELECT id, paused, due_at IS NULL OR due_at > clock_timestamp() AS idle "
            "FROM cluster_cluster WHERE id = %s FOR NO KEY UPDATE) o "
            "WHERE c.id = o.id RETURNING c.resource_version, "
            "%s AND o.idle AND NOT o.paused",
            [count, wake, self.cluster.pk, wake],
        )
        row = cursor.fetchone()
        if row is None:
            raise NotFound("clusters", self.cluster.name)
        return row

    def _write_rows(self, cursor: CursorWrapper) -> None:
        by_kind: dict[str, list[_Row]] = {}
        for (kind_name, _, _), row in self.rows.items():
            if row.changed:
                by_kind.setdefault(kind_name, []).append(row)
        for kind_name, rows in by_kind.items():
            model = kinds.by_name(kind_name).model
            gone = [row.id for row in rows if row.body is None and row.id is not None]
            if gone:
                if model is kinds.NODE.model:
                    cursor.execute("DELETE FROM cluster_taint WHERE node_id = ANY(%s)", [gone])
                sql.delete_rows(cursor, model, gone)
            kept = [(row, row.body) for row in rows if row.body is not None]
            new = [(row, body) for row, body in kept if row.id is None]
            old = [(row, body) for row, body in kept if row.id is not None]
            try:
                ids = sql.insert_rows(
                    cursor, model, [self._columns(row.kind, body) for row, body in new]
                )
            except IntegrityError as collision:
                raise self._already_exists(new) from collision
            for (row, _), row_id in zip(new, ids, strict=True):
                row.id = row_id
            sql.update_rows(
                cursor,
                model,
                [{"id": row.id, **self._columns(row.kind, body)} for row, body in old],
            )
            if model is kinds.NODE.model:
                _project_taints(cursor, kept)

    def _already_exists(self, new: Sequence[tuple[_Row, Body]]) -> AlreadyExists:
        """Somebody created one of these names after we looked; say it of the first."""
        row, body = new[0]
        return AlreadyExists(row.kind.plural, body["metadata"]["name"], row.kind.group)

    def _columns(self, kind: Kind, body: Body) -> dict[str, Any]:
        metadata = body["metadata"]
        return {
            "cluster_id": self.cluster.pk,
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resource_version": int(metadata["resourceVersion"]),
            "labels": metadata.get("labels") or {},
            "body": body,
            "created_at": metadata["creationTimestamp"],
            **{column: read(body) for column, read in kind.model.projected.items()},
        }

    def _log_row(self, change: _Change) -> dict[str, Any]:
        metadata = change.body["metadata"]
        return {
            "cluster_id": self.cluster.pk,
            "version": change.version,
            "type": change.type.value,
            "kind": change.row.kind.name,
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": metadata["uid"],
            "object": change.body,
            "previous_version": change.previous_version,
            "at": self.now,
            "user": self.actor.user,
            "request_id": self.actor.request_id,
        }


def _key(operation: Operation) -> Key:
    if isinstance(operation, Create):
        metadata = operation.body["metadata"]
        return operation.kind.name, metadata.get("namespace", ""), metadata["name"]
    return operation.kind.name, operation.namespace, operation.name


def _validate(kind: Kind, body: Body, old: Body | None, subresource: str = "") -> None:
    causes = validate(kind.name, body, old, subresource=subresource)
    if causes:
        raise Invalid(kind.name, body["metadata"].get("name", ""), causes, kind.group)


def _check_deletable(kind: Kind, body: Body) -> None:
    name = body["metadata"]["name"]
    if kind is kinds.NAMESPACE and name in _IMMORTAL_NAMESPACES:
        raise Forbidden(
            f'namespaces "{name}" is forbidden: this namespace may not be deleted',
            details={"name": name, "kind": kind.plural},
        )


def _check_preconditions(kind: Kind, body: Body, wanted: Mapping[str, Any]) -> None:
    metadata = body["metadata"]
    for precondition, label, actual, guess in (
        ("uid", "UID", metadata["uid"], "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", metadata["resourceVersion"], "modified"),
    ):
        asked = wanted.get(precondition)
        if asked and asked != actual:
            raise Conflict(
                kind.name,
                metadata["name"],
                f"the {label} in the precondition ({asked}) does not match the {label} in record "
                f"({actual}). The object might have been {guess}",
                kind.group,
            )


def _project_taints(cursor: CursorWrapper, nodes: Sequence[tuple[_Row, Body]]) -> None:
    """Rewrite the taint rows of these nodes."""
    cursor.execute(
        "DELETE FROM cluster_taint WHERE node_id = ANY(%s)",
        [[row.id for row, _ in nodes]],
    )
    rows = [
        {
            "node_id": row.id,
            "position": position,
            "key": taint.get("key", ""),
            "value": taint.get("value") or "",
            "effect": taint.get("effect", ""),
            "time_added": taint.get("timeAdded"),
        }
        for row, body in nodes
        for position, taint in enumerate((body.get("spec") or {}).get("taints") or [])
    ]
    sql.insert_rows(cursor, Taint, rows)
