"""The columns that CustomResourceDefinitions declare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import msgspec

from apps.cluster.custom.paths import find
from apps.cluster.tables.columns import AGE, NAME, UNKNOWN, Body, Column, age

_UNDESCRIBED: Final = "Custom resource definition column (in JSONPath format): "
_AGE: Final = replace(AGE, type="date")


def custom_columns(version: Body) -> tuple[Column, ...]:
    """The name and the columns of a version of a definition; the age if it declares none."""
    declared = tuple(map(_column, version.get("additionalPrinterColumns") or ()))
    return (NAME, *(declared or (_AGE,)))


def _column(column: Body) -> Column:
    return Column(
        column["name"],
        _Cell(column["type"], column["jsonPath"]),
        column["type"],
        column.get("format", ""),
        column.get("priority", 0),
        column.get("description") or f"{_UNDESCRIBED}{column['jsonPath']}",
    )


@dataclass(frozen=True, slots=True)
class _Cell:
    """What a column shows of an object; columns of equal definitions are equal."""

    type: str
    path: str

    def __call__(self, body: Body, now: datetime) -> Any:
        try:
            values = find(body, self.path)
        except ValueError:
            return None
        if not values:
            return None
        if self.type == "date":
            return _age(values[0], now)
        if self.type in ("integer", "number", "boolean"):
            return values[0] if isinstance(values[0], int | float) else None
        # as in Kubernetes, a path that finds several values shows the first one
        return _text(values[0])


def _age(value: Any, now: datetime) -> str:
    try:
        return age(str(value), now)
    except ValueError:
        return UNKNOWN


def _text(value: Any) -> str:
    """A value as kubectl shows it: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value, order="sorted").decode()
