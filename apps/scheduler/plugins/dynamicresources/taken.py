"""The devices that a search has taken so far."""

from __future__ import annotations

from collections.abc import Mapping

from apps.scheduler.cache.devices_in_use import DeviceId
from apps.scheduler.objects import Device, Quantity
from apps.scheduler.plugins.dynamicresources.capacity import nanos

_NOTHING: Mapping[str, int] = {}


class TakenDevices:
    def __init__(self) -> None:
        #: device -> the indices of the claims that have it to themselves
        self._claims: dict[DeviceId, set[int]] = {}
        #: shared device -> the capacity that is consumed of it
        self._capacity: dict[DeviceId, dict[str, int]] = {}

    def is_taken(self, device: DeviceId) -> bool:
        """Whether a claim has the device to itself."""
        return bool(self._claims.get(device))

    def is_taken_by(self, device: DeviceId, claim: int) -> bool:
        return claim in self._claims.get(device, ())

    def add(self, device_id: DeviceId, device: Device, claim: int) -> None:
        """Take a device; a shared one remains free."""
        claims = self._claims.setdefault(device_id, set())
        if not device.allow_multiple_allocations:
            claims.add(claim)

    def remove(self, device: DeviceId, claim: int) -> None:
        self._claims[device].discard(claim)

    def is_consumed(self, device: DeviceId) -> bool:
        """Whether capacity of a shared device is consumed."""
        return device in self._capacity

    def consumed(self, device: DeviceId) -> Mapping[str, int]:
        """How much of its capacity is consumed, in nanos."""
        return self._capacity.get(device, _NOTHING)

    def consume(self, device: DeviceId, amounts: Mapping[str, Quantity]) -> None:
        self._add(device, amounts, 1)

    def give_back(self, device: DeviceId, amounts: Mapping[str, Quantity]) -> None:
        """Undo `consume`."""
        if not any(self._add(device, amounts, -1).values()):
            del self._capacity[device]

    def _add(
        self, device: DeviceId, amounts: Mapping[str, Quantity], sign: int
    ) -> Mapping[str, int]:
        capacity = self._capacity.setdefault(device, {})
        for name, amount in amounts.items():
            capacity[name] = capacity.get(name, 0) + sign * nanos(amount)
        return capacity
