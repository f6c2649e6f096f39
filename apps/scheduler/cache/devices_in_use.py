"""Which devices are in use, by the allocations of claims."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from apps import quantity
from apps.scheduler.cache.change_log import ChangeLog
from apps.scheduler.objects import AllocationResult
from apps.scheduler.objects.devices import DeviceRequestAllocationResult

#: (driver, pool, device)
DeviceId = tuple[str, str, str]
#: (driver, pool)
PoolId = tuple[str, str]


@dataclass(slots=True)
class Allocated:
    """The devices in use; changes with the allocations. ``counters`` holds for one cycle."""

    #: devices that claims have for themselves -> how many (more than one is a mistake of a user)
    devices: Mapping[DeviceId, int] = field(default_factory=dict)
    #: shared devices -> capacity -> consumed nano units
    capacity: Mapping[DeviceId, Mapping[str, int]] = field(default_factory=dict)
    #: shared devices in use -> by how many allocations
    shared: Mapping[DeviceId, int] = field(default_factory=dict)
    #: pool -> what its counters have left, as computed for the first node that asked
    counters: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)

    def uses(self, device: DeviceId) -> bool:
        return device in self.devices or device in self.shared


class DevicesInUse:
    """Adds up allocations as they come and go."""

    def __init__(self) -> None:
        self._counted: dict[Hashable, AllocationResult] = {}
        self._devices: dict[DeviceId, int] = {}
        self._shared: dict[DeviceId, int] = {}
        self._capacity: dict[DeviceId, dict[str, int]] = {}
        #: shared devices -> by how many allocations capacity is consumed
        self._consumers: dict[DeviceId, int] = {}
        #: the pool of each device that was allocated or released
        self.log: ChangeLog[PoolId] = ChangeLog()

    def allocated(self) -> Allocated:
        """The devices in use now; the same tables each time."""
        return Allocated(self._devices, self._capacity, self._shared)

    def replace(self, key: Hashable, allocation: AllocationResult | None) -> None:
        """``allocation`` takes the place of what was counted under ``key``."""
        before = self._counted.get(key)
        if before is allocation:
            return
        if before is not None:
            del self._counted[key]
            self._count(before, -1)
        if allocation is not None:
            self._counted[key] = allocation
            self._count(allocation, 1)

    def keep_only(self, keys: Iterable[Hashable]) -> None:
        """Forget what was counted under other keys."""
        for key in self._counted.keys() - set(keys):
            self.replace(key, None)

    def _count(self, allocation: AllocationResult, sign: int) -> None:
        """Access by an administrator uses nothing."""
        for result in allocation.devices.results:
            if result.admin_access:
                continue
            device = (result.driver, result.pool, result.device)
            self.log.append(device[:2])
            if result.share_id is None:
                _add(self._devices, device, sign)
                continue
            _add(self._shared, device, sign)
            if result.consumed_capacity:
                self._consume(device, result, sign)

    def _consume(self, device: DeviceId, result: DeviceRequestAllocationResult, sign: int) -> None:
        consumed = self._capacity.setdefault(device, {})
        for name, amount in result.consumed_capacity.items():
            consumed[name] = consumed.get(name, 0) + sign * quantity.parse(amount).nanos
        _add(self._consumers, device, sign)
        if device not in self._consumers:
            del self._capacity[device]


def _add(counts: dict[DeviceId, int], device: DeviceId, sign: int) -> None:
    count = counts.get(device, 0) + sign
    if count:
        counts[device] = count
    else:
        del counts[device]
