"""The named formats of Kubernetes, such as dns1123Label."""

from __future__ import annotations

import base64
import binascii
import datetime
import re
from collections.abc import Callable
from typing import Final

from apps.cel.conversions import no_overload, to_url
from apps.cel.values import CelError, Format, OptionalValue, Value

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_UUID: Final = "[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}"


def _regex(pattern: str, longest: int) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: len(text) <= longest and compiled.fullmatch(text) is not None


def _prefix(check: Callable[[str], bool]) -> Callable[[str], bool]:
    """As Kubernetes checks it, whatever stands before a dash at the end is not looked at."""
    return lambda text: check(text[:-2] + "a" if text[1:].endswith("-") else text)


def _is_qualified(text: str) -> bool:
    domain, slash, name = text.rpartition("/")
    right = _regex(_QUALIFIED, 63)(name)
    return right and (not slash or _DNS_SUBDOMAIN(domain))


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


_DNS_LABEL: Final = _regex(_LABEL, 63)
_DNS_SUBDOMAIN: Final = _regex(rf"{_LABEL}(\.{_LABEL})*", 253)
_DNS_1035: Final = _regex("[a-z]([-a-z0-9]*[a-z0-9])?", 63)

_CHECKS: Final[dict[str, tuple[Callable[[str], bool], int]]] = {
    "dns1123Label": (_DNS_LABEL, 30),
    "dns1123Subdomain": (_DNS_SUBDOMAIN, 60),
    "dns1035Label": (_DNS_1035, 30),
    "qualifiedName": (_is_qualified, 60),
    "dns1123LabelPrefix": (_prefix(_DNS_LABEL), 30),
    "dns1123SubdomainPrefix": (_prefix(_DNS_SUBDOMAIN), 60),
    "dns1035LabelPrefix": (_prefix(_DNS_1035), 30),
    "labelValue": (lambda text: not text or _regex(_QUALIFIED, 63)(text), 40),
    "uri": (lambda text: not isinstance(to_url(text), CelError), 1_000),
    "uuid": (_regex(_UUID, 36), len(_UUID) + 2),
    "byte": (_is_base64, 1_000),
    "date": (_is_date, 1_000),
    "datetime": (_is_datetime, 1_000),
}
FORMATS: Final = {name: Format(name, size) for name, (_, size) in _CHECKS.items()}


def named_format(name: Value) -> Value:
    if not isinstance(name, str):
        return no_overload("format.named", name)
    format_ = FORMATS.get(name)
    return OptionalValue() if format_ is None else OptionalValue(format_, True)


def validate(named: Value, text: Value) -> Value:
    """None if the text has the format, else an optional list of what is wrong."""
    if not isinstance(named, Format) or not isinstance(text, str):
        return no_overload("validate", named, text)
    if _CHECKS[named.name][0](text):
        return OptionalValue()
    return OptionalValue([f"not a valid {named.name}"], True)
