"""The names of revisions and drafts."""

from __future__ import annotations

import re
from typing import Final

from apps.cluster.errors import Cause, Invalid

_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_RULE: Final = (
    "a name has at most 63 letters, digits, '-', '_' and '.', and starts and ends with a letter "
    "or digit"
)


def check_name(name: str) -> None:
    """Raise Invalid unless `name` can name a revision or a draft."""
    if not _NAME.fullmatch(name):
        raise invalid_name(name, _RULE)


def invalid_name(name: str, why: str) -> Invalid:
    """The error for a name that cannot be used."""
    return Invalid("Configuration", name, [Cause("FieldValueInvalid", why, "name")])
