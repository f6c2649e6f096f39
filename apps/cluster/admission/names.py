"""Names that the server generates."""

from __future__ import annotations

import secrets
from typing import Any, Final

#: Without vowels and similar characters, so that no words appear.
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_PREFIX_LENGTH: Final = 63 - _SUFFIX_LENGTH


def generate_name(metadata: dict[str, Any], seed: bytes = b"") -> None:
    """Give an object with `generateName` and no `name` a name.

    Its suffix follows from the first bytes of `seed`; it is random without one.
    """
    prefix = metadata.get("generateName")
    if prefix and not metadata.get("name"):
        numbers = (seed or secrets.token_bytes(_SUFFIX_LENGTH))[:_SUFFIX_LENGTH]
        suffix = "".join(ALPHABET[number % len(ALPHABET)] for number in numbers)
        metadata["name"] = prefix[:_PREFIX_LENGTH] + suffix
