"""What selectors say about devices: evaluated once for each distinct device, not for each node."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from apps.cel.checking import LISTS, SINGLE_VALUES
from apps.cel.selector import compile_selector, device_variable
from apps.cel.values import CelError
from apps.scheduler.objects import Device

_MOST_ROWS: Final = 100_000


class DeviceRows:
    """The distinct devices and the answers of selectors about them.

    Two devices of one driver are the same row if their attributes and capacities are equal.
    ``lists``: DRAListTypeAttributes. Without it, a device with a list is an error for any selector.
    """

    def __init__(self, *, lists: bool = False) -> None:
        self._lists = lists
        #: that of the selectors
        self.environment = LISTS if lists else SINGLE_VALUES
        self._rows: dict[bytes, int] = {}
        self._variables: list[Mapping[str, Any] | CelError] = []
        self._row_of: dict[int, tuple[Device, int]] = {}
        self._answers: dict[tuple[str, int], bool | CelError] = {}

    def ask(self, expression: str, driver: str, device: Device) -> bool | CelError:
        """Whether the selector matches the device, or its error; raises CompileProblem."""
        row = self._find_row(driver, device)
        answer = self._answers.get((expression, row))
        if answer is None:
            selector = compile_selector(expression, self.environment)
            variable = self._variables[row]
            if isinstance(variable, CelError):
                answer = variable
            else:
                answer = selector.matches(variable).result
            self._answers[expression, row] = answer
        return answer

    def _find_row(self, driver: str, device: Device) -> int:
        known = self._row_of.get(id(device))
        if known is not None and known[0] is device:
            return known[1]
        if len(self._variables) > _MOST_ROWS:
            self.__init__(lists=self._lists)  # type: ignore[misc]
        key = _content(driver, device)
        row = self._rows.setdefault(key, len(self._variables))
        if row == len(self._variables):
            self._variables.append(self._variable(driver, device))
        self._row_of[id(device)] = device, row
        return row

    def _variable(self, driver: str, device: Device) -> Mapping[str, Any] | CelError:
        attributes: dict[str, tuple[str, Any]] = {}
        for name, attribute in sorted(device.attributes.items()):
            attributes[name] = attribute.typed
            if self._lists and not attribute.typed[0]:
                kind, values = attribute.listed
                attributes[name] = kind, list(values)
            if not attributes[name][0]:
                return CelError(f"attribute {name}: unsupported attribute value")
        return device_variable(
            driver,
            attributes,
            {name: capacity.value for name, capacity in device.capacity.items()},
            device.allow_multiple_allocations,
        )


@lru_cache(maxsize=2)
def shared_rows(*, lists: bool) -> DeviceRows:
    """The rows of this process: what a selector says depends on nothing but the gate."""
    return DeviceRows(lists=lists)


def _content(driver: str, device: Device) -> bytes:
    content = (driver, device.attributes, device.capacity, device.allow_multiple_allocations)
    return msgspec.json.encode(content, order="sorted")
