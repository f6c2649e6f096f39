"""The search for devices: deterministic first fit with backtracking, as kube-scheduler does it.

Claims in the order of the pod, requests in their order, devices in that of pools, slices and
positions; within a request positions only rise. The first complete solution wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from apps.cel.selector import CompileProblem
from apps.cel.values import CelError
from apps.scheduler.cache.devices_in_use import Allocated, DeviceId
from apps.scheduler.objects import (
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    Node,
    Quantity,
    ResourceClaim,
    ResourceSlice,
)
from apps.scheduler.plugins.dynamicresources import capacity, constraints
from apps.scheduler.plugins.dynamicresources.counters import Counters
from apps.scheduler.plugins.dynamicresources.features import DeviceFeatures
from apps.scheduler.plugins.dynamicresources.pools import Pool, device_is_for
from apps.scheduler.plugins.dynamicresources.taken import TakenDevices
from apps.scheduler.plugins.helper.device_rows import DeviceRows
from apps.scheduler.plugins.helper.device_taints import refuses

MOST_RESULTS: Final = 32
ALL: Final = "All"

#: (claim, request, alternative)
RequestKey = tuple[int, int, int]
#: (pool, slice, device)
Place = tuple[int, int, int]
_START: Final[Place] = (0, 0, 0)


class AllocationError(Exception):
    """Something is wrong with a claim or a class: the attempt ends."""


class _TooManyResults(Exception):
    """No solution below here has as few results as a claim may have."""


@dataclass(slots=True)
class RequestData:
    """A request, or one of its alternatives, in a search."""

    request: ExactDeviceRequest
    name: str
    #: the request that this is an alternative of
    parent: str
    device_class: DeviceClass
    devices: int = 0
    #: mode All: the devices
    all_devices: list[Candidate] = field(default_factory=list)
    #: of the first alternative: which one was selected
    selected: int = 0

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def names(self) -> constraints.RequestName:
        return (self.parent, self.name) if self.parent else (self.name, "")

    @property
    def capacities(self) -> Mapping[str, Quantity]:
        return self.request.capacity.requests if self.request.capacity is not None else {}


@dataclass(frozen=True, slots=True)
class Candidate:
    id: DeviceId
    device: Device
    slice: ResourceSlice
    pool: Pool


@dataclass(frozen=True, slots=True)
class Pick:
    """A device that was allocated for a request."""

    data: RequestData
    candidate: Candidate
    consumed: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Solution:
    """The result of a search in ``pools``."""

    pools: Sequence[Pool]
    requests: Mapping[RequestKey, RequestData]
    #: by claim
    picks: Sequence[Sequence[Pick]]

    def on(self, pools: Sequence[Pool]) -> Solution:
        """The same positions in pools that are equal but for names."""
        picks = [[self._pick_on(pools, pick) for pick in of_claim] for of_claim in self.picks]
        return Solution(pools, self.requests, picks)

    def _pick_on(self, pools: Sequence[Pool], pick: Pick) -> Pick:
        candidate = pick.candidate
        pool = pools[_position(self.pools, candidate.pool)]
        each = pool.slices[_position(candidate.pool.slices, candidate.slice)]
        device = each.spec.devices[_position(candidate.slice.spec.devices, candidate.device)]
        return Pick(pick.data, _candidate(pool, each, device), pick.consumed)


def _position(items: Sequence[object], wanted: object) -> int:
    """The position of this very object, not of an equal one."""
    return next(place for place, item in enumerate(items) if item is wanted)


class Search:
    """One search for one node. ``classes`` finds a DeviceClass by name."""

    def __init__(
        self,
        node: Node,
        pools: Sequence[Pool],
        claims: Sequence[ResourceClaim],
        allocated: Allocated,
        classes: Callable[[str], DeviceClass | None],
        rows: DeviceRows,
        features: DeviceFeatures,
    ) -> None:
        self._node, self._pools, self._claims = node, pools, claims
        self._features = features
        self._allocated, self._classes, self._rows = allocated, classes, rows
        self._requests: dict[RequestKey, RequestData] = {}
        self._constraints: list[list[constraints.Constraint]] = []
        self._taken = TakenDevices()
        self._counters = Counters(allocated)
        self._selectable: dict[tuple[DeviceId, RequestKey], bool] = {}
        self._picks: list[list[Pick]] = [[] for _ in claims]

    def run(self) -> Solution | None:
        """How all claims can be allocated; None if they cannot. Raises AllocationError."""
        for index, claim in enumerate(self._claims):
            least = self._prepare(index, claim)
            if least > MOST_RESULTS:
                raise AllocationError(
                    f"claim {claim.key}: number of requested devices {least} "
                    f"exceeds the claim limit of {MOST_RESULTS}"
                )
            self._constraints.append(
                [
                    constraints.create(each, lists=self._features.lists)
                    for each in claim.spec.devices.constraints
                ]
            )
        try:
            is_complete = self._claim(0)
        except _TooManyResults:
            return None
        return Solution(self._pools, self._requests, self._picks) if is_complete else None

    # what is requested

    def _prepare(self, index: int, claim: ResourceClaim) -> int:
        """Enter the requests of a claim; returns the least number of devices it needs."""
        least = 0
        for place, request in enumerate(claim.spec.devices.requests):
            if self._features.refuses_capacity:
                _refuse_capacity(claim, request)
            if request.first_available:
                counts = [
                    self._enter((index, place, number), alternative, alternative.name, request.name)
                    for number, alternative in enumerate(request.first_available)
                ]
                least += min(counts)
            elif request.exactly is not None:
                least += self._enter((index, place, 0), request.exactly, request.name, "")
        return least

    def _enter(self, key: RequestKey, request: ExactDeviceRequest, name: str, parent: str) -> int:
        claim = self._claims[key[0]]
        device_class = self._classes(request.device_class_name)
        if device_class is None:
            raise AllocationError(
                f"claim {claim.key}, request {name}: could not retrieve device class "
                f"{request.device_class_name}: deviceclass.resource.k8s.io "
                f'"{request.device_class_name}" not found'
            )
        data = RequestData(request, name, parent, device_class, request.count)
        self._requests[key] = data
        if request.allocation_mode == ALL:
            data.all_devices = list(self._find_all(key, data, claim))
            data.devices = len(data.all_devices)
        return data.devices

    def _find_all(
        self, key: RequestKey, data: RequestData, claim: ResourceClaim
    ) -> Iterator[Candidate]:
        for pool in self._pools:
            if pool.incomplete or pool.invalid:
                state = "being updated" if pool.incomplete else "invalid"
                raise AllocationError(
                    f"claim {claim.key}, request {data.name}: asks for all devices, "
                    f"but resource pool {pool} is currently {state}"
                )
            for each in pool.slices:
                for device in each.spec.devices:
                    candidate = _candidate(pool, each, device)
                    if self._is_selectable(key, data, candidate) and self._fits(data, candidate):
                        yield candidate

    # the search

    def _claim(self, index: int) -> bool:
        return index >= len(self._claims) or self._request(index, 0)

    def _request(self, index: int, place: int) -> bool:
        """Allocate from this request on."""
        if place >= len(self._claims[index].spec.devices.requests):
            try:
                return self._claim(index + 1)
            except _TooManyResults:
                return False
        data = self._requests[index, place, 0]
        if not data.parent:
            return self._device((index, place, 0), data, 0, _START)
        return self._alternatives(index, place, data)

    def _alternatives(self, index: int, place: int, first: RequestData) -> bool:
        all_too_many, number = True, 0
        while (data := self._requests.get((index, place, number))) is not None:
            try:
                if self._device((index, place, number), data, 0, _START):
                    first.selected = number
                    return True
                all_too_many = False
            except _TooManyResults:
                pass
            number += 1
        if all_too_many:
            raise _TooManyResults
        return False

    def _device(self, key: RequestKey, data: RequestData, number: int, start: Place) -> bool:
        """Allocate the devices of a request from ``number`` on, and everything after it."""
        index, place, _ = key
        mode_all = data.request.allocation_mode == ALL
        if mode_all and not data.all_devices:
            return False
        if number >= data.devices:
            return self._request(index, place + 1)
        if len(self._picks[index]) + data.devices - number > MOST_RESULTS:
            raise _TooManyResults
        if mode_all:
            return self._take_and_continue(
                key, data, data.all_devices[number], number, _START, must=True
            )
        return any(
            self._take_and_continue(key, data, candidate, number, (*where[:2], where[2] + 1))
            for where, candidate in self._candidates(start)
            if self._is_free(data, candidate.id, index)
            and self._is_selectable(key, data, candidate)
            and self._fits(data, candidate)
        )

    def _candidates(self, start: Place) -> Iterator[tuple[Place, Candidate]]:
        for pool_index in range(start[0], len(self._pools)):
            pool = self._pools[pool_index]
            first_slice = start[1] if pool_index == start[0] else 0
            for slice_index in range(first_slice, len(pool.slices)):
                each = pool.slices[slice_index]
                at_start = (pool_index, slice_index) == start[:2]
                for place in range(start[2] if at_start else 0, len(each.spec.devices)):
                    yield (
                        (pool_index, slice_index, place),
                        _candidate(pool, each, each.spec.devices[place]),
                    )

    def _take_and_continue(
        self,
        key: RequestKey,
        data: RequestData,
        candidate: Candidate,
        number: int,
        following: Place,
        *,
        must: bool = False,
    ) -> bool:
        if not self._take(key, data, candidate, must=must):
            return False
        try:
            done = self._device(key, data, number + 1, following)
        except _TooManyResults:
            self._give_back(key, data, candidate)
            raise
        if not done:
            self._give_back(key, data, candidate)
        return done

    # one device

    def _is_free(self, data: RequestData, device: DeviceId, index: int) -> bool:
        if data.request.admin_access:
            return not self._taken.is_taken_by(device, index)
        return device not in self._allocated.devices and not self._taken.is_taken(device)

    def _is_selectable(self, key: RequestKey, data: RequestData, candidate: Candidate) -> bool:
        """Whether selectors and node selection admit the device; raises AllocationError."""
        known = self._selectable.get((candidate.id, key))
        if known is None:
            claim = f"claim {self._claims[key[0]].key}"
            known = (
                self._match(
                    data.device_class.spec.selectors,
                    candidate,
                    f"class {data.device_class.metadata.name}",
                )
                and self._match(data.request.selectors, candidate, claim)
                and (
                    not candidate.slice.spec.per_device_node_selection
                    or device_is_for(candidate.device, self._node)
                )
            )
            self._selectable[candidate.id, key] = known
        return known

    def _match(self, selectors: Sequence[DeviceSelector], candidate: Candidate, owner: str) -> bool:
        for number, selector in enumerate(selectors):
            if selector.cel is None:
                continue
            try:
                answer = self._rows.ask(selector.cel.expression, candidate.id[0], candidate.device)
            except CompileProblem as wrong:
                raise AllocationError(
                    f"{owner}: selector #{number}: CEL compile error: {wrong}"
                ) from None
            if isinstance(answer, CelError):
                raise AllocationError(
                    f"{owner}: selector #{number}: CEL runtime error: {answer.text}"
                )
            if not answer:
                return False
        return True

    def _fits(self, data: RequestData, candidate: Candidate) -> bool:
        return not self._features.shared or capacity.fits(
            candidate.device,
            data.capacities,
            self._allocated.capacity.get(candidate.id, {}),
            self._taken.consumed(candidate.id),
        )

    def _take(
        self, key: RequestKey, data: RequestData, candidate: Candidate, *, must: bool
    ) -> bool:
        """Allocate a device, unless it is in use or something refuses it.

        As in kube-scheduler, counters are booked first and are not given back when a taint, a
        constraint or the capacity refuses the device; neither are constraints for the last one.
        """
        index, device = key[0], candidate.device
        shares_with_admin = data.request.admin_access and device.allow_multiple_allocations
        if not (shares_with_admin or self._is_free(data, candidate.id, index)):
            return False
        if device.consumes_counters and not self._book_counters(candidate):
            return False
        if any(refuses(taint, data.request.tolerations) for taint in device.taints):
            return False
        if not self._satisfies_constraints(index, data, candidate, must=must):
            return False
        self._taken.add(candidate.id, device, index)
        if not self._fits(data, candidate):
            return False
        consumed = self._consume_capacity(data, candidate)
        self._picks[index].append(Pick(data, candidate, consumed))
        return True

    def _book_counters(self, candidate: Candidate) -> bool:
        """Consume the counters of a device; those of a shared one are consumed once."""
        if not self._features.partitionable:
            return False
        if candidate.device.allow_multiple_allocations and (
            candidate.id in self._allocated.capacity or self._taken.is_consumed(candidate.id)
        ):
            return True
        return self._counters.book(candidate.pool, candidate.device)

    def _consume_capacity(self, data: RequestData, candidate: Candidate) -> Mapping[str, Quantity]:
        """Consume the capacity of a shared device; returns how much."""
        if not candidate.device.allow_multiple_allocations:
            return {}
        consumed = capacity.consumption(candidate.device, data.capacities)
        self._taken.consume(candidate.id, consumed)
        return consumed

    def _satisfies_constraints(
        self, index: int, data: RequestData, candidate: Candidate, *, must: bool
    ) -> bool:
        of_claim = self._constraints[index]
        for number, constraint in enumerate(of_claim):
            if constraint.add(data.names, candidate.id[0], candidate.device):
                continue
            if must:
                raise AllocationError(
                    f"claim {self._claims[index].key}, request {data.name}: cannot add device "
                    f"{'/'.join(candidate.id)} because a claim constraint would not be satisfied"
                )
            for earlier in of_claim[:number]:
                earlier.remove(data.names)
            return False
        return True

    def _give_back(self, key: RequestKey, data: RequestData, candidate: Candidate) -> None:
        """Undo ``_take``; a shared device keeps its counters, as in kube-scheduler."""
        index = key[0]
        for constraint in self._constraints[index]:
            constraint.remove(data.names)
        self._taken.remove(candidate.id, index)
        pick = self._picks[index].pop()
        if candidate.device.allow_multiple_allocations:
            self._taken.give_back(candidate.id, pick.consumed)
        else:
            self._counters.give_back(candidate.pool, candidate.device)


def _candidate(pool: Pool, each: ResourceSlice, device: Device) -> Candidate:
    return Candidate((pool.driver, pool.name, device.name), device, each, pool)


def _refuse_capacity(claim: ResourceClaim, request: DeviceRequest) -> None:
    """Raise AllocationError if the request, or an alternative of it, is for a part of a device."""
    wanted = [(f"subrequest {each.name}", each.capacity) for each in request.first_available]
    if request.exactly is not None:
        wanted.append((f"request {request.name}", request.exactly.capacity))
    for which, amounts in wanted:
        if amounts is not None:
            raise AllocationError(
                f"claim {claim.key}, {which}: has capacity requests, "
                "but the DRAConsumableCapacity feature is disabled"
            )
