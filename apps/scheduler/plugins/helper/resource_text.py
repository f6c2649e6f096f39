"""Amounts of resources as readable text."""

from __future__ import annotations

from fractions import Fraction

from apps.scheduler.framework import resources

_BINARY = (("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))
_IN_BYTES = frozenset({resources.MEMORY, resources.EPHEMERAL_STORAGE})


def amount(resource: str, value: int) -> str:
    """CPU (given in thousandths) as "1.5", bytes as "1.5Gi", everything else as an integer.

    The text is exact: a unit is used only if three decimals are enough.
    """
    if resource == resources.CPU:
        return _plain(Fraction(value, 1000))
    if resource in _IN_BYTES or resource.startswith("hugepages-"):
        for unit, bits in _BINARY:
            scaled = Fraction(value, 1 << bits)
            if abs(scaled) >= 1 and (scaled * 1000).denominator == 1:
                return _plain(scaled) + unit
    return str(value)


def quantity_text(resource: str, value: int) -> str:
    """The same as a Kubernetes quantity for a request: CPU as "1500m"."""
    if resource == resources.CPU:
        return f"{value}m" if value % 1000 else str(value // 1000)
    return amount(resource, value) if "." not in amount(resource, value) else str(value)


def _plain(value: Fraction) -> str:
    return f"{float(value):.3f}".rstrip("0").rstrip(".")
