"""The columns that CustomResourceDefinitions declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from apps.cluster.custom.paths import find
from apps.cluster.kind import Kind, PrinterColumn
from apps.cluster.tables.columns import AGE, NAME, UNKNOWN, Column, age

Body = Mapping[str, Any]

_UNDESCRIBED: Final = "Custom resource definition column (in JSONPath format): "
_AGE: Final = replace(AGE, type="date")


@lru_cache(maxsize=256)
def custom_columns(kind: Kind) -> tuple[Column, ...]:
    """The name and the columns of a kind; the age if it declares none."""
    declared = tuple(map(_column, kind.printer_columns))
    return (NAME, *(declared or (_AGE,)))


def _column(column: PrinterColumn) -> Column:
    return Column(
        column.name,
        _cell(column),
        column.type,
        column.format,
        column.priority,
        column.description or f"{_UNDESCRIBED}{column.json_path}",
    )


def _cell(column: PrinterColumn) -> Callable[[Body, datetime], Any]:
    def cell(body: Body, now: datetime) -> Any:
        try:
            values = find(body, column.json_path)
        except ValueError:
            return None
        if not values:
            return None
        if column.type == "date":
            return _age(values[0], now)
        if column.type in ("integer", "number", "boolean"):
            return values[0] if isinstance(values[0], int | float) else None
        # as in Kubernetes, a path that finds several values shows the first one
        return _text(values[0])

    return cell


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
