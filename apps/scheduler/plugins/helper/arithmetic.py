"""Computations as a reader writes them: rounded results with the exact value before."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

#: digits after the point of a value that is not whole
_DIGITS = 4
#: of values that a reader multiplies by 100 and rounds
_SHARE_DIGITS = 7


def decimal_text(value: float | Fraction) -> str:
    """The value with at most four digits after the point: "87.5", "0.3333", "12"."""
    return f"{float(value):.{_DIGITS}f}".rstrip("0").rstrip(".")


def share_text(value: float | Fraction) -> str:
    """At most seven digits after the point, enough to compute a score from shares: "0.0274658"."""
    return f"{float(value):.{_SHARE_DIGITS}f}".rstrip("0").rstrip(".")


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


def signed(value: int) -> str:
    """A whole number with a minus sign: "−3"."""
    return str(value) if value >= 0 else f"−{-value}"


def operand(value: int) -> str:
    """The same as an operand of a term: "(−3)"."""
    return str(value) if value >= 0 else f"({signed(value)})"


def sum_text(terms: Sequence[str]) -> str:
    """ "a + b + c"; "0" without terms."""
    return " + ".join(terms) or "0"
