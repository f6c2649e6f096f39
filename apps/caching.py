"""Caches of what is made of texts that users send."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

Value = TypeVar("Value")

#: Longer than every valid name, label and key, and than selectors that people write.
LONGEST: Final = 1_000


def cache_short(maxsize: int) -> Callable[[Callable[[str], Value]], Callable[[str], Value]]:
    """`lru_cache` for a function of one text that does not keep texts above LONGEST characters.

    A cache that counts its entries and not their length holds as many megabytes as its users send.
    """

    def decorate(function: Callable[[str], Value]) -> Callable[[str], Value]:
        cached = lru_cache(maxsize)(function)

        @wraps(function)
        def call(text: str) -> Value:
            return cached(text) if len(text) <= LONGEST else function(text)

        return call

    return decorate
