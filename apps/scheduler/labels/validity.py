"""The validation of label keys, label values and resource names.

Each function returns the faults, with the messages of Kubernetes, or an empty list.
"""

from __future__ import annotations

import re
from typing import Final

from apps.caching import cache_short

_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_NAME})?"
_SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_MAX_NAME: Final = 63
_MAX_SUBDOMAIN: Final = 253

_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_NAME}')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '{_VALUE}')"
)


@cache_short(4096)
def qualified_name_faults(text: str) -> tuple[str, ...]:
    """A name with an optional DNS prefix, such as a label key: `app`, `example.com/app`."""
    parts = text.split("/")
    if len(parts) > 2:
        whole = _NAME_RULE + " with an optional DNS subdomain prefix and '/' (e.g. "
        return (f"a valid label key {whole}'example.com/MyName')",)
    *prefixes, name = parts
    faults: list[str] = []
    for prefix in prefixes:
        if not prefix:
            faults.append("prefix part must be non-empty")
        else:
            faults += [f"prefix part {fault}" for fault in subdomain_faults(prefix)]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > _MAX_NAME:
        faults.append(f"name part must be no more than {_MAX_NAME} bytes")
    if not re.fullmatch(_NAME, name, re.ASCII):
        faults.append(f"name part {_NAME_RULE}")
    return tuple(faults)


@cache_short(4096)
def label_value_faults(text: str) -> tuple[str, ...]:
    """A label's value: at most 63 letters, digits, `-`, `_`, `.`; may be empty."""
    faults = []
    if len(text) > _MAX_NAME:
        faults.append(f"must be no more than {_MAX_NAME} bytes")
    if not re.fullmatch(_VALUE, text, re.ASCII):
        faults.append(_VALUE_RULE)
    return tuple(faults)


def subdomain_faults(text: str) -> tuple[str, ...]:
    """A lowercase RFC 1123 subdomain: dotted DNS labels, at most 253 characters."""
    faults = []
    if len(text) > _MAX_SUBDOMAIN:
        faults.append(f"must be no more than {_MAX_SUBDOMAIN} characters")
    if not re.fullmatch(_SUBDOMAIN, text, re.ASCII):
        faults.append(_SUBDOMAIN_RULE)
    return tuple(faults)


def is_extended_resource_name(name: str) -> bool:
    """Whether a resource is an extended one (`example.com/gpu`) rather than Kubernetes' own."""
    native = "/" not in name or "kubernetes.io/" in name
    if native or name.startswith("requests."):
        return False
    return not qualified_name_faults(f"requests.{name}")
