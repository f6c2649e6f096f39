"""ResourceClaims with what the scheduler has decided about them but is not written yet."""

from __future__ import annotations

from collections.abc import Iterator

from apps.scheduler.cache.assume_cache import AssumeCache
from apps.scheduler.cache.change_log import ChangeLog, LogReader
from apps.scheduler.cache.devices_in_use import Allocated, DevicesInUse, PoolId
from apps.scheduler.cache.lister import Lister
from apps.scheduler.objects import AllocationResult, ResourceClaim

#: (namespace, name)
_Key = tuple[str, str]


class DeviceClaims:
    """The claims as they will be, and the allocations in flight: reserved, but not written.

    The devices of an allocation in flight are in use, but its claim counts as not allocated:
    another pod with the same claim has to wait.
    """

    def __init__(self, lister: Lister[ResourceClaim]) -> None:
        self._lister = lister
        self._assumed = AssumeCache(lister)
        #: uid of the claim -> what it will be
        self._in_flight: dict[str, ResourceClaim] = {}
        #: uid of the claim -> uids of the pods that will use the allocation
        self._sharers: dict[str, set[str]] = {}
        #: those that pods of the group that is tried may use together; None between such trials
        self._shareable: set[str] | None = None
        #: (namespace, name) of claims that are created with a decision
        self._created: dict[_Key, ResourceClaim] = {}
        self._in_use = DevicesInUse()
        #: the pools whose devices ``allocated`` counts differently
        self.pools_log: ChangeLog[PoolId] = self._in_use.log
        self._listed = LogReader(lister.log)
        self._seen_created = LogReader(lister.log)
        self._seen_created.news()
        #: claims and uids in flight whose allocation may count differently since it was counted
        self._touched: set[_Key] = set()
        self._touched_in_flight: set[str] = set()

    def get(self, name: str, namespace: str) -> ResourceClaim | None:
        self._drop_listed()
        return self._assumed.get(name, namespace)

    def __iter__(self) -> Iterator[ResourceClaim]:
        self._drop_listed()
        for item in self._lister:
            claim = self._assumed.get(item.metadata.name, item.metadata.namespace)
            if claim is not None:
                yield claim
        yield from list(self._created.values())

    def assume(self, claim: ResourceClaim) -> None:
        """The claim is written, or created, like this with the decision."""
        self._assumed.assume(claim)
        meta = claim.metadata
        self._touched.add((meta.namespace, meta.name))
        if self._lister.get(meta.name, meta.namespace) is None:
            self._created[meta.namespace, meta.name] = claim

    def restore(self, claim: ResourceClaim) -> None:
        """Undo ``assume(claim)``."""
        key = (claim.metadata.namespace, claim.metadata.name)
        self._assumed.restore(claim)
        self._created.pop(key, None)
        self._touched.add(key)

    def assumptions(self) -> list[ResourceClaim]:
        """The claims that will be written or created as they are here."""
        self._drop_listed()
        return self._assumed.assumptions()

    def reservations(self) -> list[ResourceClaim]:
        """The claims whose allocations are in flight."""
        return list(self._in_flight.values())

    def _drop_listed(self) -> None:
        """A claim that has been listed since it was created may be deleted by now."""
        news = self._seen_created.news()
        for key in list(self._created) if news is None else news:
            claim = self._created.pop(key, None)
            if claim is not None:
                self._assumed.restore(claim)

    def is_in_flight(self, uid: str) -> bool:
        return uid in self._in_flight

    def begin_group(self) -> None:
        """The pods of a group are tried from now on: they may share allocations in flight."""
        self._shareable = set()

    def end_group(self) -> None:
        self._shareable = None

    def shared_allocation(self, uid: str) -> AllocationResult | None:
        """The allocation in flight that another pod of the group has reserved in this trial."""
        if self._shareable is None or uid not in self._shareable:
            return None
        claim = self._in_flight.get(uid)
        return None if claim is None else claim.status.allocation

    def reserve(self, claim: ResourceClaim, pod_uid: str) -> None:
        """``claim`` with its allocation, which is in flight for the pod from now on."""
        uid = claim.metadata.uid
        self._in_flight[uid] = claim
        self._sharers.setdefault(uid, set()).add(pod_uid)
        if self._shareable is not None:
            self._shareable.add(uid)
        self._touch_flight(claim)

    def release(self, uid: str, pod_uid: str) -> None:
        """End the pod's share in the allocation in flight: it was written, or will not be."""
        sharers = self._sharers.get(uid, set())
        sharers.discard(pod_uid)
        if not sharers:
            self.drop_flight(uid)

    def drop_flight(self, uid: str) -> None:
        """The allocation is no longer in flight for any pod."""
        self._sharers.pop(uid, None)
        claim = self._in_flight.pop(uid, None)
        if claim is not None:
            self._touch_flight(claim)

    def _touch_flight(self, claim: ResourceClaim) -> None:
        meta = claim.metadata
        self._touched_in_flight.add(meta.uid)
        self._touched.add((meta.namespace, meta.name))

    def allocated(self) -> Allocated:
        """The devices in use by all claims and by allocations in flight."""
        news = self._listed.news()
        if news is None:
            self._touched.update((c.metadata.namespace, c.metadata.name) for c in self)
            self._in_use.keep_only([*self._touched, *self._in_flight])
        else:
            self._touched.update(news)
            for key in news:
                # It was created since, and may even be deleted again.
                self._created.pop(key, None)
        for key in self._touched:
            self._in_use.replace(key, self._allocation_of(key))
        for uid in self._touched_in_flight:
            flying = self._in_flight.get(uid)
            self._in_use.replace(uid, None if flying is None else flying.status.allocation)
        self._touched.clear()
        self._touched_in_flight.clear()
        return self._in_use.allocated()

    def _allocation_of(self, key: _Key) -> AllocationResult | None:
        """What counts for the claim itself: nothing while its allocation is in flight."""
        namespace, name = key
        if self._lister.get(name, namespace) is not None:
            claim = self._assumed.get(name, namespace)
        else:
            claim = self._created.get(key)
        if claim is None or claim.metadata.uid in self._in_flight:
            return None
        return claim.status.allocation
