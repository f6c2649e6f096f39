"""ResourceClaims with what the scheduler has decided about them but is not written yet."""

from __future__ import annotations

from collections.abc import Iterator

from apps.scheduler.cache.assume_cache import AssumeCache
from apps.scheduler.cache.change_log import LogReader
from apps.scheduler.cache.lister import Lister
from apps.scheduler.objects import AllocationResult, ResourceClaim


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
        #: (namespace, name) of claims that are created with a decision
        self._created: dict[tuple[str, str], ResourceClaim] = {}
        self._listed = LogReader(lister.log)
        self._listed.news()

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
        if self._lister.get(meta.name, meta.namespace) is None:
            self._created[meta.namespace, meta.name] = claim

    def restore(self, claim: ResourceClaim) -> None:
        """Undo ``assume(claim)``."""
        self._assumed.restore(claim)
        self._created.pop((claim.metadata.namespace, claim.metadata.name), None)

    def _drop_listed(self) -> None:
        """A claim that has been listed since it was created may be deleted by now."""
        news = self._listed.news()
        for key in list(self._created) if news is None else news:
            claim = self._created.pop(key, None)
            if claim is not None:
                self._assumed.restore(claim)

    def is_in_flight(self, uid: str) -> bool:
        return uid in self._in_flight

    def reserve(self, claim: ResourceClaim) -> None:
        """``claim`` with its allocation, which is in flight from now on."""
        self._in_flight[claim.metadata.uid] = claim

    def release(self, uid: str) -> None:
        """The allocation was written, or will not be."""
        self._in_flight.pop(uid, None)

    def allocations(self) -> Iterator[AllocationResult]:
        """Of all claims, with those in flight."""
        for claim in self:
            if claim.metadata.uid not in self._in_flight and claim.status.allocation is not None:
                yield claim.status.allocation
        for claim in self._in_flight.values():
            if claim.status.allocation is not None:
                yield claim.status.allocation
