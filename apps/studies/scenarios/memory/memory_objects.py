"""The objects of a cluster in memory, written by the rules of the store.

What a write does is in `apps.cluster.writing.rules`, for both. Without a database there are no
rows, no locks and no log; uids, generated names and addresses are drawn from a seed, so that a run
can be repeated.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network
from random import Random
from typing import Any, Final, NamedTuple
from uuid import UUID

from apps.cluster import kinds
from apps.cluster.admission.draft import draft_of
from apps.cluster.admission.dynamic import World
from apps.cluster.admission.names import ALPHABET, DRAWS, is_to_generate
from apps.cluster.admission.policies.requests import CREATE
from apps.cluster.allocation.held import HeldAddresses, ipv4_networks
from apps.cluster.allocation.services import Allocations, may_allocate
from apps.cluster.errors import ApiError, BadRequest, NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Change, Cluster
from apps.cluster.quota.charging import QUOTA
from apps.cluster.writes import Actor, Create, Write, key_of
from apps.cluster.writing import creation
from apps.cluster.writing.admitted_specs import AdmittedSpecs
from apps.cluster.writing.rules import Effect, WriteRules
from apps.scheduler.objects import KINDS, KubeObject, decode, decode_as
from apps.studies.scenarios.memory.admission import MemoryParams, build_admission
from apps.studies.scenarios.memory.quotas import charges_for

Body = dict[str, Any]
#: (namespace, name)
Name = tuple[str, str]

#: How many letters are added to a prefix.
_SUFFIX: Final = 5
_LONGEST_PREFIX: Final = 58


class MemoryChange(NamedTuple):
    """An object was created (`old` None), updated, or deleted (`new` None)."""

    kind: str
    old: KubeObject | None
    new: KubeObject | None
    #: the object, or its last state
    body: Body
    #: who changed it
    user: str


class MemoryObjects:
    """The objects of one cluster; `changes` are those that were not read yet, in order."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.changes: deque[MemoryChange] = deque()
        #: uids of all objects that have existed, and of those that were deleted
        self.known: set[str] = set()
        self.deleted: set[str] = set()
        self.version = 0
        self.pods_created = 0
        self._bodies: defaultdict[str, dict[Name, Body]] = defaultdict(dict)
        self._items: dict[tuple[str, Name], KubeObject] = {}
        self._draw = random.Random(f"names {seed}")
        self._specs = AdmittedSpecs()
        self._draw_address = random.Random(f"addresses {seed}")
        self._admission = build_admission(cluster, self._bodies)
        self._params = MemoryParams(self._bodies)

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
        rules = self._rules(write, user)
        if isinstance(write, Create):
            prepared = self._prepare(write, rules)
            existing = self.find(write.kind, *key_of(prepared)[1:])
            effects = [(Change.Type.ADDED, rules.create(prepared, existing))]
            self.pods_created += write.kind is kinds.POD
            return self._record(prepared, None, effects, rules)
        old = self.find(write.kind, write.namespace, write.name)
        if old is None:
            raise NotFound(write.kind.plural, write.name, write.kind.group)
        return self._record(write, old, rules.change(write, old), rules)

    def _rules(self, write: Write, user: str) -> WriteRules:
        allocations = None
        if may_allocate(write):
            services, ranges = (self._bodies[key].values() for key in ("Service", "ServiceCIDR"))
            allocations = MemoryAllocations(self.cluster, services, ranges, self._draw_address)
        return WriteRules(
            cluster=self.cluster,
            actor=Actor(user),
            now=self.cluster.now(),
            lookups=self._admission,
            dynamic=lambda: self._admission.dynamic,
            world=World(self._admission, self._params, call=None),
            identify=lambda actor: actor,
            charges=charges_for(self.cluster, self._bodies, write.kind),
            allocations=allocations,
        )

    def _prepare(self, write: Create, rules: WriteRules) -> Create:
        """`WriteRules.prepare`, which admits equal specs of pods once."""
        kind = write.kind
        if kind.schema_name:
            raise BadRequest(f"{kind.name}: custom resources are not part of a scenario")
        shaped = draft_of(
            kind.name, {**write.body, "apiVersion": kind.api_version, "kind": kind.name}
        )
        self._name(kind, shaped["metadata"])
        if rules.dynamic().mutates:
            uid = str(UUID(int=self._draw.getrandbits(128), version=4))
            return rules.prepare(Create(kind, shaped, write.namespace, uid=uid))
        body = creation.prepare(
            kind,
            shaped,
            write.namespace,
            state=self._admission,
            actor=rules.actor,
            specs=self._specs,
        ).body
        body["metadata"]["uid"] = str(UUID(int=self._draw.getrandbits(128), version=4))
        rules.review(CREATE, kind, body, None)
        return Create(kind, body, body["metadata"].get("namespace", ""))

    def _record(
        self, write: Write, body: Body | None, effects: Sequence[Effect], rules: WriteRules
    ) -> Body:
        """Store the changes of `body`, and the usage of quotas; returns the last state."""
        user = rules.actor.user
        last = body
        for change_type, new in effects:
            deleted = change_type == Change.Type.DELETED
            rules.record(write, last, None if deleted else new)
            last = self._store(write.kind, new, user, deleted=deleted)
        for _, quota in [] if rules.charges is None else list(rules.charges.settle()):
            self._store(QUOTA, quota, user)
        assert last is not None
        return last

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
        if kind.is_looked_up:
            self._admission = build_admission(self.cluster, self._bodies)
        self.changes.append(MemoryChange(kind.key, old, new, body, user))
        return body

    def _name(self, kind: Kind, metadata: Body) -> None:
        """Give an object with `generateName` and no name a name."""
        if not is_to_generate(metadata):
            return
        for _ in range(DRAWS):
            suffix = "".join(self._draw.choices(ALPHABET, k=_SUFFIX))
            metadata["name"] = metadata["generateName"][:_LONGEST_PREFIX] + suffix
            if (metadata.get("namespace", ""), metadata["name"]) not in self._bodies[kind.key]:
                break


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


class MemoryAllocations(Allocations):
    """The allocations of one write, drawn so that a run can be repeated."""

    def __init__(
        self, cluster: Cluster, services: Iterable[Body], ranges: Iterable[Body], draw: Random
    ) -> None:
        """`services` and `ranges`, the ServiceCIDRs, are the cluster's before the write."""
        super().__init__(cluster, checks_range=False, draw=draw.randrange)
        self._services, self._ranges = services, ranges

    def _read_held(self) -> HeldAddresses:
        held = HeldAddresses()
        for service in self._services:
            held.add(service.get("spec") or {})
        return held

    def _read_added_networks(self) -> list[IPv4Network]:
        return list(ipv4_networks(cidr for each in self._ranges for cidr in each["spec"]["cidrs"]))
