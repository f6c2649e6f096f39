"""The string formats that the API server checks in custom resources; others are ignored."""

from __future__ import annotations

import base64
import binascii
import datetime
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from apps.cel.conversions import to_duration
from apps.cel.values import CelError

_TIME: Final = re.compile(
    r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_AMOUNT: Final = re.compile(r"(?<!\d)\d{1,18}+\s*+([A-Za-zµ]++)", re.ASCII)
_UNIT: Final = re.compile(
    r"ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?"
    r"|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?"
)
_ATOM: Final = r"[\w!#$%&'*+/=?^`{|}~\x80-\U0010ffff-]++"
_DOTTED: Final = rf"{_ATOM}(?:\.{_ATOM})*+"
_QUOTED: Final = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\t -~])*+"'
_MAILBOX: Final = rf"(?:{_DOTTED}|{_QUOTED})@(?:{_DOTTED}|\[([^\]]++)\])"
_PHRASE: Final = rf"(?:(?:{_QUOTED}|(?:{_ATOM}|\.)++)[ \t]*+)++"
_EMAIL: Final = re.compile(rf"[ \t]*+(?:{_MAILBOX}|(?:{_PHRASE})?<{_MAILBOX}>)[ \t]*+", re.ASCII)
_GROUP: Final = re.compile(rf"[ \t]*+{_PHRASE}:", re.ASCII)
_LABEL: Final = re.compile(r"[^\W_]([^\W_]|-(?!-))*(?<!-)")
_MAC: Final = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}|[0-9a-f]{4}(\.[0-9a-f]{4}){2}", re.I)
_HEX_COLOR: Final = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{6})", re.I)
_MAX_HOST: Final = 255
_MAX_LABEL: Final = 63


def is_known(name: str, of_type: str) -> bool:
    """Whether the API server knows a format of texts, or of numbers of this type."""
    return name in (_OF_NUMBERS.get(of_type) or _OF_TEXTS)


def has_format(name: str, text: str) -> bool:
    """Whether a text has a format; True for formats that are not checked, such as `password`."""
    check = _FORMATS.get(name)
    return check is None or check(text)


def _accepts(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII | re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and _accepts(datetime.date.fromisoformat)(text)


def _is_date_time(text: str) -> bool:
    day, _, time = text.upper().partition("T")
    return _is_date(day) and _TIME.fullmatch(time) is not None


def _is_duration(text: str) -> bool:
    """As Go writes durations (`1h30m`), or a number with the name of a unit (`3 days`)."""
    if not isinstance(to_duration(text), CelError):
        return True
    return any(_UNIT.fullmatch(each[1]) for each in _AMOUNT.finditer(text))


def _is_cidr(text: str) -> bool:
    return text.rpartition("/")[2].isdecimal() and _accepts(ipaddress.ip_interface)(text)


def _is_email(text: str) -> bool:
    """One address of RFC 5322: with a name, in a group of its own, with comments at its end."""
    group = _GROUP.match(text)
    address = _EMAIL.match(text, group.end() if group else 0)
    if address is None:
        return False
    if not all(_accepts(ipaddress.ip_address)(each) for each in address.groups() if each):
        return False
    rest = text[address.end() :]
    if group is not None:
        closed, _, rest = rest.partition(";")
        return not closed and ";" in text and _is_comments(rest)
    return _is_comments(rest)


def _is_comments(text: str) -> bool:
    """Whether a text contains nothing but comments, in parentheses that may be nested."""
    depth, escaped = 0, False
    for each in text:
        if escaped:
            escaped = False
        elif depth and each == "\\":
            escaped = True
        elif each == "(":
            depth += 1
        elif each == ")" and depth:
            depth -= 1
        elif not depth and each not in " \t":
            return False
    return not depth


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    if len(text.encode()) > _MAX_HOST or any(len(each.encode()) > _MAX_LABEL for each in labels):
        return False
    last_is_long = len(labels) == 1 or len(labels[-1]) > 1
    return last_is_long and all(_LABEL.fullmatch(each) for each in labels)


def _is_uri(text: str) -> bool:
    """An absolute URI or an absolute path."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    blank = any(each.isspace() or not each.isprintable() for each in text)
    return not blank and (bool(parts.scheme) or text.startswith("/"))


def _decode(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


_OF_NUMBERS: Final = {"integer": ("int32", "int64"), "number": ("double", "float")}
#: Some are accepted and not checked.
_UNCHECKED: Final = (
    *("bsonobjectid", "creditcard", "isbn", "isbn10", "isbn13", "k8s-long-name", "k8s-short-name"),
    *("password", "rgbcolor", "ssn"),
)
_UUID: Final = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "byte": _accepts(_decode),
    "cidr": _is_cidr,
    "date": _is_date,
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": lambda text: _HEX_COLOR.fullmatch(text) is not None,
    "hostname": _is_hostname,
    "ipv4": _accepts(ipaddress.IPv4Address),
    "ipv6": _accepts(ipaddress.IPv6Address),
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uri": _is_uri,
    "uuid": _matches(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _matches(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _matches(_UUID % ("4", "[89ab]")),
    "uuid5": _matches(_UUID % ("5", "[89ab]")),
}
_OF_TEXTS: Final = frozenset((*_FORMATS, *_UNCHECKED))
