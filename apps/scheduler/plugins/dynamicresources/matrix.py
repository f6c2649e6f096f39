"""Which device of a node each request of a pod's claims could use, and what says no to the others.

The search stops at the first solution and does not say why it passes over a device. Here every
device is compared with every request, each by itself; constraints are compared with the devices
that are usable otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from apps import quantity
from apps.scheduler.cache.devices_in_use import Allocated, DeviceId
from apps.scheduler.objects import (
    Device,
    DeviceAttribute,
    DeviceClass,
    DeviceConstraint,
    ExactDeviceRequest,
    Node,
    Quantity,
    ResourceClaim,
    ResourceSlice,
)
from apps.scheduler.plugins.dynamicresources import capacity
from apps.scheduler.plugins.dynamicresources.capacity import nanos
from apps.scheduler.plugins.dynamicresources.constraints import attribute_of, elements_of
from apps.scheduler.plugins.dynamicresources.device_search import ALL
from apps.scheduler.plugins.dynamicresources.features import DeviceFeatures
from apps.scheduler.plugins.dynamicresources.holders import Holder
from apps.scheduler.plugins.dynamicresources.pools import Pool, device_is_for, devices_of
from apps.scheduler.plugins.dynamicresources.selector_terms import failing_term
from apps.scheduler.plugins.helper.device_rows import DeviceRows
from apps.scheduler.plugins.helper.device_taints import refuses
from apps.scheduler.plugins.helper.node_text import taint_text


class ObstacleKind(StrEnum):
    """What says no to a device."""

    SELECTOR = "selector"
    NODE = "node"
    ALLOCATED = "allocated"
    CAPACITY = "capacity"
    COUNTER = "counter"
    TAINT = "taint"
    CONSTRAINT = "constraint"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class DeviceObstacle:
    """One thing that keeps a request from a device."""

    kind: ObstacleKind
    sentence: str
    #: the claims that have the device, or what it lacks
    holders: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceCell:
    """One device for one request."""

    claim: str
    #: `request`, or `request/alternative`
    request: str
    node: str
    driver: str
    pool: str
    #: empty for a whole pool that cannot be used
    device: str
    #: empty for a device that is usable by itself
    obstacles: tuple[DeviceObstacle, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestRow:
    """What one request asks for, and how many devices of the node it could use."""

    claim: str
    request: str
    device_class: str
    #: None for all devices
    count: int | None
    usable: int
    devices: int


@dataclass(slots=True)
class NodeDevices:
    """The matrix of one node: the requests, and each with every device."""

    node: str
    rows: list[RequestRow] = field(default_factory=list)
    cells: list[DeviceCell] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MatrixInputs:
    """What the matrix of a node is computed from; see ``search.Search``."""

    allocated: Allocated
    classes: Callable[[str], DeviceClass | None]
    rows: DeviceRows
    holders: Mapping[DeviceId, tuple[Holder, ...]]
    features: DeviceFeatures


def compare_devices(
    node: Node, pools: Sequence[Pool], claims: Sequence[ResourceClaim], inputs: MatrixInputs
) -> NodeDevices:
    """Compare the devices that the node can reach with the requests of claims to be allocated."""
    return _Comparison(node, pools, inputs).compare(claims)


@dataclass(frozen=True, slots=True)
class _Candidate:
    id: DeviceId
    device: Device
    slice: ResourceSlice
    pool: Pool


class _Comparison:
    def __init__(self, node: Node, pools: Sequence[Pool], inputs: MatrixInputs) -> None:
        self._node, self._in = node, inputs
        self._pools = pools
        self._candidates = [
            _Candidate((pool.driver, pool.name, device.name), device, each, pool)
            for pool in pools
            for each in pool.slices
            for device in each.spec.devices
        ]

    def compare(self, claims: Sequence[ResourceClaim]) -> NodeDevices:
        devices = NodeDevices(self._node.metadata.name)
        for claim in claims:
            verdicts = {
                (name, alternative): (
                    request,
                    [list(self._obstacles(request, each)) for each in self._candidates],
                )
                for name, alternative, request in _requests(claim)
            }
            for constraint in claim.spec.devices.constraints:
                self._apply(constraint, verdicts)
            for (name, alternative), (request, obstacles) in verdicts.items():
                full = f"{name}/{alternative}" if alternative else name
                self._add(devices, claim, full, request, obstacles)
        return devices

    def _add(
        self,
        compared: NodeDevices,
        claim: ResourceClaim,
        name: str,
        request: ExactDeviceRequest,
        obstacles: Sequence[Sequence[DeviceObstacle]],
    ) -> None:
        for each, against in zip(self._candidates, obstacles, strict=True):
            compared.cells.append(
                DeviceCell(claim.key, name, compared.node, *each.id, obstacles=tuple(against))
            )
        compared.cells += [
            DeviceCell(
                claim.key, name, compared.node, pool.driver, pool.name, "", (_unusable(pool),)
            )
            for pool in self._pools
            if pool.incomplete or pool.invalid
        ]
        usable = sum(not against for against in obstacles)
        count = None if request.allocation_mode == ALL else request.count
        compared.rows.append(
            RequestRow(
                claim.key, name, request.device_class_name, count, usable, len(self._candidates)
            )
        )

    def _obstacles(self, request: ExactDeviceRequest, each: _Candidate) -> Iterator[DeviceObstacle]:
        yield from self._selectors(request, each)
        if each.slice.spec.per_device_node_selection and not device_is_for(each.device, self._node):
            yield DeviceObstacle(ObstacleKind.NODE, "it cannot be used from this node")
        if not request.admin_access:
            yield from self._in_use(each)
        yield from self._capacity(request, each)
        yield from self._counters(each)
        for taint in each.device.taints:
            if refuses(taint, request.tolerations):
                text = f"its taint {taint_text(taint)} is not tolerated"
                yield DeviceObstacle(ObstacleKind.TAINT, text)

    def _selectors(self, request: ExactDeviceRequest, each: _Candidate) -> Iterator[DeviceObstacle]:
        name = request.device_class_name
        device_class = self._in.classes(name)
        if device_class is None:
            yield DeviceObstacle(ObstacleKind.SELECTOR, f"there is no DeviceClass {name}")
            return
        owners = (
            (f"class {name}", device_class.spec.selectors),
            ("the request", request.selectors),
        )
        for owner, selectors in owners:
            for number, selector in enumerate(selectors):
                if selector.cel is None:
                    continue
                term = failing_term(self._in.rows, selector.cel.expression, each.id[0], each.device)
                if term:
                    text = f"selector #{number} of {owner} is not true: {term}"
                    yield DeviceObstacle(ObstacleKind.SELECTOR, text)
                    return

    def _in_use(self, each: _Candidate) -> Iterator[DeviceObstacle]:
        if each.id in self._in.allocated.devices:
            holders = self._in.holders.get(each.id, ())
            yield DeviceObstacle(
                ObstacleKind.ALLOCATED, f"it is allocated to {_name(holders)}", holders
            )

    def _capacity(self, request: ExactDeviceRequest, each: _Candidate) -> Iterator[DeviceObstacle]:
        wanted = request.capacity.requests if request.capacity is not None else {}
        used = self._in.allocated.capacity.get(each.id, {})
        if not self._in.features.shared or capacity.fits(each.device, wanted, used, {}):
            return
        missing = sorted(wanted.keys() - each.device.capacity.keys())
        if missing:
            yield DeviceObstacle(ObstacleKind.CAPACITY, f"it has no capacity {missing[0]}")
            return
        holders = self._in.holders.get(each.id, ())
        for name, amount in capacity.consumption(each.device, wanted).items():
            free = nanos(each.device.capacity[name].value) - used.get(name, 0)
            if nanos(amount) > free:
                by = f"; it is shared by {_name(holders)}" if holders else ""
                text = f"it has {_amount(free, amount)} of {name} left, and {amount} is needed{by}"
                yield DeviceObstacle(ObstacleKind.CAPACITY, text, holders)
                return
        yield DeviceObstacle(
            ObstacleKind.CAPACITY, "its policy does not allow the requested amount"
        )

    def _counters(self, each: _Candidate) -> Iterator[DeviceObstacle]:
        if each.device.consumes_counters and not self._in.features.partitionable:
            text = "it consumes counters, and the feature gate DRAPartitionableDevices is off"
            yield DeviceObstacle(ObstacleKind.COUNTER, text)
            return
        in_use = each.id in self._in.allocated.capacity or each.id in self._in.allocated.devices
        if in_use:
            return
        for consumption in each.device.consumes_counters:
            counters = each.pool.counters.get(consumption.counter_set, {})
            for name, counter in consumption.counters.items():
                users, used = self._consumers(each.pool, consumption.counter_set, name)
                free = counters.get(name, 0) - used
                if nanos(counter.value) > free:
                    holders = tuple(
                        holder for user in users for holder in self._in.holders.get(user, ())
                    )
                    by = f", because of {_name(holders)}" if holders else ""
                    left = _amount(free, counter.value)
                    text = (
                        f"counter {name} of {consumption.counter_set} has {left} left{by}, and it "
                        f"consumes {counter.value}"
                    )
                    yield DeviceObstacle(ObstacleKind.COUNTER, text, holders)

    def _consumers(self, pool: Pool, counter_set: str, name: str) -> tuple[list[DeviceId], int]:
        """The devices in use that consume a counter, and how much they consume."""
        users, used = [], 0
        for device in devices_of((*pool.slices, *pool.elsewhere)):
            user = (pool.driver, pool.name, device.name)
            if not self._in.allocated.uses(user):
                continue
            for consumption in device.consumes_counters:
                if consumption.counter_set == counter_set and name in consumption.counters:
                    users.append(user)
                    used += nanos(consumption.counters[name].value)
        return users, used

    def _apply(
        self,
        constraint: DeviceConstraint,
        verdicts: Mapping[tuple[str, str], tuple[ExactDeviceRequest, list[list[DeviceObstacle]]]],
    ) -> None:
        """Add what a constraint says no to, among the devices that are usable otherwise."""
        concerned = [
            verdict
            for (name, alternative), verdict in verdicts.items()
            if not constraint.requests
            or name in constraint.requests
            or f"{name}/{alternative}" in constraint.requests
        ]
        names = {name for name, _ in verdicts}
        needed = sum(
            max(
                request.count if request.allocation_mode != ALL else 1
                for (other, _), (request, _) in verdicts.items()
                if other == name
            )
            for name in names
            if not constraint.requests
            or any(given.partition("/")[0] == name for given in constraint.requests)
        )
        attribute = constraint.match_attribute or constraint.distinct_attribute or ""
        values = [attribute_of(attribute, each.id[0], each.device) for each in self._candidates]
        usable = [
            any(not obstacles[place] for _, obstacles in concerned)
            for place in range(len(self._candidates))
        ]
        constrain = _constrain_lists if self._in.features.lists else _constrain
        texts = constrain(constraint, values, usable, needed)
        for place, text in enumerate(texts):
            for _, obstacles in concerned:
                if text and not obstacles[place]:
                    obstacles[place].append(DeviceObstacle(ObstacleKind.CONSTRAINT, text))


def _constrain_lists(
    constraint: DeviceConstraint,
    values: Sequence[DeviceAttribute | None],
    usable: Sequence[bool],
    needed: int,
) -> list[str]:
    """The same with DRAListTypeAttributes: a value that enough devices have may be in a list."""
    if constraint.match_attribute is None:
        attribute, kind = constraint.distinct_attribute, "distinctAttribute"
    else:
        attribute, kind = constraint.match_attribute, "matchAttribute"
    sets = [None if value is None else elements_of(value) for value in values]
    free = Counter(
        element
        for elements, good in zip(sets, usable, strict=True)
        if good
        for element in elements or ()
    )
    texts = []
    for value, elements in zip(values, sets, strict=True):
        text = ""
        if value is None or elements is None:
            text = f"it has no attribute {attribute}, which {kind} requires"
        elif constraint.match_attribute is not None:
            most = max((free[element] for element in elements), default=0)
            if most < needed:
                text = (
                    f"matchAttribute {attribute}: {needed} devices with a common value are needed, "
                    f"and at most {most} of the usable ones have one of "
                    f"{', '.join(map(str, value.listed[1]))}"
                )
        texts.append(text)
    return texts


def _constrain(
    constraint: DeviceConstraint,
    values: Sequence[DeviceAttribute | None],
    usable: Sequence[bool],
    needed: int,
) -> list[str]:
    """What the constraint says about each device; "" for nothing."""
    matches = constraint.match_attribute
    kind = "matchAttribute" if matches else "distinctAttribute"
    attribute = matches or constraint.distinct_attribute
    typed = [None if value is None else value.typed for value in values]
    free = [value for value, good in zip(typed, usable, strict=True) if good and value is not None]
    texts = []
    for value in typed:
        text = ""
        if value is None:
            text = f"it has no attribute {attribute}, which {kind} requires"
        elif matches and free.count(value) < needed:
            text = (
                f"matchAttribute {attribute}: {needed} devices with the same value are needed, and "
                f"{free.count(value)} usable ones have {value[1]}"
            )
        elif not matches and len(set(free)) < needed:
            text = (
                f"distinctAttribute {attribute}: {needed} different values are needed, and the "
                f"usable devices have {len(set(free))}"
            )
        texts.append(text)
    return texts


def _requests(claim: ResourceClaim) -> Iterator[tuple[str, str, ExactDeviceRequest]]:
    """(request, "" or its alternative, what it asks for)."""
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            yield request.name, "", request.exactly
        for alternative in request.first_available:
            yield request.name, alternative.name, alternative


def _unusable(pool: Pool) -> DeviceObstacle:
    state = "is being updated" if pool.incomplete else "is invalid"
    return DeviceObstacle(ObstacleKind.POOL, f"its pool {state}: nothing is allocated from it")


def _amount(value: int, like: Quantity) -> str:
    """Nano units in the notation of another quantity."""
    return quantity.format_nanos(value, quantity.parse(like).format)


def _name(holders: Sequence[Holder]) -> str:
    if not holders:
        return "a claim that is being allocated"
    return " and ".join(dict.fromkeys(str(holder) for holder in holders))
