"""matchAttribute and distinctAttribute: what the devices of a claim must have in common, or not."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Protocol

from apps.scheduler.objects import Device, DeviceAttribute, DeviceConstraint

#: (request, "" or its alternative)
RequestName = tuple[str, str]


class Constraint(Protocol):
    def add(self, request: RequestName, driver: str, device: Device) -> bool:
        """Whether the device may be added; it counts from now on if so."""

    def remove(self, request: RequestName) -> None:
        """Undo the last ``add`` of the request."""


def create(constraint: DeviceConstraint, *, lists: bool) -> Constraint:
    """``lists``: DRAListTypeAttributes, so that attributes are compared as sets of values."""
    if constraint.match_attribute is not None:
        match = MatchLists if lists else MatchAttribute
        return match(constraint.requests, constraint.match_attribute)
    distinct = DistinctLists if lists else DistinctAttribute
    return distinct(constraint.requests, constraint.distinct_attribute or "")


class _OfRequests:
    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute

    def _concerns(self, request: RequestName) -> bool:
        name, alternative = request
        if not self._requests or name in self._requests:
            return True
        return bool(alternative) and f"{name}/{alternative}" in self._requests

    def _value(self, driver: str, device: Device) -> DeviceAttribute | None:
        return attribute_of(self._attribute, driver, device)


def attribute_of(attribute: str, driver: str, device: Device) -> DeviceAttribute | None:
    """The attribute of that full name; its domain may be left out if it is the driver."""
    value = device.attributes.get(attribute)
    domain, slash, identifier = attribute.partition("/")
    if value is None and slash and domain == driver:
        value = device.attributes.get(identifier)
    return value


def elements_of(attribute: DeviceAttribute) -> Set[tuple[str, Any]]:
    """The values of a list or of a single value, each with its type."""
    name, values = attribute.listed
    return {(name, value) for value in values}


class MatchAttribute(_OfRequests):
    """All devices have the attribute with the same value of the same type.

    A list matches nothing, but may be the attribute of the first device.
    """

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._common: DeviceAttribute | None = None
        self._devices = 0

    def add(self, request: RequestName, driver: str, device: Device) -> bool:
        if not self._concerns(request):
            return True
        value = self._value(driver, device)
        if value is None:
            return False
        if not self._devices:
            self._common = value
        elif self._common is None or not value.typed[0] or self._common.typed != value.typed:
            return False
        self._devices += 1
        return True

    def remove(self, request: RequestName) -> None:
        self._devices -= self._concerns(request)


class MatchLists(_OfRequests):
    """All devices have at least one value of the attribute in common.

    As in kube-scheduler, a device that is taken back does not give back the values that it has
    excluded, unless it was the first one.
    """

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._common: Set[tuple[str, Any]] = frozenset()
        self._devices = 0

    def add(self, request: RequestName, driver: str, device: Device) -> bool:
        if not self._concerns(request):
            return True
        value = self._value(driver, device)
        if value is None:
            return False
        common = elements_of(value)
        if self._devices:
            common &= self._common
        if not common:
            return False
        self._common = common
        self._devices += 1
        return True

    def remove(self, request: RequestName) -> None:
        self._devices -= self._concerns(request)


class DistinctAttribute(_OfRequests):
    """The devices have different values, as far as kube-scheduler remembers them.

    It keeps one value for each request: within a request of three devices, only the last one is
    compared, and a device that is taken back takes the value of its whole request with it.
    """

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: dict[str, DeviceAttribute] = {}
        self._devices = 0

    def add(self, request: RequestName, driver: str, device: Device) -> bool:
        if not self._concerns(request):
            return True
        value = self._value(driver, device)
        if value is None:
            return False
        if self._devices and any(self._conflict(value, each) for each in self._values.values()):
            return False
        self._values[request[0]] = value
        self._devices += 1
        return True

    def remove(self, request: RequestName) -> None:
        if self._concerns(request):
            self._values.pop(request[0], None)
            self._devices -= 1

    def _conflict(self, value: DeviceAttribute, earlier: DeviceAttribute) -> bool:
        """Whether the values are equal; a list is not distinct from anything."""
        return not value.typed[0] or value.typed == earlier.typed


class DistinctLists(DistinctAttribute):
    """No two devices have a value of the attribute in common, as far as they are compared."""

    def _conflict(self, value: DeviceAttribute, earlier: DeviceAttribute) -> bool:
        return not elements_of(value).isdisjoint(elements_of(earlier))
