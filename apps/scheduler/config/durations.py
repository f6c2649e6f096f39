"""Go durations ("1h15m", "300ms") in seconds."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_UNITS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
#: Possessive: what follows the digits is looked for once.
_PART: Final = re.compile(r"(?=\.?[0-9])([0-9]*+)(?:\.([0-9]*+))?+([a-zµμ]++)")
#: Digits of a whole number that fits into 64 bits; those of a fraction that count.
_DIGITS: Final = 19
#: A Go duration is a signed 64-bit number of nanoseconds.
_LIMIT: Final = Fraction(2**63 - 1, 10**9)


class DurationError(ValueError):
    """The text is not a Go duration."""


def parse_duration(text: str) -> float:
    """Seconds; raises DurationError. A unit is required, except for 0."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0.0
    total, end = Fraction(0), 0
    while part := _PART.match(rest, end):
        whole, fraction, unit = part.groups()
        if unit not in _UNITS:
            raise DurationError(f"unknown unit {unit!r} in duration")
        if len(whole.lstrip("0")) > _DIGITS:
            raise DurationError("invalid duration")
        number = f"{whole.lstrip('0') or 0}.{(fraction or '')[:_DIGITS]}"
        total += Fraction(number.rstrip(".")) * _UNITS[unit]
        end = part.end()
    if not rest or end != len(rest) or total > _LIMIT:
        raise DurationError("invalid duration")
    return float(-total if negative else total)


def format_duration(seconds: float) -> str:
    """The shortest duration text in seconds: 600.0 → "600s"."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


def go_duration(seconds: float) -> str:
    """As Go prints a duration: 10.0 → "10s", 900.0 → "15m0s", 0.25 → "250ms"."""
    if seconds < 0:
        return f"-{go_duration(-seconds)}"
    if 0 < seconds < 1:
        return f"{seconds * 1000:.6f}".rstrip("0").rstrip(".") + "ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    shown = format_duration(rest)
    if hours:
        return f"{hours}h{minutes}m{shown}"
    return f"{minutes}m{shown}" if minutes else shown
