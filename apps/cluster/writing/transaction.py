"""One transaction of the store: applies writes to objects under row locks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.db import transaction
from django.db.backends.utils import CursorWrapper

from apps.cluster import sql
from apps.cluster.access.deciding import with_role
from apps.cluster.access.identity import AUTHENTICATED, Identity, service_account_groups
from apps.cluster.admission.names import DRAWS, is_to_generate
from apps.cluster.errors import ApiError, Conflict, NotFound
from apps.cluster.kinds import Kind
from apps.cluster.log.announce import announcer
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Change, Cluster
from apps.cluster.quota.charging import QUOTA, Charges
from apps.cluster.usage import countable
from apps.cluster.writes import Actor, Create, Delete, Key, Update, Write, key_of
from apps.cluster.writing import single_object
from apps.cluster.writing.locking import RowLocks
from apps.cluster.writing.lookups import StoreLookups
from apps.cluster.writing.policies import dynamic_admission_of, world_of
from apps.cluster.writing.rows import CreatedMeanwhile, PendingChange, Row, commit
from apps.cluster.writing.rules import Effect, Moved, WriteRules

Body = dict[str, Any]

_DELETED: Final = Change.Type.DELETED
#: So often a write starts again because objects have changed meanwhile.
_TRIES: Final = 5


class _QuotasAppeared(Exception):
    """The cluster's first quota was created concurrently; nothing has been written."""


class _NamesTaken(Exception):
    """Generated names, of the writes with these indexes, exist; nothing has been written."""

    def __init__(self, indexes: Sequence[int]) -> None:
        self.indexes = indexes


class WriteTransaction:
    """The state of one `write`."""

    def __init__(
        self,
        cluster: Cluster,
        actor: Actor,
        collect_refusals: bool,
        journal: list[ObjectChange] | None = None,
        known_row: Row | None = None,
    ) -> None:
        """`known_row` is the row of the object to write, as it was just read without a lock."""
        self.cluster = cluster
        self.actor = actor
        self.collect_refusals = collect_refusals
        self.journal = journal
        self.known_row = known_row
        lookups = StoreLookups(cluster)
        self.rules = WriteRules(
            cluster=cluster,
            actor=actor,
            now=cluster.now(),
            lookups=lookups,
            dynamic=lambda: dynamic_admission_of(cluster),
            world=world_of(cluster, lookups),
            identify=self._identify,
        )
        self.rows: dict[Key, Row] = {}
        self.changes: list[PendingChange] = []
        self.latest: dict[Key, PendingChange] = {}
        #: index of a write -> so often its name may be drawn again
        self.draws: dict[int, int] = {}

    def ask(self, writes: Sequence[Write], *, dry_run: bool) -> Sequence[Write | ApiError]:
        """The writes as they are admitted, if webhooks have to be asked; see `store.ask`."""
        if self.rules.world.call is None or not self.rules.dynamic().webhooks:
            return writes
        self.rules.dry_run = dry_run
        return self._ask([self._prepare(write) for write in writes])

    def run(
        self, writes: Sequence[Write | ApiError], *, dry_run: bool, wake: bool
    ) -> list[Body | ApiError]:
        """The objects as they are stored, or the errors of rejected writes.

        Raises ApiError for the first rejected write, unless refusals are collected.
        """
        self.rules.dry_run = dry_run
        prepared = [self._prepare(write) for write in writes]
        if self.cluster.quotas or any(_is_about(QUOTA, write) for write in prepared):
            self.rules.charges = Charges(self.cluster)
        existing = [write for write in prepared if not isinstance(write, ApiError | Create)]
        if self.rules.charges is None and not dry_run and len(existing) == len(prepared) > 0:
            outcomes = self._write_one(existing, wake)
            if outcomes is not None:
                return outcomes
            self._start_again()
        self.draws = {i: DRAWS - 1 for i, write in enumerate(writes) if _is_to_be_named(write)}
        tries = _TRIES
        while True:
            try:
                return self._execute(self._ask(prepared), dry_run, wake)
            except _NamesTaken as taken:
                self._start_again()
                for index in taken.indexes:
                    self.draws[index] -= 1
                    prepared[index] = self._prepare(writes[index])
                continue
            except _QuotasAppeared:
                self._start_again()
                self.rules.charges = Charges(self.cluster)
            except (Moved, CreatedMeanwhile):
                self._start_again()
            tries -= 1
            if tries == 0:
                raise _moved(next(each for each in prepared if not isinstance(each, ApiError)))

    def _ask(self, writes: Sequence[Write | ApiError]) -> Sequence[Write | ApiError]:
        """Ask webhooks about the changes of objects as they are now, without locks.

        Their rows are read again when they are locked.
        """
        asked = {
            key_of(write): write
            for write in writes
            if isinstance(write, Update | Delete) and self.rules.asks_webhooks(write)
        }
        if not asked:
            return writes
        bodies = {
            key: single_object.read_row(self.cluster, write.kind, *key[1:]).body
            for key, write in asked.items()
        }
        return [self._admit_change(write, bodies) for write in writes]

    def _admit_change(
        self, write: Write | ApiError, bodies: dict[Key, Body | None]
    ) -> Write | ApiError:
        """Apply a change to its object in `bodies`, ask webhooks and policies, keep the result."""
        if not isinstance(write, Update | Delete) or write.admitted is not None:
            return write
        old = bodies.get(key_of(write))
        if old is None:
            return write
        admitted = self.rules.admit_change(write, old)
        assert admitted.admitted is not None
        if admitted.admitted.refusal is None:
            bodies[key_of(write)] = admitted.admitted.body
        return admitted

    def _start_again(self) -> None:
        """Forget what was applied to rows; nothing of it has been written."""
        self.rows, self.changes, self.latest = {}, [], {}
        self.rules.allocations = None
        self.rules.is_locked = False

    def _write_one(
        self, writes: Sequence[Update | Delete], wake: bool
    ) -> list[Body | ApiError] | None:
        """Write one object without holding a lock; None, and nothing is written, if that fails."""
        if not single_object.can_write(writes):
            return None
        key = key_of(writes[0])
        row = self.known_row or single_object.read_row(self.cluster, writes[0].kind, *key[1:])
        # a failed attempt leaves the row as it was read to the locks
        self.known_row = None
        old, self.rows[key] = row.body, row
        try:
            outcomes = [self._apply(write) for write in writes]
        except Moved:
            return None
        if not self.changes or old is None:
            return outcomes
        committed = single_object.commit(
            self.cluster, row, old, self.changes, actor=self.actor, now=self.rules.now, wake=wake
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
            RowLocks(self.cluster, self.rules, self.rows).take(cursor, prepared)
            self.rules.is_locked = True
            self._check_drawn(prepared)
            outcomes = [self._apply(write) for write in prepared]
            if self.changes:
                self._commit(cursor, wake=wake and not dry_run)
            if dry_run:
                transaction.set_rollback(True)
        return outcomes

    def _check_drawn(self, prepared: Sequence[Write | ApiError]) -> None:
        """Raise _NamesTaken for names to draw again: other objects, or others to create, have them.

        Last of all, a name that is taken refuses its object.
        """
        if not self.draws:
            return
        names: set[Key] = {key for key, row in self.rows.items() if row.body is not None}
        taken: list[int] = []
        for index, write in enumerate(prepared):
            if not isinstance(write, Create):
                continue
            if key_of(write) in names and self.draws.get(index):
                taken.append(index)
            names.add(key_of(write))
        if taken:
            raise _NamesTaken(taken)

    def _guard(self, refusal: ApiError) -> ApiError:
        if not self.collect_refusals:
            raise refusal
        return refusal

    def _prepare(self, write: Write | ApiError) -> Write | ApiError:
        """Admit and validate new objects, before any lock is held."""
        if isinstance(write, ApiError):
            return self._guard(write)
        if not isinstance(write, Create) or write.admitted:
            return write
        try:
            return self.rules.prepare(write)
        except ApiError as refusal:
            return self._guard(refusal)

    def _identify(self, actor: Actor) -> Actor:
        identity = Identity(actor.user, (*service_account_groups(actor.user), AUTHENTICATED))
        return replace(actor, identity=with_role(identity, self.cluster))

    def _apply(self, write: Write | ApiError) -> Body | ApiError:
        """Apply a write to its row; `_commit` writes what has changed."""
        if isinstance(write, ApiError):
            return write
        try:
            if isinstance(write, Create):
                return self._create(write)
            row, old = self._locked_row(write)
            return self._record(write, row, old, self.rules.change(write, old))
        except ApiError as refusal:
            return self._guard(refusal)
        except Moved:
            if self.rules.world.call is not None:
                raise
            # webhooks were asked before a transaction that goes on
            return self._guard(_moved(write))

    def _create(self, write: Create) -> Body:
        key = key_of(write)
        row = self.rows.get(key)
        body = self.rules.create(write, row.body if row is not None else None)
        if row is None:
            row = self.rows[key] = Row(write.kind, None, None, None)
        if write.restored:
            row.born_at = datetime.fromisoformat(body["metadata"]["creationTimestamp"])
        return self._record(write, row, body, [(Change.Type.ADDED, body)])

    def _locked_row(self, write: Update | Delete) -> tuple[Row, Body]:
        key = key_of(write)
        row = self.rows.get(key)
        if row is None or row.body is None:
            raise NotFound(write.kind.plural, key[2], write.kind.group)
        return row, row.body

    def _record(self, write: Write, row: Row, body: Body, effects: Sequence[Effect]) -> Body:
        """Note the changes of a row; returns the object after the last one, `body` without any."""
        for change_type, body in effects:
            self.rules.record(write, row.body, None if change_type == _DELETED else body)
            self._note(key_of(write), row, change_type, body)
        return body

    def _note(self, key: Key, row: Row, change_type: Change.Type, body: Body) -> None:
        body["metadata"] = dict(body["metadata"])
        previous = self.latest.get(key)
        change = PendingChange(change_type, row, body, previous, row.version if row.body else None)
        self.changes.append(change)
        self.latest[key] = change
        row.body = None if change_type == _DELETED else body
        row.changed = True

    def _commit(self, cursor: CursorWrapper, *, wake: bool) -> None:
        charges = self.rules.charges
        for key, quota in [] if charges is None else list(charges.settle()):
            self._note(key, self.rows[key], Change.Type.MODIFIED, quota)
        last, became_due, quotas = commit(
            cursor,
            self.cluster,
            list(self.rows.values()),
            self.changes,
            actor=self.actor,
            now=self.rules.now,
            wake=wake,
        )
        self.cluster.quotas = quotas
        if quotas and charges is None and any(countable(c.row.kind) for c in self.changes):
            raise _QuotasAppeared
        self._note_journal()
        # without this transaction's rows, which would be kept until an outer one is committed
        announce = partial(announcer.announce, self.cluster.pk, last, due=became_due)
        transaction.on_commit(announce)

    def _note_journal(self) -> None:
        if self.journal is not None:
            self.journal += [change.recorded(self.actor) for change in self.changes]


def _moved(write: Write) -> Conflict:
    why = (
        "the object has been modified; please apply your changes to the latest version and try "
        "again"
    )
    return Conflict(write.kind.plural, key_of(write)[2], why, write.kind.group)


def _is_to_be_named(write: Write | ApiError) -> bool:
    """Whether the object is one to create, with a name that is drawn."""
    return isinstance(write, Create) and is_to_generate(write.body.get("metadata") or {})


def _is_about(kind: Kind, write: Write | ApiError) -> bool:
    return not isinstance(write, ApiError) and write.kind is kind
