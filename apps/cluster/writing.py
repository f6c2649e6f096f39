"""One write of the store: what its operations do to the objects, under their locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from apps.cluster import deletion, kinds, sql
from apps.cluster.admission import admit
from apps.cluster.admission.draft import forbidden
from apps.cluster.admission.priority import SYSTEM_CLASSES
from apps.cluster.announce import announcer
from apps.cluster.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
)
from apps.cluster.footprint import node_ready
from apps.cluster.kinds import Kind
from apps.cluster.lookups import StoreLookups
from apps.cluster.metadata import count_generation, stamp_changed, stamp_new
from apps.cluster.models import Change, Cluster
from apps.cluster.operations import Actor, Create, Key, Modify, Operation, Remove, key_of
from apps.cluster.rows import PendingChange, Row, commit
from apps.cluster.validation import validate

Body = dict[str, Any]

_IMMORTAL_NAMESPACES = frozenset({"default", "kube-public", "kube-system"})


class Write:
    """The state of one `write`."""

    def __init__(self, cluster: Cluster, actor: Actor, collect_refusals: bool) -> None:
        self.cluster = cluster
        self.actor = actor
        self.collect_refusals = collect_refusals
        self.now: datetime = cluster.now()
        self.lookups = StoreLookups(cluster)
        self.rows: dict[Key, Row] = {}
        self.changes: list[PendingChange] = []
        self.latest: dict[Key, PendingChange] = {}

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
            self._check_namespace(kind, stamped)
            # what comes ready, in a bulk load say, need not wait for the node controllers
            untested = kind is kinds.NODE and not node_ready(stamped)
            body = admit(
                kind.name,
                stamped,
                self.lookups,
                taint_new_nodes=untested and self.cluster.controllers,
            )
            _validate(kind, body, None)
        except ApiError as refusal:
            return self._guard(refusal)
        return Create(kind, body, body["metadata"].get("namespace", ""))

    def _check_namespace(self, kind: Kind, body: Body) -> None:
        if not kind.namespaced:
            return
        metadata = body["metadata"]
        name = metadata.get("name") or metadata.get("generateName") or ""
        namespace = metadata.get("namespace", "")
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
                kind_name, namespace, name = key_of(operation)
                wanted.setdefault(kind_name, set()).add((namespace, name))
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
                self.rows[kind_name, namespace, name] = Row(
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
        key = key_of(operation)
        row = self.rows.get(key)
        if row is not None and row.body is not None:
            raise AlreadyExists(operation.kind.plural, key[2], operation.kind.group)
        if row is None:
            row = self.rows[key] = Row(operation.kind, None, None, None)
        return self._record(Change.Type.ADDED, key, row, dict(operation.body))

    def _existing(self, operation: Modify | Remove) -> tuple[Row, Body]:
        key = key_of(operation)
        row = self.rows.get(key)
        if row is None or row.body is None:
            raise NotFound(operation.kind.plural, key[2], operation.kind.group)
        return row, row.body

    def _modify(self, operation: Modify, row: Row, old: Body) -> Body:
        kind, key = operation.kind, key_of(operation)
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
        if new["metadata"].get("deletionTimestamp") and not deletion.is_held(kind, new):
            return self._record(Change.Type.DELETED, key, row, new)
        return self._record(Change.Type.MODIFIED, key, row, new)

    def _remove(self, operation: Remove, row: Row, old: Body) -> Body:
        kind, key = operation.kind, key_of(operation)
        _check_deletable(kind, old)
        _check_preconditions(kind, old, operation.options.get("preconditions") or {})
        new = deletion.marked(kind, old, operation.options, self.now)
        if deletion.is_held(kind, new):
            return old if new == old else self._record(Change.Type.MODIFIED, key, row, new)
        if kind is kinds.POD and new != old:
            # a pod's end is a change of its own, which watches see before it is gone
            self._record(Change.Type.MODIFIED, key, row, new)
            return self._record(Change.Type.DELETED, key, row, dict(new))
        return self._record(Change.Type.DELETED, key, row, dict(old))

    def _record(self, change_type: Change.Type, key: Key, row: Row, body: Body) -> Body:
        body["metadata"] = dict(body["metadata"])
        previous = self.latest.get(key)
        change = PendingChange(change_type, row, body, previous, row.version if row.body else None)
        self.changes.append(change)
        self.latest[key] = change
        row.body = None if change_type == Change.Type.DELETED else body
        row.changed = True
        return body

    def _commit(self, cursor: CursorWrapper, *, wake: bool) -> None:
        last, became_due = commit(
            cursor,
            self.cluster,
            list(self.rows.values()),
            self.changes,
            actor=self.actor,
            now=self.now,
            wake=wake,
        )
        transaction.on_commit(lambda: announcer.committed(self.cluster.pk, last, due=became_due))


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
    if kind is kinds.PRIORITY_CLASS and name in SYSTEM_CLASSES:
        why = "this is a system priority class and cannot be deleted"
        raise forbidden(kind.plural, name, why, kind.group)


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
