"""Which devices are in use, by the allocations of claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from apps.scheduler import quantity
from apps.scheduler.objects import AllocationResult

#: (driver, pool, device)
DeviceId = tuple[str, str, str]


@dataclass(slots=True)
class Allocated:
    #: devices that one claim has for itself
    devices: set[DeviceId] = field(default_factory=set)
    #: shared devices -> capacity -> consumed nano units
    capacity: dict[DeviceId, dict[str, int]] = field(default_factory=dict)
    #: shared devices in use
    shared: set[DeviceId] = field(default_factory=set)
    #: pool -> what its counters have left, as computed for the first node that asked
    counters: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)

    @staticmethod
    def of(allocations: Iterable[AllocationResult]) -> Allocated:
        allocated = Allocated()
        for allocation in allocations:
            allocated.add(allocation)
        return allocated

    def add(self, allocation: AllocationResult) -> None:
        """Access by an administrator uses nothing."""
        for result in allocation.devices.results:
            device = (result.driver, result.pool, result.device)
            if result.admin_access:
                continue
            if result.share_id is None:
                self.devices.add(device)
                continue
            self.shared.add(device)
            if result.consumed_capacity:
                consumed = self.capacity.setdefault(device, {})
                for name, amount in result.consumed_capacity.items():
                    consumed[name] = consumed.get(name, 0) + quantity.parse(amount).nanos

    def uses(self, device: DeviceId) -> bool:
        return device in self.devices or device in self.shared
