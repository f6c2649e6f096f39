"""The objects of a cluster in memory, and writes with the rules of the store.

Defaults, admission, validation, generations, grace periods and finalizers are those of the store
(`apps.cluster.writing`), from the same functions. Without a database there are no rows, locks and
logs; uids and generated names are drawn from a seed, so a run can be repeated.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from apps.cluster import kinds
from apps.cluster.admission import admit
from apps.cluster.admission.draft import draft_of
from apps.cluster.errors import AlreadyExists, ApiError, BadRequest, Invalid, NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.quota.charging import QUOTA, Charges
from apps.cluster.validation import validate
from apps.cluster.writes import Actor, Create, Delete, Key, Update, Write
from apps.cluster.writing import creation, deletion
from apps.cluster.writing.admitted_specs import AdmittedSpecs
from apps.cluster.writing.metadata import count_generation, stamp_updated
from apps.cluster.writing.parts import SPEC_PARTS
from apps.cluster.writing.preconditions import check_deletable, check_preconditions
from apps.controlplane.scenarios.memory.admission import LOOKED_UP, build_admission
from apps.controlplane.scenarios.memory.quotas import charges_for
from apps.scheduler.objects import KINDS, KubeObject, decode, decode_as

Body = dict[str, Any]
#: (namespace, name)
Name = tuple[str, str]

#: The letters of generated names, and how many are added to a prefix.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX: Final = 5
_LONGEST_PREFIX: Final = 58


class Change(NamedTuple):
    """An object was created (`old` None), updated, or deleted (`new` None)."""

    kind: str
    old: KubeObject | None
    new: KubeObject | None
    #: the object, or its last state
    body: Body
    #: who changed it
    user: str


class MemoryObjects:
    """The objects of one cluster; `changes` are those that nobody has read yet, in order."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.changes: deque[Change] = deque()
        #: uids of all objects that have existed, and of those that were deleted
        self.known: set[str] = set()
        self.deleted: set[str] = set()
        self.version = 0
        self._bodies: defaultdict[str, dict[Name, Body]] = defaultdict(dict)
        self._items: dict[tuple[str, Name], KubeObject] = {}
        self._draw = random.Random(f"names {seed}")
        self._specs = AdmittedSpecs()
        self._admission = build_admission(cluster, self._bodies)

    def find(self, kind: Kind, namespace: str, name: str) -> Body | None:
        """The object; None if there is none."""
        return self._bodies[kind.key].get((namespace, name))

    def list_all(self, kind: Kind) -> list[Body]:
        """All objects of a kind, in the order of their creation."""
        return list(self._bodies[kind.key].values())

    def write(
        self, writes: Sequence[Write], user: str, *, collect_refusals: bool = False
    ) -> list[Body | ApiError]:
        """Execute the writes one after the other; the resulting object of each.

        The first that is refused raises, and those before it remain; with `collect_refusals` its
        error is in its place.
        """
        outcomes: list[Body | ApiError] = []
        for write in writes:
            try:
                outcomes.append(self._apply(write, user))
            except ApiError as refusal:
                if not collect_refusals:
                    raise
                outcomes.append(refusal)
        return outcomes

    def _apply(self, write: Write, user: str) -> Body:
        if isinstance(write, Create):
            return self._create(write, user)
        old = self.find(write.kind, write.namespace, write.name)
        if old is None:
            raise NotFound(write.kind.plural, write.name, write.kind.group)
        if isinstance(write, Update):
            return self._update(write, old, user)
        return self._delete(write, old, user)

    def _create(self, write: Create, user: str) -> Body:
        kind = write.kind
        if kind.schema_name:
            raise BadRequest(f"{kind.name}: custom resources are not part of a scenario")
        shaped = draft_of(
            kind.name, {**write.body, "apiVersion": kind.api_version, "kind": kind.name}
        )
        self._name(shaped["metadata"])
        body = creation.prepare(
            kind,
            shaped,
            write.namespace,
            state=self._admission,
            actor=Actor(user),
            specs=self._specs,
        ).body
        metadata = body["metadata"]
        if self.find(kind, metadata.get("namespace", ""), metadata["name"]) is not None:
            raise AlreadyExists(kind.plural, metadata["name"], kind.group)
        metadata["uid"] = str(UUID(int=self._draw.getrandbits(128), version=4))
        charges = charges_for(self.cluster, self._bodies, kind)
        if charges is not None:
            charges.check(kind, body)
            if kind is QUOTA:
                body = charges.recount(key_of(kind, body), body)
        return self._record(kind, body, user, charges=charges)

    def _update(self, write: Update, old: Body, user: str) -> Body:
        kind = write.kind
        if write.uid and write.uid != old["metadata"]["uid"]:
            raise NotFound(kind.plural, write.name, kind.group)
        new = stamp_updated(kind, old, write.change(old), write.subresource)
        if not write.trusted:
            part = write.subresource
            gates = self.cluster.api_gates
            new = admit(kind.name, new, self._admission, old=old, subresource=part, gates=gates)
            causes = validate(kind.name, new, old, subresource=part, gates=gates)
            if causes:
                raise Invalid(kind.name, write.name, causes, kind.group)
        if not write.subresource or write.subresource in SPEC_PARTS:
            count_generation(kind, old, new)
        charges = charges_for(self.cluster, self._bodies, kind)
        if charges is not None and kind is QUOTA:
            new = charges.recount_if_changed(key_of(kind, new), old, new, write.subresource)
        if new == old:
            return old
        gone = new["metadata"].get("deletionTimestamp") and not deletion.is_held(kind, new)
        return self._record(kind, new, user, deleted=bool(gone), charges=charges)

    def _delete(self, write: Delete, old: Body, user: str) -> Body:
        kind = write.kind
        check_deletable(kind, old)
        check_preconditions(kind, old, write.options.get("preconditions") or {})
        charges = charges_for(self.cluster, self._bodies, kind)
        new = deletion.mark_deleted(kind, old, write.options, self.cluster.now())
        if deletion.is_held(kind, new):
            return old if new == old else self._record(kind, new, user, charges=charges)
        return self._record(kind, new, user, deleted=True, charges=charges)

    def _record(
        self,
        kind: Kind,
        body: Body,
        user: str,
        *,
        deleted: bool = False,
        charges: Charges | None = None,
    ) -> Body:
        """Apply a change, and charge it to the quotas that count the object."""
        metadata = body["metadata"]
        name = (metadata.get("namespace", ""), metadata["name"])
        old = self._bodies[kind.key].get(name)
        body = self._store(kind, body, user, deleted=deleted)
        if charges is not None:
            charges.record(kind, old, None if deleted else body)
            if deleted:
                charges.forget(key_of(kind, body))
            for _, quota in list(charges.settle()):
                self._store(QUOTA, quota, user)
        return body

    def _store(self, kind: Kind, body: Body, user: str, *, deleted: bool = False) -> Body:
        self.version += 1
        metadata = body["metadata"] = {
            **body["metadata"],
            "resourceVersion": str(self.version),
        }
        name = (metadata.get("namespace", ""), metadata["name"])
        old = self._items.pop((kind.key, name), None)
        new: KubeObject | None = None
        self.known.add(metadata["uid"])
        if deleted:
            self._bodies[kind.key].pop(name, None)
            self.deleted.add(metadata["uid"])
        else:
            self._bodies[kind.key][name] = body
            new = self._items[kind.key, name] = _decode(kind, body)
        if kind.key in LOOKED_UP:
            self._admission = build_admission(self.cluster, self._bodies)
        self.changes.append(Change(kind.key, old, new, body, user))
        return body

    def _name(self, metadata: Body) -> None:
        """Give an object with `generateName` and no name a name."""
        prefix = metadata.get("generateName")
        if prefix and not metadata.get("name"):
            suffix = "".join(self._draw.choices(_LETTERS, k=_SUFFIX))
            metadata["name"] = prefix[:_LONGEST_PREFIX] + suffix


def key_of(kind: Kind, body: Body) -> Key:
    """The key of an object."""
    metadata = body["metadata"]
    return kind.key, metadata.get("namespace", ""), metadata["name"]


def _decode(kind: Kind, body: Body) -> KubeObject:
    if kind.name in KINDS:
        item: KubeObject = decode(kind.name, body)
        return item
    return decode_as(KubeObject, body)


def object_kind(api_version: str, name: str) -> Kind:
    """The kind of an object; BadRequest for one that a cluster in memory does not have."""
    try:
        return kinds.by_api_version(api_version, name)
    except KeyError:
        raise BadRequest(f"no kind {name!r} is registered for apiVersion {api_version!r}") from None
