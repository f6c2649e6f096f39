"""Names that the server generates."""

from __future__ import annotations

import secrets
from typing import Any, Final

#: Without vowels and similar characters, so that no words appear.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_PREFIX_LENGTH: Final = 63 - _SUFFIX_LENGTH


def generate_name(metadata: dict[str, Any]) -> None:
    """Give an object with `generateName` and no `name` a name."""
    prefix = metadata.get("generateName")
    if prefix and not metadata.get("name"):
        suffix = "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX_LENGTH))
        metadata["name"] = prefix[:_PREFIX_LENGTH] + suffix
