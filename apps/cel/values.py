"""The values of expressions; numbers, texts, lists and maps are Python's own."""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult

from apps.quantity import DECIMAL_EXPONENTS, QuantityError, parse

#: bool, int, UInt, float, str, bytes, None, list, dict or one of the classes below
Value = Any

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1
NO_OVERLOAD: Final = "no such overload"


class UInt(int):
    """An unsigned integer."""


@dataclass(frozen=True, slots=True)
class CelError:
    """What an evaluation that failed has as its value."""

    text: str


class StructValue(dict[str, Any]):
    """A value of a type with fields, which an expression has constructed."""

    def __init__(self, type_name: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.type_name = type_name


@dataclass(frozen=True, slots=True)
class TypeValue:
    name: str


@dataclass(frozen=True, slots=True)
class OptionalValue:
    value: Value = None
    present: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanos: int

    def __bool__(self) -> bool:
        return self.nanos != 0


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in nano units.

    ``scale``: Kubernetes holds it as an int64 times this power of ten; None if it holds a decimal.
    """

    nanos: int
    scale: int | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    @staticmethod
    def parse(text: str) -> Quantity | CelError:
        try:
            parsed = parse(text)
        except QuantityError as wrong:
            return CelError(str(wrong))
        return Quantity(parsed.nanos, _scale_of(text))

    @property
    def whole(self) -> bool:
        """Whether Kubernetes reads it as an int64: 1.0, 1000m and 1Pi are held in other forms."""
        fits = abs(self.nanos // 10**9) < INT_MAX
        return fits and self.scale is not None and self.scale >= 0

    def plus(self, nanos: int, scale: int | None) -> Quantity:
        total = self.nanos + nanos
        if not nanos:
            scale = self.scale
        elif self.nanos and self.scale is not None and scale is not None:
            scale = min(self.scale, scale)
        elif self.nanos:
            scale = None
        return Quantity(total, scale if abs(total // 10**9) < INT_MAX else None)


_QUANTITY: Final = re.compile(r"[+-]?([0-9]*)(?:\.([0-9]*))?([eE][+-]?[0-9]+|[numkKMGTPE]?i?)")
#: digits that an int64 has room for, also after it was multiplied with a power of two
_DECIMAL_DIGITS, _BINARY_DIGITS = 18, 14


def _scale_of(text: str) -> int | None:
    parts = _QUANTITY.fullmatch(text)
    assert parts is not None
    whole, fraction, suffix = parts[1].lstrip("0"), parts[2] or "", parts[3]
    if suffix.endswith("i"):
        exponent = 10 * ("KMGTPE".index(suffix[0]) + 1)
        fits = not fraction and _BINARY_DIGITS - len(whole) - int(exponent * 3 / 10) >= 0
        return 0 if fits else None
    if len(whole) + len(fraction) > _DECIMAL_DIGITS:
        return None
    scale = int(suffix[1:]) if len(suffix) > 1 else DECIMAL_EXPONENTS[suffix]
    return scale - len(fraction) if scale - len(fraction) >= DECIMAL_EXPONENTS["n"] else None


@dataclass(frozen=True, slots=True)
class Semver:
    """A version by semver.org; the build metadata is not compared."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """A release comes after its pre-releases; numeric identifiers before others."""
        identifiers = tuple(
            (0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.prerelease
        )
        return (self.major, self.minor, self.patch, not self.prerelease, identifiers)


@dataclass(frozen=True, slots=True)
class Url:
    parts: SplitResult
    host: str


@dataclass(frozen=True, slots=True)
class Ip:
    address: ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Cidr:
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class Format:
    """A named format of Kubernetes. ``regex_size``: what its check counts as."""

    name: str
    regex_size: int


class DefaultMap(dict[Value, Value]):
    """The map of domains of a device: an unknown domain has an empty map."""

    def __missing__(self, key: Value) -> Value:
        return {}


class SetList(list[Value]):
    """A list whose order does not count, without equal elements."""


class KeyedList(list[Value]):
    """A list of maps whose order does not count; an element is known by the values of `keys`."""

    def __init__(self, elements: Iterable[Value], keys: tuple[str, ...]) -> None:
        super().__init__(elements)
        self.keys = keys

    def key_of(self, element: Value) -> Value:
        """What an element is known by."""
        known = element if isinstance(element, Mapping) else {}
        return [known.get(name) for name in self.keys]


def type_name(value: Value) -> str:
    """The name of the value's type, as messages have it."""
    for cls, name in _TYPE_NAMES:
        if isinstance(value, cls):
            return name
    return "null_type"


_TYPE_NAMES: Final = (
    (bool, "bool"),
    (UInt, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (Mapping, "map"),
    (Quantity, "kubernetes.Quantity"),
    (Semver, "kubernetes.Semver"),
    (OptionalValue, "optional_type"),
    (TypeValue, "type"),
    (Duration, "google.protobuf.Duration"),
    (datetime.datetime, "google.protobuf.Timestamp"),
    (Url, "kubernetes.URL"),
    (Ip, "net.IP"),
    (Cidr, "net.CIDR"),
    (Format, "kubernetes.NamedFormat"),
)


def size_of(value: Value) -> int:
    """The size by which costs grow; 1 for everything without one."""
    if isinstance(value, (str, bytes, list, Mapping)):
        return len(value)
    if isinstance(value, Ip):
        return value.address.max_prefixlen // 8
    if isinstance(value, Cidr):
        return value.interface.max_prefixlen // 8
    return 1
