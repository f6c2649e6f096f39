"""Names that the server generates."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.errors import AlreadyExists
from apps.cluster.kind import Kind

#: Without vowels and similar characters, so that no words appear.
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_PREFIX_LENGTH: Final = 63 - _SUFFIX_LENGTH
#: So many names are drawn for an object as long as they are taken, as by kube-apiserver.
DRAWS: Final = 8


def is_to_generate(metadata: Mapping[str, Any]) -> bool:
    """Whether `generate_name` gives the object a name."""
    return bool(metadata.get("generateName") and not metadata.get("name"))


def name_taken(kind: Kind, metadata: Mapping[str, Any], *, is_being_deleted: bool) -> AlreadyExists:
    """The error for a new object whose name another one has."""
    return AlreadyExists(
        kind.plural,
        metadata["name"],
        kind.group,
        is_generated=bool(metadata.get("generateName")),
        is_being_deleted=is_being_deleted,
    )


def generate_name(metadata: dict[str, Any], seed: bytes = b"") -> bool:
    """Give an object with `generateName` and no `name` a name; False for any other object.

    Its suffix follows from the first bytes of `seed`; it is random without one.
    """
    prefix = metadata.get("generateName")
    if not prefix or metadata.get("name"):
        return False
    numbers = (seed or secrets.token_bytes(_SUFFIX_LENGTH))[:_SUFFIX_LENGTH]
    suffix = "".join(ALPHABET[number % len(ALPHABET)] for number in numbers)
    metadata["name"] = prefix[:_PREFIX_LENGTH] + suffix
    return True
