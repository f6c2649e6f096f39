"""What selectors say about devices: evaluated once for each distinct device, not for each node."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from apps.scheduler.cel.selector import compile_selector, device_variable
from apps.scheduler.cel.values import CelError
from apps.scheduler.objects import Device

_MOST_ROWS: Final = 100_000


class DeviceRows:
    """The distinct devices and the answers of selectors about them.

    Two devices of one driver are the same row if their attributes and capacities are equal.
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}
        self._variables: list[Mapping[str, Any]] = []
        self._row_of: dict[int, tuple[Device, int]] = {}
        self._answers: dict[tuple[str, int], bool | CelError] = {}

    def ask(self, expression: str, driver: str, device: Device) -> bool | CelError:
        """Whether the selector matches the device, or its error; CompileProblem."""
        row = self._find_row(driver, device)
        answer = self._answers.get((expression, row))
        if answer is None:
            answer = compile_selector(expression).matches(self._variables[row]).result
            self._answers[expression, row] = answer
        return answer

    def _find_row(self, driver: str, device: Device) -> int:
        known = self._row_of.get(id(device))
        if known is not None and known[0] is device:
            return known[1]
        if len(self._variables) > _MOST_ROWS:
            self.__init__()  # type: ignore[misc]
        key = _content(driver, device)
        row = self._rows.setdefault(key, len(self._variables))
        if row == len(self._variables):
            self._variables.append(_variable(driver, device))
        self._row_of[id(device)] = device, row
        return row


@lru_cache(maxsize=1)
def shared_rows() -> DeviceRows:
    """The rows of this process: what a selector says depends on nothing else."""
    return DeviceRows()


def _content(driver: str, device: Device) -> bytes:
    content = (driver, device.attributes, device.capacity, device.allow_multiple_allocations)
    return msgspec.json.encode(content, order="sorted")


def _variable(driver: str, device: Device) -> Mapping[str, Any]:
    return device_variable(
        driver,
        {name: attribute.typed for name, attribute in device.attributes.items()},
        {name: capacity.value for name, capacity in device.capacity.items()},
        device.allow_multiple_allocations,
    )
