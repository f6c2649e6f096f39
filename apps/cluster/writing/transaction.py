"""One transaction of the store: applies writes to objects under row locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import msgspec
from django.db import transaction
from django.db.backends.utils import CursorWrapper

from apps.cluster import kinds, sql
from apps.cluster.access.deciding import with_role
from apps.cluster.access.identity import AUTHENTICATED, Identity, service_account_groups
from apps.cluster.admission import admit, certificates
from apps.cluster.admission.nodes import is_tainted_when_new
from apps.cluster.admission.plugins.registry import Chain
from apps.cluster.admission.policies.requests import CREATE, DELETE, UPDATE, Review
from apps.cluster.allocation.services import SERVICE, Allocations, may_allocate
from apps.cluster.custom.admission import admit_custom, validate_custom_object
from apps.cluster.errors import (
    AlreadyExists,
    ApiError,
    Invalid,
    NotFound,
    RequestEntityTooLarge,
)
from apps.cluster.kinds import Kind
from apps.cluster.log.announce import announcer
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Change, Cluster
from apps.cluster.ownership.managers import Manager
from apps.cluster.ownership.writes import Updating
from apps.cluster.quota.charging import QUOTA, Charges
from apps.cluster.quota.usage import countable
from apps.cluster.validation import validate
from apps.cluster.writes import Actor, Create, Delete, Key, Update, Write, key_of
from apps.cluster.writing import deletion, single_object
from apps.cluster.writing.lookups import StoreLookups
from apps.cluster.writing.metadata import (
    count_generation,
    stamp_new,
    stamp_updated,
    timestamp,
)
from apps.cluster.writing.parts import SPEC_PARTS
from apps.cluster.writing.policies import StoreParams, policies_of
from apps.cluster.writing.preconditions import check_deletable, check_namespace, check_preconditions
from apps.cluster.writing.rows import PendingChange, Row, commit, take_counter

Body = dict[str, Any]

_LARGEST_OBJECT: Final = 1_572_864


class _QuotasAppeared(Exception):
    """The cluster's first quota was created concurrently; nothing has been written."""


class WriteTransaction:
    """The state of one `write`."""

    def __init__(
        self,
        cluster: Cluster,
        actor: Actor,
        collect_refusals: bool,
        journal: list[ObjectChange] | None = None,
        found: Row | None = None,
    ) -> None:
        """`found` is the row of the object to write, as it was just read without a lock."""
        self.cluster = cluster
        self.actor = actor
        self.collect_refusals = collect_refusals
        self.journal = journal
        self.found = found
        self.now: datetime = cluster.now()
        self.lookups = StoreLookups(cluster)
        self.plugins = Chain(cluster.admission_plugins, actor.user)
        self.rows: dict[Key, Row] = {}
        self.changes: list[PendingChange] = []
        self.latest: dict[Key, PendingChange] = {}
        #: None in a cluster without quotas
        self.charges: Charges | None = None
        self.dry_run = False
        #: None in a write without new or changed services
        self.allocations: Allocations | None = None

    def run(self, writes: Sequence[Write], *, dry_run: bool, wake: bool) -> list[Body | ApiError]:
        self.dry_run = dry_run
        prepared = [self._prepare(write) for write in writes]
        if self.cluster.quotas or any(_is_about(QUOTA, write) for write in prepared):
            self.charges = Charges(self.cluster)
        existing = [write for write in prepared if not isinstance(write, ApiError | Create)]
        if self.charges is None and not dry_run and len(existing) == len(prepared) > 0:
            outcomes = self._write_one(existing, wake)
            if outcomes is not None:
                return outcomes
            self._start_again()
        try:
            return self._execute(prepared, dry_run, wake)
        except _QuotasAppeared:
            self._start_again()
            self.charges = Charges(self.cluster)
            return self._execute(prepared, dry_run, wake)

    def _start_again(self) -> None:
        """Forget what was applied to rows; nothing of it has been written."""
        self.rows, self.changes, self.latest = {}, [], {}
        self.allocations = None

    def _write_one(
        self, writes: Sequence[Update | Delete], wake: bool
    ) -> list[Body | ApiError] | None:
        """Write one object without holding a lock; None, and nothing is written, if that fails."""
        if not single_object.can_write(writes):
            return None
        key = key_of(writes[0])
        row = self.found or single_object.read_row(self.cluster, writes[0].kind, *key[1:])
        # a failed attempt leaves the row as it was read to the locks
        self.found = None
        old, self.rows[key] = row.body, row
        outcomes = [self._apply(write) for write in writes]
        if not self.changes or old is None:
            return outcomes
        committed = single_object.commit(
            self.cluster, row, old, self.changes, actor=self.actor, now=self.now, wake=wake
        )
        if committed is None:
            return None
        self._note_journal()
        announcer.announce(self.cluster.pk, committed.version, due=committed.became_due)
        return outcomes

    def _execute(
        self, prepared: Sequence[Write | ApiError], dry_run: bool, wake: bool
    ) -> list[Body | ApiError]:
        with transaction.atomic(), sql.preparing_cursor() as cursor:
            self._lock(cursor, prepared)
            outcomes = [self._apply(write) for write in prepared]
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

    def _prepare(self, write: Write) -> Write | ApiError:
        """Admit and validate new objects before any lock is held."""
        if not isinstance(write, Create):
            return write
        kind = write.kind
        try:
            stamped = stamp_new(
                kind, write.body, write.namespace, self.now, self.actor.manager, write.uid
            )
            if write.applying is not None:
                owners = write.applying.creation_entries(timestamp(self.now))
                stamped["metadata"]["managedFields"] = owners
            check_namespace(kind, stamped, self.lookups)
            if kind.name == certificates.KIND:
                stamped = certificates.with_requestor(stamped, self.actor)
            tainted = kind is kinds.NODE and is_tainted_when_new(
                stamped,
                controllers=self.cluster.controllers,
                paused=self.cluster.paused,
                by_client=self.actor.is_api_client,
            )
            if kind.schema_name:
                body = admit_custom(kind, stamped, None)
            else:
                body = admit(
                    kind.name,
                    stamped,
                    self.lookups,
                    taint_new_nodes=tainted,
                    plugins=self.plugins,
                    gates=self.cluster.api_gates,
                )
            self._validate(kind, body, None)
            if not kind.schema_name:
                self.plugins.validate(kind.name, body, self.lookups)
            self._review(CREATE, kind, body, None)
        except ApiError as refusal:
            return self._guard(refusal)
        return Create(kind, body, body["metadata"].get("namespace", ""))

    def _review(
        self, operation: str, kind: Kind, body: Body | None, old: Body | None, part: str = ""
    ) -> None:
        """Ask the admission policies of the cluster, if it has any."""
        policies = policies_of(self.cluster)
        if not policies:
            return
        metadata = (body or old or {})["metadata"]
        request = Review(
            operation,
            kind,
            self._known_actor,
            metadata.get("namespace", ""),
            metadata["name"],
            body,
            old,
            subresource=part,
            dry_run=self.dry_run,
        )
        policies.review(request, self.lookups, StoreParams(self.cluster))

    @cached_property
    def _known_actor(self) -> Actor:
        """The actor with its identity, which pages and operations do not say."""
        if self.actor.identity is not None:
            return self.actor
        user = self.actor.user
        identity = Identity(user, (*service_account_groups(user), AUTHENTICATED))
        return replace(self.actor, identity=with_role(identity, self.cluster))

    def _lock(self, cursor: CursorWrapper, writes: Sequence[Write | ApiError]) -> None:
        """Lock the rows, kind by kind and in id order, so that two writes never deadlock."""
        wanted: dict[str, set[tuple[str, str]]] = {}
        kinds_of: dict[str, Kind] = {}
        for write in writes:
            if not isinstance(write, ApiError):
                kind_key, namespace, name = key_of(write)
                kinds_of[kind_key] = write.kind
                wanted.setdefault(kind_key, set()).add((namespace, name))
        for kind_key in sorted(wanted.keys() - {QUOTA.key}):
            names = sorted(wanted[kind_key])
            self._read_locked(
                cursor,
                kinds_of[kind_key],
                "JOIN unnest(%s::text[], %s::text[]) AS w(namespace, name) "
                "ON t.namespace = w.namespace AND t.name = w.name",
                [[ns for ns, _ in names], [name for _, name in names]],
            )
        self._expect_services(cursor, writes)
        if self.charges is not None:
            countable_kinds = [each for each in wanted if countable(kinds_of[each])]
            self._lock_quotas(cursor, {ns for each in countable_kinds for ns, _ in wanted[each]})

    def _expect_services(self, cursor: CursorWrapper, writes: Sequence[Write | ApiError]) -> None:
        """Let no other write allocate addresses and ports of services until the commit."""
        services = [w for w in writes if not isinstance(w, ApiError) and may_allocate(w)]
        if not services:
            return
        take_counter(cursor, self.cluster)
        checks_range = self.actor.is_api_client
        self.allocations = Allocations(self.cluster, checks_range=checks_range)
        for write in services:
            if isinstance(write, Create):
                self.allocations.expect(write.body)

    def _lock_quotas(self, cursor: CursorWrapper, namespaces: set[str]) -> None:
        """All quotas of these namespaces, behind the counter (see `quota.charging`)."""
        if self.charges is None or not namespaces:
            return
        take_counter(cursor, self.cluster)
        wanted = "JOIN unnest(%s::text[]) AS w(namespace) ON t.namespace = w.namespace"
        self._read_locked(cursor, QUOTA, wanted, [sorted(namespaces)])
        for key, row in self.rows.items():
            if row.kind is QUOTA and row.body is not None:
                self.charges.watch(key, row.body)

    def _read_locked(
        self, cursor: CursorWrapper, kind: Kind, wanted: str, parameters: list[Any]
    ) -> None:
        cursor.execute(
            "SELECT t.id, t.namespace, t.name, t.resource_version, t.body::text "
            f"FROM {kind.table} t {wanted} "
            "WHERE t.cluster_id = %s ORDER BY t.id FOR NO KEY UPDATE OF t",
            [*parameters, self.cluster.pk],
        )
        for row_id, namespace, name, version, body in cursor.fetchall():
            row = Row(kind, row_id, version, sql.load_json(body))
            self.rows[kind.key, namespace, name] = row

    # under the locks

    def _apply(self, write: Write | ApiError) -> Body | ApiError:
        if isinstance(write, ApiError):
            return write
        try:
            if isinstance(write, Create):
                return self._create(write)
            row, body = self._locked_row(write)
            if isinstance(write, Update):
                return self._update(write, row, body)
            return self._delete(write, row, body)
        except ApiError as refusal:
            return self._guard(refusal)

    def _create(self, write: Create) -> Body:
        key = key_of(write)
        row = self.rows.get(key)
        is_taken = row is not None and row.body is not None
        if is_taken and not self._names_are_last(write):
            raise AlreadyExists(write.kind.plural, key[2], write.kind.group)
        body = self._allocate(write, dict(write.body), None)
        self._check_size(body)
        if self.charges is not None:
            self.charges.check(write.kind, body)
        if is_taken:
            raise AlreadyExists(write.kind.plural, key[2], write.kind.group)
        if self.charges is not None and write.kind is QUOTA:
            body = self.charges.recount(key, body)
        if row is None:
            row = self.rows[key] = Row(write.kind, None, None, None)
        return self._record(Change.Type.ADDED, key, row, body)

    def _names_are_last(self, write: Create) -> bool:
        """Whether the name is looked up after addresses, ports and quotas, as the API server does.

        An import, an apply and a repeated request have to learn that the object exists.
        """
        return self.actor.is_api_client and not write.uid and write.applying is None

    def _allocate(self, write: Write, body: Body, old: Body | None) -> Body:
        """The object with the addresses and ports that services share."""
        if self.allocations is None or not may_allocate(write):
            return body
        return self.allocations.allocate(body, old)

    def _locked_row(self, write: Update | Delete) -> tuple[Row, Body]:
        key = key_of(write)
        row = self.rows.get(key)
        if row is None or row.body is None:
            raise NotFound(write.kind.plural, key[2], write.kind.group)
        return row, row.body

    def _validate(self, kind: Kind, body: Body, old: Body | None, subresource: str = "") -> None:
        if kind.schema_name:
            causes = validate_custom_object(kind, body, old)
        else:
            gates = self.cluster.api_gates
            causes = validate(kind.name, body, old, subresource=subresource, gates=gates)
        if causes:
            raise Invalid(kind.name, body["metadata"].get("name", ""), causes, kind.group)

    def _update(self, write: Update, row: Row, old: Body) -> Body:
        kind, key = write.kind, key_of(write)
        if write.uid and write.uid != old["metadata"]["uid"]:
            raise NotFound(kind.plural, key[2], kind.group)
        changed = write.change(old)
        new = stamp_updated(kind, old, changed, write.subresource)
        if not write.trusted:
            part = write.subresource
            if kind.schema_name:
                new = admit_custom(kind, new, old)
            else:
                new = admit(
                    kind.name,
                    new,
                    self.lookups,
                    old=old,
                    subresource=part,
                    plugins=self.plugins,
                    gates=self.cluster.api_gates,
                )
            self._validate(kind, new, old, part)
            if not part and not kind.schema_name:
                self.plugins.validate(kind.name, new, self.lookups, old)
            if not write.reviewed:
                self._review(UPDATE, kind, new, old, part)
            new = self._allocate(write, new, old)
        if not write.subresource or write.subresource in SPEC_PARTS:
            count_generation(kind, old, new)
        if self.charges is not None and kind is QUOTA:
            new = self.charges.recount_if_changed(key, old, new, write.subresource)
        if not write.trusted:
            new = self._with_owners(write, old, new, changed)
            self._check_size(new)
        if new == old:
            return old
        if new["metadata"].get("deletionTimestamp") and not deletion.is_held(kind, new):
            return self._record(Change.Type.DELETED, key, row, new)
        return self._record(Change.Type.MODIFIED, key, row, new)

    def _check_size(self, body: Body) -> None:
        """Reject an object of a client that the API server's storage would not accept."""
        if self.actor.manager and len(msgspec.json.encode(body)) > _LARGEST_OBJECT:
            raise RequestEntityTooLarge(
                f"Request entity too large: an object may have {_LARGEST_OBJECT} bytes"
            )

    def _with_owners(self, write: Update, old: Body, new: Body, changed: Mapping[str, Any]) -> Body:
        """`new` with the owners of its fields after a client's write."""
        if not self.actor.manager:
            return new
        kind = write.kind
        manager = Manager(self.actor.manager, "Update", kind.api_version, write.subresource)
        owners = write.applying or Updating(kind, manager)
        given = changed["metadata"].get("managedFields")
        entries = owners.entries(old, new, given, timestamp(self.now))
        return {**new, "metadata": {**new["metadata"], "managedFields": entries}}

    def _delete(self, write: Delete, row: Row, old: Body) -> Body:
        kind, key = write.kind, key_of(write)
        check_deletable(kind, old)
        check_preconditions(kind, old, write.options.get("preconditions") or {})
        if self.actor.manager and not write.reviewed:
            self._review(DELETE, kind, None, old)
        new = deletion.mark_deleted(kind, old, write.options, self.now)
        if deletion.is_held(kind, new):
            return old if new == old else self._record(Change.Type.MODIFIED, key, row, new)
        if kind is kinds.POD and new != old:
            # a pod's end is a separate change, which watches see before the deletion
            self._record(Change.Type.MODIFIED, key, row, new)
            return self._record(Change.Type.DELETED, key, row, dict(new))
        return self._record(Change.Type.DELETED, key, row, dict(old))

    def _record(self, change_type: Change.Type, key: Key, row: Row, body: Body) -> Body:
        body["metadata"] = dict(body["metadata"])
        deleted = change_type == Change.Type.DELETED
        if self.allocations is not None and row.kind is SERVICE:
            self.allocations.record(row.body, None if deleted else body)
        if self.charges is not None:
            self.charges.record(row.kind, row.body, None if deleted else body)
            if deleted:
                self.charges.forget(key)
        previous = self.latest.get(key)
        change = PendingChange(change_type, row, body, previous, row.version if row.body else None)
        self.changes.append(change)
        self.latest[key] = change
        row.body = None if deleted else body
        row.changed = True
        return body

    def _commit(self, cursor: CursorWrapper, *, wake: bool) -> None:
        if self.charges is not None:
            for key, quota in list(self.charges.settle()):
                self._record(Change.Type.MODIFIED, key, self.rows[key], quota)
        last, became_due, quotas = commit(
            cursor,
            self.cluster,
            list(self.rows.values()),
            self.changes,
            actor=self.actor,
            now=self.now,
            wake=wake,
        )
        self.cluster.quotas = quotas
        if quotas and self.charges is None and any(countable(c.row.kind) for c in self.changes):
            raise _QuotasAppeared
        self._note_journal()
        transaction.on_commit(lambda: announcer.announce(self.cluster.pk, last, due=became_due))

    def _note_journal(self) -> None:
        if self.journal is not None:
            self.journal += [change.recorded(self.actor) for change in self.changes]


def _is_about(kind: Kind, write: Write | ApiError) -> bool:
    return not isinstance(write, ApiError) and write.kind is kind
