"""One function per kind of validation error, in the words of the API server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

import msgspec

from apps.cluster.errors import Cause

#: Numbers from here on are written with an exponent.
_FIRST_EXPONENT: Final = 1e6
IMMUTABLE: Final = "field is immutable"

#: What Go escapes in JSON.
_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})

#: The result of a validation function: errors in the order in which they are reported.
Causes = Iterator[Cause]


def required(field: str, detail: str = "") -> Cause:
    """A required field is missing."""
    return Cause("FieldValueRequired", _join("Required value", detail), field)


def invalid(field: str, value: Any, detail: str) -> Cause:
    """The value of a field is invalid."""
    return Cause("FieldValueInvalid", f"Invalid value: {format_value(value)}: {detail}", field)


def invalid_without_value(field: str, detail: str) -> Cause:
    """A field is invalid as a whole, and its value would say nothing."""
    return Cause("FieldValueInvalid", f"Invalid value: {detail}", field)


def all_invalid(field: str, value: Any, details: Iterable[str]) -> Causes:
    """One cause for each rule that the value violates."""
    for detail in details:
        yield invalid(field, value, detail)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """The value of a field is not one of the supported values."""
    values = ", ".join(f'"{one}"' for one in supported)
    message = f"Unsupported value: {format_value(value)}: supported values: {values}"
    return Cause("FieldValueNotSupported", message, field)


def forbidden(field: str, detail: str) -> Cause:
    """A field may not be set or changed here."""
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def duplicate(field: str, value: Any) -> Cause:
    """A value that must be unique occurs twice."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {format_value(value)}", field)


def not_found(field: str, value: Any, detail: str = "") -> Cause:
    """A field refers to something that does not exist."""
    return Cause("FieldValueNotFound", _join(f"Not found: {format_value(value)}", detail), field)


def too_long(field: str, limit: int) -> Cause:
    """The value of a field is too long."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def too_many(field: str, number: int, limit: int) -> Cause:
    """A list or a map has more items than it may have."""
    detail = f"Too many: {number}: must have at most {limit} items"
    return Cause("FieldValueTooMany", detail, field)


def format_value(value: Any) -> str:
    """A value as shown in messages: a text in quotes, all else as Go writes it."""
    if type(value) is float:
        return _format_number(value)
    text = msgspec.json.encode(value).decode()
    return text if isinstance(value, str) else text.translate(_ESCAPED)


def _format_number(value: float) -> str:
    """As few digits as tell it apart, with an exponent of two digits below 1e-4 and from 1e6 on."""
    if value == 0 or 1e-4 <= abs(value) < _FIRST_EXPONENT:
        return repr(value).removesuffix(".0")
    digits, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
    mantissa = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{mantissa}e{exponent[:1]}{exponent[1:]:0>2}"


def sort_keys(value: Any) -> Any:
    """Labels or a selector in the order in which messages show them."""
    if isinstance(value, dict):
        return {key: sort_keys(value[key]) for key in sorted(value)}
    return value


def _join(message: str, detail: str) -> str:
    return f"{message}: {detail}" if detail else message
