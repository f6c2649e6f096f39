"""Writes the objects of another cluster into a shadow, as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.administration.shadows.remote import Changed, Listed
from apps.cluster import queries
from apps.cluster.errors import AlreadyExists, ApiError, Conflict, NotFound
from apps.cluster.kinds import NAMESPACE, Kind
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Admitted, Create, Update, Write
from apps.cluster.writing import store

Body = dict[str, Any]
#: kind, namespace, name
Key = tuple[str, str, str]

#: Writes of one transaction.
_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class _Identity:
    """An object of the shadow; its version is "" until the transaction that creates it ends."""

    uid: str
    version: str


class ObjectMoved(Exception):
    """Another process has written an object of the shadow."""


class Mirror:
    """The objects of a shadow. Nobody else writes them, so their versions are known.

    All methods raise ObjectMoved if somebody does.
    """

    def __init__(self, cluster: Cluster, kinds: Sequence[Kind], user: str) -> None:
        """`user`: who has changed the objects, for the log."""
        self._cluster = cluster
        self._actor = Actor(user)
        self._known: dict[Key, _Identity] = {}
        for kind in kinds:
            rows = kind.objects(cluster).values_list("namespace", "name", "uid", "resource_version")
            for namespace, name, uid, version in rows.iterator():
                self._known[kind.key, namespace, name] = _Identity(str(uid), str(version))

    def replace(self, listed: Listed) -> None:
        """Make the objects of a kind those of a list; what is equal is not written."""
        kind = listed.kind
        present = {_key_of(kind, body) for body in listed.bodies}
        gone = [k for k in self._known if k[0] == kind.key and k not in present]
        uids = [self._known[key].uid for key in gone]
        rows = kind.objects(self._cluster).filter(uid__in=uids).values_list("body", flat=True)
        self._apply([self._delete(kind, body) for body in rows])
        self._apply(write for body in listed.bodies for write in self._put(kind, body))

    def change(self, changes: Iterable[Changed]) -> None:
        """Apply changes in this order."""
        self._apply(write for change in changes for write in self._changes_of(change))

    def _changes_of(self, change: Changed) -> Iterator[Write]:
        if not change.is_deleted:
            yield from self._put(change.kind, change.body)
        elif _key_of(change.kind, change.body) in self._known:
            yield self._delete(change.kind, change.body)

    def _put(self, kind: Kind, sent: Body) -> Iterator[Write]:
        """Create or replace an object."""
        body, key = _as_stored(kind, sent), _key_of(kind, sent)
        uid, known = body["metadata"]["uid"], self._known.get(key)
        if known is not None and known.uid != uid:
            # deleted and created again while nobody looked
            yield self._delete(kind, self._read(kind, key))
            known = None
        if known is not None:
            yield self._update(kind, key, body)
            return
        self._known[key] = _Identity(uid, "")
        yield Create(kind, body, key[1], uid=uid, admitted=True, restored=True)

    def _update(self, kind: Kind, key: Key, body: Body) -> Write:
        version = self._known[key].version
        if version:
            body["metadata"]["resourceVersion"] = version
        return Update(kind, key[1], key[2], dict, admitted=Admitted(version, body))

    def _delete(self, kind: Kind, last: Body) -> Write:
        """The end of an object, whatever still holds it here."""
        body, key = _as_stored(kind, last), _key_of(kind, last)
        metadata = body["metadata"]
        metadata.pop("finalizers", None)
        metadata.setdefault("deletionTimestamp", metadata["creationTimestamp"])
        metadata["deletionGracePeriodSeconds"] = 0
        if kind is NAMESPACE:
            body["spec"] = {**(body.get("spec") or {}), "finalizers": []}
        write = self._update(kind, key, body)
        del self._known[key]
        return write

    def _read(self, kind: Kind, key: Key) -> Body:
        return queries.get(self._cluster, kind, key[1], key[2])

    def _apply(self, writes: Iterable[Write]) -> None:
        for batch in _batches(writes):
            self._cluster.refresh_from_db(fields=["manual_time", "quotas", "admission_version"])
            try:
                outcomes = store.write(self._cluster, batch, actor=self._actor)
            except (Conflict, AlreadyExists, NotFound) as error:
                raise ObjectMoved(error.message) from error
            for write, body in zip(batch, outcomes, strict=True):
                assert not isinstance(body, ApiError)
                key, metadata = _key_of(write.kind, body), body["metadata"]
                if (known := self._known.get(key)) is not None and known.uid == metadata["uid"]:
                    self._known[key] = _Identity(known.uid, metadata["resourceVersion"])


def _batches(writes: Iterable[Write]) -> Iterator[list[Write]]:
    """The writes in transactions; each is computed when those before are committed."""
    batch: list[Write] = []
    for write in writes:
        batch.append(write)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _key_of(kind: Kind, body: Body) -> Key:
    metadata = body["metadata"]
    return kind.key, metadata.get("namespace", ""), metadata["name"]


def _as_stored(kind: Kind, sent: Body) -> Body:
    """An object of another API server without its versions and the owners of its fields."""
    left_out = ("managedFields", "resourceVersion", "selfLink")
    metadata = {name: value for name, value in sent["metadata"].items() if name not in left_out}
    return {**sent, "apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
