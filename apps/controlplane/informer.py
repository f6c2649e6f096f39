"""The loop's eyes: a cluster's objects as the scheduler knows them, kept up with the change log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction

from apps.cluster import kinds, sql
from apps.cluster.changelog import LoggedChange, changes_after, creation_requests
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


@dataclass(slots=True)
class Informer:
    """Feeds a scheduler's event handlers: everything there is, then every change in order."""

    cluster_id: int
    #: (kind, old, new): `Scheduler.handle`
    handle: Callable[[str, KubeObject | None, KubeObject | None], None]
    #: The controllers; they hear of a change after the scheduler.
    observe: Observer | None = None
    #: The version up to which the scheduler knows everything.
    position: int = 0
    #: The version at which it took in everything there was; what came later came in order.
    loaded_at: int = 0
    #: The request that created each pending pod, for the ledger; uid -> request id.
    request_ids: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str, str], KubeObject] = field(default_factory=dict)

    def load(self, restore: Callable[[Mapping[str, Pod]], Container[str]]) -> None:
        """Take in all objects as of one version, the pending pods last.

        Before them `restore` gets every pending pod by uid, to refill the queue with what is kept
        of it, and returns the uids it knew: these are not announced again. Nothing that is taken
        in before can move a restored pod, since the queue is still empty then.
        """
        pending: dict[str, Pod] = {}
        for kind, item, body in self._snapshot():
            self._known[_key(kind, item)] = item
            if self.observe is not None:
                self.observe(kind, None, item, body)
            if isinstance(item, Pod) and not item.spec.node_name:
                pending[item.metadata.uid] = item
            else:
                self.handle(kind, None, item)
        self.request_ids = creation_requests(self.cluster_id, pending)
        restored = restore(pending)
        for uid, pod in pending.items():
            if uid not in restored:
                self.handle("Pod", None, pod)

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
            self.handle(change.kind, old, new)
            if self.observe is not None:
                self.observe(change.kind, old, new, change.object if new is not None else None)

    def _remember_request(self, change: LoggedChange) -> None:
        if change.kind == "Pod":
            if change.type == "ADDED":
                self.request_ids[change.uid] = change.request_id
            elif change.type == "DELETED" or (change.object.get("spec") or {}).get("nodeName"):
                self.request_ids.pop(change.uid, None)

    def _snapshot(self) -> Iterator[tuple[str, KubeObject, dict[str, Any]]]:
        """Every watched object, and `position`, from one snapshot of the database."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(
                "SELECT resource_version FROM cluster_cluster WHERE id = %s", [self.cluster_id]
            )
            row = cursor.fetchone()
            if row is None:
                raise Cluster.DoesNotExist(f"cluster {self.cluster_id}")
            self.position = self.loaded_at = row[0]
            for kind in WATCHED:
                # by id, which is the order of creation
                cursor.execute(
                    f"SELECT body::text FROM {kind.model._meta.db_table} "
                    "WHERE cluster_id = %s ORDER BY id",
                    [self.cluster_id],
                )
                for (body,) in cursor.fetchall():
                    loaded = sql.load_json(body)
                    item = decode(kind.name, loaded)
                    if item is not None:
                        yield kind.name, item, loaded


def decode(kind: str, body: dict[str, object]) -> KubeObject | None:
    """The typed object; None, with a line in the log, for one that only an older version took."""
    try:
        item: KubeObject = objects.decode(kind, body)
    except objects.DecodeError:
        log.exception("the scheduler cannot read a %s", kind)
        return None
    return item


def _key(kind: str, item: KubeObject) -> tuple[str, str, str]:
    return kind, item.metadata.namespace, item.metadata.name
