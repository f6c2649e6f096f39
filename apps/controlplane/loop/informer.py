"""The loop's eyes: a cluster's objects as the scheduler knows them, kept up with the change log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.db import connection, transaction

from apps.cluster import kinds
from apps.cluster.log import history
from apps.cluster.log.changelog import LoggedChange, changes_after, creations
from apps.cluster.models import Cluster
from apps.scheduler import objects
from apps.scheduler.objects import KubeObject, Pod

log = logging.getLogger(__name__)

#: What the scheduler reads; namespaces and nodes first, so that pods find them.
WATCHED = tuple(
    kind
    for kind in sorted(
        (kind for kind in kinds.ALL if kind.name in objects.KINDS),
        key=lambda kind: (kind.name == "Pod", kind.name != "Namespace", kind.name != "Node"),
    )
    if kind.name not in ("Event", "Lease")
)
_WATCHED_NAMES = frozenset(kind.name for kind in WATCHED)
_BATCH = 2000

#: (kind, old, new, body of new): what a reader beside the scheduler wants to see.
Observer = Callable[[str, KubeObject | None, KubeObject | None, dict[str, Any] | None], None]


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
    """A pod without a node that was there when everything was taken in."""

    pod: Pod
    #: seconds since the epoch
    created_at: float
    #: the version of its creation; 0 when the log does not reach back that far
    created_by: int


@dataclass(slots=True)
class Informer:
    """Feeds a scheduler's event handlers: everything there is, then every change in order."""

    cluster_id: int
    handle: Handler
    #: The controllers; they hear of a change after the scheduler.
    observe: Observer | None = None
    #: The version up to which the scheduler knows everything.
    position: int = 0
    #: The version at which it took in everything there was; what came later came in order.
    loaded_at: int = 0
    #: The request that created each pending pod, for the ledger; uid -> request id.
    request_ids: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str, str], KubeObject] = field(default_factory=dict)

    def load(self, since: int | None = None) -> Mapping[str, PendingPod]:
        """Take in all objects as of one version; return the pods without a node, by uid.

        These are not told to the scheduler: the caller knows what is kept of them. The version is
        `since`, if given and if the log reaches back that far (what came later is then caught up
        with, one change after the other), else the present one.
        """
        pending: dict[str, tuple[Pod, datetime]] = {}
        for kind, item, body, created_at in self._everything(since):
            self._known[_key(kind, item)] = item
            if self.observe is not None:
                self.observe(kind, None, item, body)
            if isinstance(item, Pod) and not item.spec.node_name:
                pending[item.metadata.uid] = item, created_at
            else:
                self.handle(kind, None, item)
        found = creations(self.cluster_id, pending)
        self.request_ids = {uid: request_id for uid, (_, request_id) in found.items()}
        return {
            uid: PendingPod(pod, created_at.timestamp(), found.get(uid, (0, ""))[0])
            for uid, (pod, created_at) in pending.items()
        }

    def catch_up(self) -> int:
        """Take in what was committed since; return how many changes that were."""
        count = 0
        while changes := changes_after(self.cluster_id, self.position, limit=_BATCH):
            for change in changes:
                if change.kind in _WATCHED_NAMES:
                    self._take_in(change)
            self.position = changes[-1].version
            count += len(changes)
        return count

    def node_labels(self, name: str) -> Mapping[str, str]:
        """Labels of a node; none of one that does not exist."""
        node = self._known.get(("Node", "", name))
        return node.metadata.labels if node is not None else {}

    def _take_in(self, change: LoggedChange) -> None:
        key = (change.kind, change.namespace, change.name)
        old = self._known.pop(key, None)
        new = None
        if change.type != "DELETED":
            new = decode(change.kind, change.object)
            if new is None:
                return
            self._known[key] = new
        self._remember_request(change)
        if old is not None or new is not None:
            self.handle(change.kind, old, new, change.at.timestamp())
            if self.observe is not None:
                self.observe(change.kind, old, new, change.object if new is not None else None)

    def _remember_request(self, change: LoggedChange) -> None:
        if change.kind == "Pod":
            if change.type == "ADDED":
                self.request_ids[change.uid] = change.request_id
            elif change.type == "DELETED" or (change.object.get("spec") or {}).get("nodeName"):
                self.request_ids.pop(change.uid, None)

    def _everything(
        self, since: int | None
    ) -> Iterator[tuple[str, KubeObject, dict[str, Any], datetime]]:
        """Every watched object with its body and creation; sets `position` to their version.

        All of them from one snapshot of the database, each kind in the order of creation. The
        transaction is over when the first comes: with many, taking them in takes longer than a
        transaction may stand idle.
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
            present = start = row[0]
            if since is not None and history.is_retained(cursor, self.cluster_id, since):
                start = since
            self.position = self.loaded_at = start
            for kind in WATCHED:
                if start == present:
                    found = history.list_all(cursor, self.cluster_id, kind)
                else:
                    found = history.list_all_at(cursor, self.cluster_id, kind, start)
                fetched.append((kind.name, found))
        for name, found in fetched:
            for body, created_at in found:
                item = decode(name, body)
                if item is not None:
                    yield name, item, body, created_at


def decode(kind: str, body: dict[str, object] | str) -> KubeObject | None:
    """The typed object of a body, which may be JSON text.

    None, with a line in the log, for one that only an older version took.
    """
    try:
        if isinstance(body, str):
            item: KubeObject = objects.decode_json(kind, body)
        else:
            item = objects.decode(kind, body)
    except objects.DecodeError:
        log.exception("the scheduler cannot read a %s", kind)
        return None
    return item


def _key(kind: str, item: KubeObject) -> tuple[str, str, str]:
    return kind, item.metadata.namespace, item.metadata.name
