"""The informer: feeds the objects of a cluster, and every later change, to its scheduler."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from django.db import connection, transaction

from apps.cluster import kinds, sql
from apps.cluster.exchange import Answer, Exchange, exchange
from apps.cluster.log import history
from apps.cluster.log.changelog import ObjectChange, creations, read_objects_after
from apps.cluster.models import Cluster
from apps.engine.loop.pending_texts import PendingTexts
from apps.scheduler import objects
from apps.scheduler.objects import KubeObject, Pod

log = logging.getLogger(__name__)

#: The kinds that the scheduler reads; namespaces and nodes before pods, which refer to them.
WATCHED = tuple(
    kind
    for kind in sorted(
        (kind for kind in kinds.ALL if kind.name in objects.KINDS),
        key=lambda kind: (kind.name == "Pod", kind.name != "Namespace", kind.name != "Node"),
    )
    if not kind.is_record
)
_WATCHED_NAMES = frozenset(kind.name for kind in WATCHED)
_IGNORED: Final = frozenset(kind.name for kind in kinds.ALL if kind.is_record)
_BATCH = 2000

Body = dict[str, Any]
#: Called with (kind, old, new, body of new) for each change, after the scheduler. The body may be
#: JSON text.
Observer = Callable[[str, KubeObject | None, KubeObject | None, Body | str | None], None]


#: Called with (kind, old, new, change).
BeforeChange = Callable[[str, KubeObject | None, KubeObject | None, ObjectChange], None]


class Handler(Protocol):
    """`Scheduler.handle`."""

    def __call__(
        self,
        kind: str,
        old: KubeObject | None,
        new: KubeObject | None,
        at: float | None = None,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod that had no node when the informer was loaded."""

    pod: Pod
    #: seconds since the epoch
    created_at: float
    #: the version at which it was created; 0 when the log does not reach back that far
    created_by: int


class PlacedPod(NamedTuple):
    """A pod that the loop has bound, and started if `running` is not None."""

    bound: Pod
    running: Pod | None


class _OwnWrites(NamedTuple):
    """A transaction of the loop, which took the versions after `base` up to `last`."""

    base: int
    last: int
    changes: Sequence[ObjectChange] | Sequence[PlacedPod]


_NOTHING_AHEAD: Final = (0, None)


@dataclass(slots=True)
class Informer:
    """Feeds a scheduler's event handlers: existing objects first, then every change in order."""

    cluster_id: int
    handle: Handler
    #: Also called for each change; the controllers.
    observe: Observer | None = None
    #: Called before the scheduler processes a change of another writer.
    before_change: BeforeChange | None = None
    #: The version up to which the scheduler has received all changes.
    position: int = 0
    #: The version at which existing objects were loaded; later changes followed in order.
    loaded_at: int = 0
    #: The version of the last change of others that was read after that.
    read_upto: int = 0
    #: The request that created each pending pod, for the ledger; uid -> request id.
    request_ids: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str, str], KubeObject] = field(default_factory=dict)
    #: The committed writes of this loop that are not applied yet.
    _own: deque[_OwnWrites] = field(default_factory=deque)
    _pending: PendingTexts = field(default_factory=PendingTexts)
    #: The changes after a version, that were read with the state of the cluster.
    _ahead: tuple[int, Answer | None] = _NOTHING_AHEAD

    def load(self, since: int | None = None) -> Mapping[str, PendingPod]:
        """Load all objects at one version; returns the pods without a node, by uid.

        These pods are not passed to the scheduler: the caller restores them from the saved queue.
        The version is `since`, if given and if the log reaches back that far, otherwise the current
        one. Later changes follow with `catch_up`.
        """
        pending: dict[str, tuple[Pod, datetime]] = {}
        for kind, item, body, created_at in self._read_everything(since):
            self._known[_key(kind, item)] = item
            if self.observe is not None:
                self.observe(kind, None, item, body)
            if kind not in _WATCHED_NAMES:
                continue
            if isinstance(item, Pod) and not item.spec.node_name:
                pending[item.metadata.uid] = item, created_at
                self._pending.put(item, body)
            else:
                self._pass_on(kind, None, item)
        created = creations(self.cluster_id, pending)
        self.request_ids = {uid: request_id for uid, (_, request_id) in created.items()}
        return {
            uid: PendingPod(pod, created_at.timestamp(), created.get(uid, (0, ""))[0])
            for uid, (pod, created_at) in pending.items()
        }

    def note_own_writes(self, changes: Sequence[ObjectChange]) -> None:
        """Remember the changes of a transaction that this loop has committed, in version order.

        `catch_up` applies them without reading them from the log. Their versions are consecutive.
        """
        if changes:
            self._own.append(_OwnWrites(changes[0].version - 1, changes[-1].version, changes))

    def note_placements(self, base: int, pods: Sequence[PlacedPod]) -> None:
        """The same for bindings; the first change of the transaction has the version after `base`.

        The last one is the event of the last pod.
        """
        last = pods[-1].running or pods[-1].bound
        self._own.append(_OwnWrites(base, int(last.metadata.resource_version) + 1, pods))

    def is_open(self, namespace: str) -> bool:
        """Whether objects can be created in a namespace: it exists and is not terminating."""
        known = self._known.get(("Namespace", "", namespace))
        return known is not None and known.metadata.deletion_timestamp is None

    def pending_pod(self, key: tuple[str, str]) -> Pod | None:
        """The pod without a node of this namespace and name; None if there is none."""
        known = self._known.get(("Pod", *key))
        return known if isinstance(known, Pod) and not known.spec.node_name else None

    def pending_texts(self, pods: Collection[Pod]) -> dict[str, str]:
        """The JSON text of pods without a node, as of their versions; uid -> text.

        Those that have changed in the meantime are missing.
        """
        return self._pending.texts(self.cluster_id, pods)

    def catch_up(self, upto: int | None = None) -> int:
        """Apply the changes of others up to version `upto`, and all own writes, in version order.

        `upto` is a version that the cluster has reached; by default its current one. Returns the
        number of versions. Without a change of others, nothing is read.
        """
        start = self.position
        while self._own:
            self._read_log(self._own[0].base)
            self._apply_own(self._own.popleft())
        self._read_log(self._read_version() if upto is None else upto)
        return self.position - start

    def send_look(self, sent: Exchange) -> None:
        """Read the next changes together with other statements, for the next `catch_up`."""
        if not self._own:
            self._ahead = self.position, self._send_read(sent)

    def _send_read(self, sent: Exchange) -> Answer:
        return read_objects_after(
            sent, self.cluster_id, self.position, without=_IGNORED, limit=_BATCH
        )

    def apply_placements(self) -> None:
        """Apply own bindings as far as no other change comes before them.

        The database is not read, so this can be done while another batch is committed.
        """
        while self._own and self._own[0].base == self.position:
            if not isinstance(self._own[0].changes[0], PlacedPod):
                break
            self._apply_own(self._own.popleft())

    def _apply_own(self, own: _OwnWrites) -> None:
        for change in own.changes:
            if isinstance(change, PlacedPod):
                self._apply_placement(change)
            elif change.kind not in _IGNORED:
                self._apply(change)
        self.position = own.last

    def _read_log(self, upto: int) -> None:
        """Apply the changes after `position` up to `upto`, from the log."""
        while self.position < upto:
            rows = self._read_rows()
            changes = [ObjectChange._make(row) for row in rows if row[0] <= upto]
            for change in changes:
                self._apply(change)
            if changes:
                self.read_upto = changes[-1].version
            # `upto` was reached before they were read
            self.position = upto if len(changes) < _BATCH else changes[-1].version

    def _read_rows(self) -> list[tuple[Any, ...]]:
        """The next changes after `position`."""
        (after, answer), self._ahead = self._ahead, _NOTHING_AHEAD
        if answer is None or after != self.position:
            with exchange() as sent:
                answer = self._send_read(sent)
                sent.receive()
        return answer.rows

    def _read_version(self) -> int:
        """The current version of the cluster; 0 if it was deleted."""
        versions = Cluster.objects.filter(pk=self.cluster_id).values_list("resource_version")
        return next((version for (version,) in versions), 0)

    def node_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a node; empty if it does not exist."""
        node = self._known.get(("Node", "", name))
        return node.metadata.labels if node is not None else {}

    def _apply(self, change: ObjectChange) -> None:
        if change.kind not in _WATCHED_NAMES:
            self._apply_unwatched(change)
            return
        key = (change.kind, change.namespace, change.name)
        old = self._known.pop(key, None)
        new = None
        if change.type != "DELETED":
            new = decode(change.kind, change.body)
            if new is None:
                return
            self._known[key] = new
        self._remember_request(change, new)
        if isinstance(new, Pod) and not new.spec.node_name:
            self._pending.put(new, change.body)
        elif change.kind == "Pod":
            self._pending.remove(change.uid)
        if self.before_change is not None:
            self.before_change(change.kind, old, new, change)
        if old is not None or new is not None:
            self._pass_on(change.kind, old, new, change.at.timestamp())
            if self.observe is not None:
                self.observe(change.kind, old, new, change.body if new is not None else None)

    def _apply_unwatched(self, change: ObjectChange) -> None:
        """Tell the garbage collector of an object that the scheduler does not know."""
        if self.observe is None:
            return
        key = (change.kind, change.namespace, change.name)
        item, old = decode_metadata(change.body), self._known.pop(key, None)
        if change.type == "DELETED":
            self.observe(change.kind, old or item, None, None)
        elif _has_references(item):
            self._known[key] = item
            self.observe(change.kind, old, item, None)
        elif old is not None:
            self.observe(change.kind, old, None, None)

    def _pass_on(
        self, kind: str, old: KubeObject | None, new: KubeObject | None, at: float | None = None
    ) -> None:
        """Tell the scheduler of a change. An object that it cannot take in is left out.

        One such object must not stop the cluster: it is logged, and its next version counts as new.
        """
        try:
            self.handle(kind, old, new, at)
        except Exception:
            item = new or old
            assert item is not None
            log.exception("left out %s %s", kind, item.metadata.name)
            self._known.pop(_key(kind, item), None)

    def _apply_placement(self, placed: PlacedPod) -> None:
        """Controllers see only the last state: they act on states, not on changes."""
        key = _key("Pod", placed.bound)
        old, last = self._known[key], placed.running or placed.bound
        self._known[key] = last
        self.request_ids.pop(last.metadata.uid, None)
        self._pending.remove(last.metadata.uid)
        self.handle("Pod", old, placed.bound)
        if placed.running is not None:
            self.handle("Pod", placed.bound, placed.running)
        if self.observe is not None:
            self.observe("Pod", old, last, None)

    def _remember_request(self, change: ObjectChange, new: KubeObject | None) -> None:
        if change.kind == "Pod":
            if change.type == "ADDED":
                self.request_ids[change.uid] = change.request_id
            elif not isinstance(new, Pod) or new.spec.node_name:
                self.request_ids.pop(change.uid, None)

    def _read_everything(
        self, since: int | None
    ) -> Iterator[tuple[str, KubeObject, str, datetime]]:
        """Every watched object with its text and creation time; sets `position` to their version.

        All objects come from one snapshot of the database, each kind in the order of creation. The
        transaction ends before the first object is yielded: processing many objects takes longer
        than the database allows a transaction to be idle.
        """
        fetched = []
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(
                "SELECT resource_version FROM cluster_cluster WHERE id = %s", [self.cluster_id]
            )
            row = cursor.fetchone()
            if row is None:
                raise Cluster.DoesNotExist(f"cluster {self.cluster_id}")
            current = start = row[0]
            if since is not None and history.is_retained(cursor, self.cluster_id, since):
                start = since
            self.position = self.loaded_at = start
            for kind in WATCHED:
                if start == current:
                    objects = history.list_all(cursor, self.cluster_id, kind)
                else:
                    objects = history.list_all_at(cursor, self.cluster_id, kind, start)
                fetched.append((kind.name, objects))
            unwatched = history.list_dependants(cursor, self.cluster_id, _WATCHED_NAMES)
        for kind_key, body, created_at in unwatched:
            yield kind_key, decode_metadata(body), body, created_at
        for name, objects in fetched:
            for body, created_at in objects:
                item = decode(name, body)
                if item is not None:
                    yield name, item, body, created_at


def decode(kind: str, body: dict[str, object] | str) -> KubeObject | None:
    """The typed object of a body, which may be JSON text.

    Logs the error and returns None for a body that cannot be decoded, which an older version of
    the software may have accepted.
    """
    try:
        if isinstance(body, str):
            item: KubeObject = objects.decode_json(kind, body)
        else:
            item = objects.decode(kind, body)
    except objects.DecodeError:
        log.exception("cannot decode a %s", kind)
        return None
    return item


def decode_metadata(body: dict[str, object] | str) -> KubeObject:
    """The metadata of an object of any kind."""
    read = sql.load_json(body) if isinstance(body, str) else body
    return objects.decode_as(KubeObject, {"metadata": read["metadata"]})


def _has_references(item: KubeObject) -> bool:
    """Whether the garbage collector has to know an object: it has owners or finalizers."""
    return bool(item.metadata.owner_references or item.metadata.finalizers)


def _key(kind: str, item: KubeObject) -> tuple[str, str, str]:
    return kind, item.metadata.namespace, item.metadata.name
