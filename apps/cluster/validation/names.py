"""The rules for names, label keys and values, and ports; each returns problems as texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from apps.caching import cache_short

#: The problems of a text; empty if it is valid.
Check = Callable[[str], tuple[str, ...]]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SERVICE_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_NAME_PART: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SEARCH_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH_DOMAIN: Final = rf"{_SEARCH_LABEL}(\.{_SEARCH_LABEL})*"
_LABEL_VALUE: Final = f"({_NAME_PART})?"

_LABEL_RE: Final = re.compile(_LABEL)
_SERVICE_LABEL_RE: Final = re.compile(_SERVICE_LABEL)
_SUBDOMAIN_RE: Final = re.compile(_SUBDOMAIN)
_NAME_PART_RE: Final = re.compile(_NAME_PART)
_LABEL_VALUE_RE: Final = re.compile(_LABEL_VALUE)
_INTEGER_RE: Final = re.compile("0|-?[1-9][0-9]*")
_ENVIRONMENT_RE: Final = re.compile(r"[ -<>-~]+")
_CONFIG_KEY_RE: Final = re.compile("[-._a-zA-Z0-9]+")
_SEARCH_DOMAIN_RE: Final = re.compile(_SEARCH_DOMAIN)
_PORT_NAME_RE: Final = re.compile("[-a-z0-9]+")

_LABEL_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253
_PORT_NAME_LENGTH: Final = 15

_NOT_LABEL: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{_LABEL}')"
)
_NOT_SERVICE_LABEL: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"regex used for validation is '{_SERVICE_LABEL}')"
)
_NOT_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_NOT_NAME_PART: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_NAME_PART}')"
)
_NOT_LABEL_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '{_LABEL_VALUE}')"
)
_NOT_ENVIRONMENT: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than "
    "'='"
)
_NOT_CONFIG_KEY: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_NOT_SEARCH_DOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' "
    "or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SEARCH_DOMAIN}')"
)
_NOT_INTEGER: Final = "must be a valid decimal integer in canonical form"
NOT_A_PORT: Final = "must be between 1 and 65535, inclusive"
NOT_NEGATIVE: Final = "must be greater than or equal to 0"


def decimal_integer(text: str) -> tuple[str, ...]:
    """A whole number without a plus sign or leading zeros."""
    if not text:
        return ("must be non-empty",)
    return () if _INTEGER_RE.fullmatch(text) else (_NOT_INTEGER,)


@cache_short(8192)
def dns_label(text: str) -> tuple[str, ...]:
    """A DNS label: names of namespaces, containers, volumes."""
    return tuple(_dns_label(text))


def _dns_label(text: str) -> Iterator[str]:
    if len(text) > _LABEL_LENGTH:
        yield f"must be no more than {_LABEL_LENGTH} characters"
    if not _LABEL_RE.fullmatch(text):
        yield "must not contain dots" if _SUBDOMAIN_RE.fullmatch(text) else _NOT_LABEL


def any_name(text: str) -> tuple[str, ...]:
    """A name that other rules of its kind check."""
    return ()


def service_label(text: str) -> tuple[str, ...]:
    """A label of the older RFC 1035, which begins with a letter: names of API versions."""
    problems = []
    if len(text) > _LABEL_LENGTH:
        problems.append(f"must be no more than {_LABEL_LENGTH} characters")
    if not _SERVICE_LABEL_RE.fullmatch(text):
        problems.append(_NOT_SERVICE_LABEL)
    return tuple(problems)


@cache_short(8192)
def dns_subdomain(text: str) -> tuple[str, ...]:
    """A DNS subdomain: names of most objects."""
    problems = []
    if len(text) > _SUBDOMAIN_LENGTH:
        problems.append(f"must be no more than {_SUBDOMAIN_LENGTH} characters")
    if not _SUBDOMAIN_RE.fullmatch(text):
        problems.append(_NOT_SUBDOMAIN)
    return tuple(problems)


@cache_short(8192)
def qualified_name(text: str) -> tuple[str, ...]:
    """A label key, a resource, a gate: a name with an optional DNS subdomain prefix and a slash."""
    return tuple(_qualified_name(text))


def _qualified_name(text: str) -> Iterator[str]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        yield (
            f"a valid label key {_NOT_NAME_PART} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        )
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif prefix:
        for problem in dns_subdomain(prefix):
            yield f"prefix part {problem}"
    if not name:
        yield "name part must be non-empty"
    elif len(name) > _LABEL_LENGTH:
        yield f"name part must be no more than {_LABEL_LENGTH} bytes"
    if not _NAME_PART_RE.fullmatch(name):
        yield f"name part {_NOT_NAME_PART}"


@cache_short(8192)
def label_value(text: str) -> tuple[str, ...]:
    """The value of a label; it may be empty."""
    problems = []
    if len(text) > _LABEL_LENGTH:
        problems.append(f"must be no more than {_LABEL_LENGTH} bytes")
    if not _LABEL_VALUE_RE.fullmatch(text):
        problems.append(_NOT_LABEL_VALUE)
    return tuple(problems)


def path_segment(text: str) -> tuple[str, ...]:
    """Any path segment: names of events."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{sign}'" for sign in ("/", "%") if sign in text)


def environment_name(text: str) -> tuple[str, ...]:
    """The name of an environment variable."""
    return () if _ENVIRONMENT_RE.fullmatch(text) else (_NOT_ENVIRONMENT,)


def config_key(text: str) -> tuple[str, ...]:
    """A key of a ConfigMap or Secret, which is the name of a file."""
    problems = []
    if len(text) > _SUBDOMAIN_LENGTH:
        problems.append(f"must be no more than {_SUBDOMAIN_LENGTH} characters")
    if not _CONFIG_KEY_RE.fullmatch(text):
        problems.append(_NOT_CONFIG_KEY)
    if text in (".", ".."):
        problems.append(f"must not be '{text}'")
    elif text.startswith(".."):
        problems.append("must not start with '..'")
    return tuple(problems)


def search_domain(text: str) -> tuple[str, ...]:
    """A domain in a list of search paths: a DNS subdomain that may have underscores."""
    problems = []
    if len(text) > _SUBDOMAIN_LENGTH:
        problems.append(f"must be no more than {_SUBDOMAIN_LENGTH} characters")
    if not _SEARCH_DOMAIN_RE.fullmatch(text):
        problems.append(_NOT_SEARCH_DOMAIN)
    return tuple(problems)


def port_number(number: int) -> tuple[str, ...]:
    """A port."""
    return () if 1 <= number <= 65535 else (NOT_A_PORT,)


def port_name(text: str) -> tuple[str, ...]:
    """The name of a port."""
    problems = []
    if len(text) > _PORT_NAME_LENGTH:
        problems.append(f"must be no more than {_PORT_NAME_LENGTH} characters")
    if not _PORT_NAME_RE.fullmatch(text):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        problems.append("must contain at least one letter (a-z)")
    if "--" in text:
        problems.append("must not contain consecutive hyphens")
    if text[:1] == "-" or text[-1:] == "-":
        problems.append("must not begin or end with a hyphen")
    return tuple(problems)
