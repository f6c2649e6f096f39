"""How each kind of mistake is told, in the words of the API server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from apps.cluster.errors import Cause

#: What a validation function gives: the mistakes it found, in the order they are told.
Causes = Iterator[Cause]


def required(field: str, detail: str = "") -> Cause:
    """A field that must be given is not."""
    return Cause("FieldValueRequired", _with("Required value", detail), field)


def invalid(field: str, value: Any, detail: str) -> Cause:
    """A field holds something that breaks a rule."""
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}", field)


def all_invalid(field: str, value: Any, details: Iterable[str]) -> Causes:
    """One cause for each rule the value breaks."""
    for detail in details:
        yield invalid(field, value, detail)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """A field holds none of the values it may hold."""
    values = ", ".join(f'"{one}"' for one in supported)
    message = f"Unsupported value: {shown(value)}: supported values: {values}"
    return Cause("FieldValueNotSupported", message, field)


def forbidden(field: str, detail: str) -> Cause:
    """A field may not be given, or not be changed, here."""
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def duplicate(field: str, value: Any) -> Cause:
    """A value that must be unique is there twice."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def not_found(field: str, value: Any) -> Cause:
    """A field names something that is not there."""
    return Cause("FieldValueNotFound", f"Not found: {shown(value)}", field)


def too_long(field: str, limit: int) -> Cause:
    """A field holds more than it may."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def shown(value: Any) -> str:
    """A value as messages show it: JSON."""
    return msgspec.json.encode(value).decode()


def _with(message: str, detail: str) -> str:
    return f"{message}: {detail}" if detail else message
