"""The counters of pools that a search consumes: what the partitions of a device share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apps.scheduler.cache.devices_in_use import Allocated
from apps.scheduler.objects import Device
from apps.scheduler.plugins.dynamicresources.capacity import nanos
from apps.scheduler.plugins.dynamicresources.pools import Pool, devices_of

#: (counter set, counter)
CounterKey = tuple[str, str]


class Counters:
    """Pools are known by their names alone, as in kube-scheduler."""

    def __init__(self, allocated: Allocated) -> None:
        self._allocated = allocated
        self._consumed: dict[str, dict[CounterKey, int]] = {}

    def book(self, pool: Pool, device: Device) -> bool:
        """Consume the device's counters, unless one of the pool is exceeded then."""
        available = self._available(pool)
        self._count(pool, device, 1)
        consumed = self._consumed[pool.name]
        if all(amount >= consumed.get(name, 0) for name, amount in available.items()):
            return True
        self._count(pool, device, -1)
        return False

    def give_back(self, pool: Pool, device: Device) -> None:
        """Undo `book`."""
        self._count(pool, device, -1)

    def _count(self, pool: Pool, device: Device, sign: int) -> None:
        consumed = self._consumed.setdefault(pool.name, {})
        for name, amount in _consumption(device):
            consumed[name] = consumed.get(name, 0) + sign * amount

    def _available(self, pool: Pool) -> Mapping[CounterKey, int]:
        """What earlier allocations leave of the pool's counters."""
        known = self._allocated.counters.get(pool.name)
        if known is not None:
            return known
        available = {
            (set_name, name): amount
            for set_name, counters in pool.counters.items()
            for name, amount in counters.items()
        }
        for device in devices_of((*pool.slices, *pool.elsewhere)):
            if self._allocated.uses((pool.driver, pool.name, device.name)):
                for name, amount in _consumption(device):
                    if name in available:
                        available[name] -= amount
        self._allocated.counters[pool.name] = available
        return available


def _consumption(device: Device) -> Iterator[tuple[CounterKey, int]]:
    for consumption in device.consumes_counters:
        for name, counter in consumption.counters.items():
            yield (consumption.counter_set, name), nanos(counter.value)
