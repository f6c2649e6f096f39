"""Times of objects: RFC 3339, in UTC, to the second (Time) or the microsecond (MicroTime)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

_CANONICAL: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{6})?Z",
    re.ASCII,
)
#: The parts of a time: the part as Go's layout writes it, and its pattern.
_DATE_AND_TIME: Final = (
    ("2006", r"\d{4}"),
    ("-", "-"),
    ("01", r"\d\d"),
    ("-", "-"),
    ("02", r"\d\d"),
    ("T", "T"),
    ("15", r"\d\d"),
    (":", ":"),
    ("04", r"\d\d"),
    (":", ":"),
    ("05", r"\d\d"),
)
_FRACTION: Final = ("", r"([.,]\d+)?")
_MICROSECONDS: Final = (".000000", r"[.,]\d{6}")
_ZONE: Final = ("Z07:00", r"Z|[+-]\d\d:\d\d")
_TIME: Final = (*_DATE_AND_TIME, _FRACTION, _ZONE)
_MICRO_TIME: Final = (*_DATE_AND_TIME, _MICROSECONDS, _ZONE)
_RANGES: Final = (
    ("01", 1, 12, "month"),
    ("02", 1, 31, "day"),
    ("15", 0, 23, "hour"),
    ("04", 0, 59, "minute"),
    ("05", 0, 59, "second"),
)


def canonical(text: str) -> str:
    """A Time as the API server writes it; ValueError for other text."""
    if len(text) == 20 and _CANONICAL.fullmatch(text):
        return text
    return _parse(text, _TIME).strftime("%Y-%m-%dT%H:%M:%SZ")


def canonical_micro(text: str) -> str:
    """A MicroTime, which has exactly six digits of a second; ValueError for other text."""
    if len(text) == 27 and _CANONICAL.fullmatch(text):
        return text
    return _parse(text, _MICRO_TIME).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _parse(text: str, parts: tuple[tuple[str, str], ...]) -> datetime:
    layout = "".join(name for name, _ in parts)
    about = f'parsing time "{text}"'
    rest, numbers = text, {}
    for name, pattern in parts:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            raise ValueError(f'{about} as "{layout}": cannot parse "{rest}" as "{name}"')
        numbers[name], rest = match[0], rest[match.end() :]
    if rest:
        raise ValueError(f'{about}: extra text: "{rest}"')
    for name, lowest, highest, unit in _RANGES:
        if not lowest <= int(numbers[name]) <= highest:
            raise ValueError(f"{about}: {unit} out of range")
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{about}: day out of range") from error
