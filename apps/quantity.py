"""Kubernetes resource quantities ("500m", "1.5Gi", "2e3") in exact integer arithmetic.

A quantity is parsed to whole *nano units* (10⁻⁹), the smallest unit that Kubernetes stores; smaller
fractions are rounded away from zero. `value` and `milli` round so too, as Quantity.Value and
Quantity.MilliValue do: a pod that requests a fraction of a unit gets the whole unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

Quantity = str | int | float
Format = Literal["DecimalSI", "DecimalExponent", "BinarySI"]

MAX_VALUE: Final = 2**63 - 1

_NANOS: Final = 10**9
_MAX_NANOS: Final = MAX_VALUE * _NANOS
_SHAPE = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
#: suffix of a decimal quantity -> exponent of ten
DECIMAL_EXPONENTS: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in DECIMAL_EXPONENTS.items()}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX: Final = ("", *_BINARY)
#: longer texts are refused, so that a request body cannot contain giant integers
_MAX_LENGTH: Final = 1_000
#: greater exponents exceed [1 nano, MAX_VALUE] with any mantissa that _MAX_LENGTH allows
_EXPONENT_LIMIT: Final = 2_000

WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_WRONG_NUMBER = "unable to parse numeric part of quantity"
_WRONG_SUFFIX = "unable to parse quantity's suffix"


class QuantityError(ValueError):
    """The text is not a quantity; the message is that of Kubernetes."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """`nanos`: the amount in 10⁻⁹ units, |nanos| ≤ MAX_VALUE·10⁹. `format`: its notation."""

    nanos: int
    format: Format


@lru_cache(maxsize=65_536)
def parse(quantity: Quantity) -> Parsed:
    """The amount and the notation of `quantity`; raises QuantityError."""
    text = str(quantity)
    if not text:
        raise QuantityError(WRONG_FORMAT)
    if len(text) > _MAX_LENGTH:
        raise QuantityError(_WRONG_NUMBER)
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise QuantityError(WRONG_FORMAT)
    sign, whole, fraction, suffix = shape.groups()
    fraction = fraction or ""
    base, exponent, notation = _interpret(suffix)
    nanos = _to_nanos(int(whole + fraction or "0"), len(fraction), base, exponent)
    nanos = min(nanos, _MAX_NANOS)
    if notation == "BinarySI" and 0 < nanos < _NANOS:
        notation = "DecimalSI"
    return Parsed(-nanos if sign == "-" else nanos, notation)


@lru_cache(maxsize=65_536)
def value(quantity: Quantity) -> int:
    """Whole units, rounded away from zero (Quantity.Value)."""
    return _divide_up(parse(quantity).nanos, _NANOS)


@lru_cache(maxsize=65_536)
def milli(quantity: Quantity) -> int:
    """Thousandths, rounded away from zero (Quantity.MilliValue)."""
    return _divide_up(parse(quantity).nanos, 10**6)


def is_integer(quantity: Quantity) -> bool:
    """Whether the amount is a whole number of units."""
    return parse(quantity).nanos % _NANOS == 0


def compare(left: Quantity, right: Quantity) -> int:
    """-1, 0 or 1 as `left` is less than, equal to or more than `right`."""
    a, b = parse(left).nanos, parse(right).nanos
    return (a > b) - (a < b)


@lru_cache(maxsize=65_536)
def canonical(quantity: Quantity) -> str:
    """The text Kubernetes writes for this amount: no fraction, the largest suffix that fits.

    "0.5" → "500m", "1024Mi" → "1Gi", "1000m" → "1", "1500e3" → "1500e3" (the notation is kept).
    The text of an amount that is too large to calculate with is kept.
    """
    parsed = parse(quantity)
    if _is_too_large(parsed):
        return str(quantity)
    return format_nanos(parsed.nanos, parsed.format)


@lru_cache(maxsize=65_536)
def canonical_milli(quantity: Quantity) -> str:
    """`canonical`, after rounding up to thousandths: how resource lists are stored."""
    parsed = parse(quantity)
    if _is_too_large(parsed):
        return str(quantity)
    return format_nanos(_divide_up(parsed.nanos, 10**6) * 10**6, parsed.format)


def _is_too_large(parsed: Parsed) -> bool:
    return parsed.format != "BinarySI" and abs(parsed.nanos) == _MAX_NANOS


def format_nanos(nanos: int, notation: Format = "DecimalSI") -> str:
    """`nanos` (10⁻⁹ units) as canonical text in the given notation."""
    if nanos == 0:
        return "0"
    sign, magnitude = ("-", -nanos) if nanos < 0 else ("", nanos)
    if notation == "BinarySI" and magnitude >= 1024 * _NANOS:
        return sign + _format_binary(_divide_up(magnitude, _NANOS))
    mantissa, exponent = magnitude, -9
    while mantissa % 1000 == 0 and (notation == "DecimalExponent" or exponent < 18):
        mantissa //= 1000
        exponent += 3
    if notation == "DecimalExponent":
        return f"{sign}{mantissa}e{exponent}" if exponent else f"{sign}{mantissa}"
    return f"{sign}{mantissa}{_DECIMAL_SUFFIX[exponent]}"


def _interpret(suffix: str) -> tuple[int, int, Format]:
    """(base, exponent, notation) of a suffix: "Mi" → (2, 20, BinarySI)."""
    if suffix in DECIMAL_EXPONENTS:
        return 10, DECIMAL_EXPONENTS[suffix], "DecimalSI"
    if suffix in _BINARY:
        return 2, _BINARY[suffix], "BinarySI"
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None:
        raise QuantityError(_WRONG_SUFFIX)
    digits = exponent.group(1)
    if len(digits) > 19:
        raise QuantityError(_WRONG_SUFFIX)
    return 10, max(-_EXPONENT_LIMIT, min(_EXPONENT_LIMIT, int(digits))), "DecimalExponent"


def _to_nanos(mantissa: int, places: int, base: int, exponent: int) -> int:
    """mantissa · 10^-places · base^exponent in nano units, rounded up to a whole nano unit."""
    if mantissa == 0:
        return 0
    if base == 2:
        return _divide_up((mantissa << exponent) * _NANOS, 10**places)
    power = exponent - places + 9
    if power >= 0:
        return mantissa * int(10 ** min(power, 40))
    return _divide_up(mantissa, 10**-power)


def _format_binary(whole: int) -> str:
    index = 0
    while whole % 1024 == 0 and index < len(_BINARY_SUFFIX) - 1:
        whole //= 1024
        index += 1
    return f"{whole}{_BINARY_SUFFIX[index]}"


def _divide_up(dividend: int, divisor: int) -> int:
    """Division rounded away from zero; `divisor` > 0."""
    magnitude: int = -(-abs(dividend) // divisor)
    return magnitude if dividend >= 0 else -magnitude
