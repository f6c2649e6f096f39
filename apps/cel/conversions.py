"""Conversions between types, and the parsing of Kubernetes' own values."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from apps.cel.addresses import parse_cidr, parse_ip
from apps.cel.operators import checked
from apps.cel.values import (
    INT_MAX,
    UINT_MAX,
    CelError,
    Cidr,
    Duration,
    Ip,
    Quantity,
    Semver,
    TypeValue,
    UInt,
    Url,
    Value,
    type_name,
)

#: Possessive: what follows the digits is looked for once.
_DURATION_PART: Final = re.compile(
    r"(?=\.?[0-9])([0-9]*+)(?:\.([0-9]*+))?+(h|ms|us|µs|μs|ns|m|s)", re.ASCII
)
#: Digits of a whole number that fits into 64 bits; those of a fraction that count.
_DIGITS: Final = 19
_UINT_DIGITS: Final = 20
_RFC3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_UNITS: Final = {
    "h": 3_600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ns": 1,
}
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def no_overload(function: str, *args: Value) -> CelError:
    return CelError(f"no such overload: {function}({', '.join(map(type_name, args))})")


def _conversion_error(value: Value, target: str) -> CelError:
    return CelError(f"type conversion error from '{type_name(value)}' to '{target}'")


def to_int(value: Value) -> Value:
    if isinstance(value, bool):
        return no_overload("int", value)
    if isinstance(value, int):
        return checked(int(value), 0)
    if isinstance(value, float):
        return int(value) if abs(value) < 2**63 else CelError("integer overflow")
    if isinstance(value, str):
        matched = re.fullmatch(r"[+-]?0{0,1000}[0-9]{1,19}", value)
        result = checked(int(value), 0) if matched else None
        return result if isinstance(result, int) else _conversion_error(value, "int")
    if isinstance(value, datetime.datetime):
        return int(value.timestamp())
    if isinstance(value, Duration):
        return value.nanos
    return no_overload("int", value)


def to_uint(value: Value) -> Value:
    if isinstance(value, bool):
        return no_overload("uint", value)
    if isinstance(value, float):
        fits = 0 <= value < 2**64
        return UInt(value) if fits else CelError("unsigned integer overflow")
    if isinstance(value, int):
        return checked(int(value), UInt(0))
    if isinstance(value, str):
        matched = re.fullmatch(r"0{0,1000}[0-9]{1,20}", value)
        result = checked(int(value), UInt(0)) if matched else None
        return result if isinstance(result, int) else _conversion_error(value, "uint")
    return no_overload("uint", value)


def to_double(value: Value) -> Value:
    if isinstance(value, (bool, Quantity)) or not isinstance(value, (int, float, str)):
        return no_overload("double", value)
    try:
        return float(value)
    except ValueError:
        return _conversion_error(value, "double")


def to_bool(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        converted = _BOOLS.get(value)
        return _conversion_error(value, "bool") if converted is None else converted
    return no_overload("bool", value)


def to_string(value: Value) -> Value:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return format_double(value)
    if isinstance(value, bytes):
        return _decode(value)
    if isinstance(value, Duration):
        return f"{Decimal(value.nanos) / 10**9:f}s"
    if isinstance(value, datetime.datetime):
        return _format_timestamp(value)
    if isinstance(value, Ip):
        return str(value.address)
    if isinstance(value, Cidr):
        return str(value.interface)
    return no_overload("string", value)


def format_double(value: float) -> str:
    """The shortest text of a number; with an exponent from 1e+06 and below 1e-04."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, _ = Decimal(repr(value)).normalize().as_tuple()
    exponent = Decimal(repr(value)).adjusted() if value else 0
    if -4 <= exponent < 6:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    text = "".join(map(str, digits))
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{'-' * sign}{text[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _decode(value: bytes) -> Value:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return CelError("invalid UTF-8 in bytes, cannot convert to string")


def _format_timestamp(value: datetime.datetime) -> str:
    seconds, point, fraction = value.replace(tzinfo=None).isoformat().partition(".")
    zone = value.isoformat()[-6:].replace("+00:00", "Z")
    return f"{seconds}{point}{fraction.rstrip('0')}{zone}"


def to_bytes(value: Value) -> Value:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else no_overload("bytes", value)


def to_duration(value: Value) -> Value:
    if isinstance(value, Duration):
        return value
    if type(value) is int:
        # the compiler knows such a conversion
        return _conversion_error(value, "google.protobuf.Duration")
    if not isinstance(value, str):
        return no_overload("duration", value)
    is_negative = value.startswith("-")
    text = value[1:] if value[:1] in ("+", "-") else value
    nanos = 0 if text == "0" else _nanos_of(text)
    if nanos is None or nanos > INT_MAX + is_negative:
        return _conversion_error(value, "google.protobuf.Duration")
    return Duration(-nanos if is_negative else nanos)


def _nanos_of(text: str) -> int | None:
    """The sum of the parts of a duration, such as `1h` and `30m`; None if it is none."""
    total, end = 0, 0
    while part := _DURATION_PART.match(text, end):
        whole, fraction, unit = part.groups()
        whole = whole.lstrip("0")
        if len(whole) > _DIGITS:
            return None
        digits = (fraction or "")[: _DIGITS - 1]
        total += int(whole or 0) * _UNITS[unit]
        total += int(int(digits or 0) * (_UNITS[unit] / 10 ** len(digits)))
        end = part.end()
    return total if text and end == len(text) else None


def to_timestamp(value: Value) -> Value:
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return _from_seconds(value)
    if not isinstance(value, str):
        return no_overload("timestamp", value)
    if not _RFC3339.fullmatch(value):
        return _conversion_error(value, "google.protobuf.Timestamp")
    try:
        return datetime.datetime.fromisoformat(value)
    except ValueError:
        return _conversion_error(value, "google.protobuf.Timestamp")


def _from_seconds(seconds: int) -> Value:
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return CelError("timestamp overflow")


def to_type(value: Value) -> Value:
    return TypeValue(type_name(value))


def to_quantity(value: Value) -> Value:
    return Quantity.parse(value) if isinstance(value, str) else no_overload("quantity", value)


def to_semver(value: Value, normalize: Value = False) -> Value:
    if not isinstance(value, str) or not isinstance(normalize, bool):
        return no_overload("semver", value, *(() if normalize is False else (normalize,)))
    return _parse_lenient_semver(value) if normalize else parse_semver(value)


def parse_semver(text: str) -> Semver | CelError:
    """A version by semver.org; the errors are those of Kubernetes' parser."""
    if not text:
        return CelError("Version string empty")
    core = text.split(".", 2)
    if len(core) != 3:
        return CelError("No Major.Minor.Patch elements found")
    last, plus, build = core[2].partition("+")
    patch, dash, pre = last.partition("-")
    numbers = []
    for name, part in (("major", core[0]), ("minor", core[1]), ("patch", patch)):
        if not re.fullmatch(r"[0-9]*", part):
            return CelError(f'Invalid character(s) found in {name} number "{part}"')
        if len(part) > 1 and part[0] == "0":
            title = name.capitalize()
            return CelError(f'{title} number must not contain leading zeroes "{part}"')
        if not part or len(part) > _UINT_DIGITS or int(part) > UINT_MAX:
            reason = "value out of range" if part else "invalid syntax"
            return CelError(f'strconv.ParseUint: parsing "{part}": {reason}')
        numbers.append(int(part))
    identifiers = tuple(pre.split(".")) if dash else ()
    wrong = _wrong_identifier(identifiers) or (_wrong_build(build) if plus else "")
    return CelError(wrong) if wrong else Semver(numbers[0], numbers[1], numbers[2], identifiers)


def _wrong_identifier(identifiers: tuple[str, ...]) -> str:
    for part in identifiers:
        if not part:
            return "Prerelease is empty"
        if part.isdigit() and len(part) > 1 and part[0] == "0":
            return f'Numeric PreRelease version must not contain leading zeroes "{part}"'
        if not re.fullmatch(r"[0-9A-Za-z-]+", part):
            return f'Invalid character(s) found in prerelease "{part}"'
    return ""


def _wrong_build(build: str) -> str:
    for part in build.split("."):
        if not part:
            return "Build meta data is empty"
        if not re.fullmatch(r"[0-9A-Za-z-]+", part):
            return f'Invalid character(s) found in build meta data "{part}"'
    return ""


def _parse_lenient_semver(text: str) -> Semver | CelError:
    """A version that may start with v, have leading zeroes, and have fewer than three parts."""
    core, mark, rest = _split_core(text.removeprefix("v"))
    parts = [part.lstrip("0") or "0" if part.isdigit() else part for part in core.split(".")]
    if mark and len(parts) < 3:
        return CelError("short version cannot contain PreRelease/Build meta data")
    parts += ["0"] * (3 - len(parts))
    return parse_semver(".".join(parts) + mark + rest)


def _split_core(text: str) -> tuple[str, str, str]:
    matched = re.search(r"[-+]", text)
    if matched is None:
        return text, "", ""
    return text[: matched.start()], matched.group(), text[matched.end() :]


def to_url(value: Value) -> Value:
    if not isinstance(value, str):
        return no_overload("url", value)
    start = f'URL parse error during conversion from string: parse "{value}": '
    if not value.startswith("/") and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", value):
        return CelError(start + "invalid URI for request")
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError as wrong:
        return CelError(start + str(wrong))
    return Url(parts, parts.netloc.rpartition("@")[2])


def to_ip(value: Value) -> Value:
    if isinstance(value, Cidr):
        return Ip(value.interface.ip)
    if not isinstance(value, str):
        return no_overload("ip", value)
    return parse_ip(value)


def to_cidr(value: Value) -> Value:
    if not isinstance(value, str):
        return no_overload("cidr", value)
    return parse_cidr(value)


def succeeds(name: str, convert: Callable[..., Any]) -> Callable[..., Value]:
    """The function of this name, which tells whether a text can be converted."""

    def converts(*args: Value) -> Value:
        if not isinstance(args[0], str):
            return no_overload(name, *args)
        return not isinstance(convert(*args), CelError)

    return converts


CONVERSIONS: Final[dict[str, Callable[..., Value]]] = {
    "int": to_int,
    "uint": to_uint,
    "double": to_double,
    "bool": to_bool,
    "string": to_string,
    "bytes": to_bytes,
    "duration": to_duration,
    "timestamp": to_timestamp,
    "dyn": lambda value: value,
}
