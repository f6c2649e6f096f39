"""Computations as a reader writes them: rounded results with the exact value before."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

#: digits after the point of a value that is not whole
_DIGITS = 4


def decimal_text(value: float | Fraction) -> str:
    """At most four digits after the point: "87.5", "0.3333", "12"."""
    return f"{float(value):.{_DIGITS}f}".rstrip("0").rstrip(".")


def rounded_down(numerator: int, denominator: int) -> str:
    """ "87.5, rounded down to 87", or "87" if the quotient is whole."""
    return rounded(Fraction(numerator, denominator), numerator // denominator)


def rounded(value: float | Fraction, result: int, how: str = "rounded down to") -> str:
    """ "87.5, rounded down to 87"; only the result if it is the value."""
    if value == result:
        return str(result)
    shown = decimal_text(value)
    about = "" if "." in shown else "about "
    return f"{about}{shown}, {how} {result}"


def sum_text(terms: Sequence[str]) -> str:
    """ "a + b + c"; "0" without terms."""
    return " + ".join(terms) or "0"
