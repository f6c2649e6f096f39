"""Caches of what is made of texts that users send."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import Lock
from typing import Concatenate, Final, ParamSpec, TypeVar

Value = TypeVar("Value")
Others = ParamSpec("Others")

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


def cache_within(
    characters: int,
) -> Callable[
    [Callable[Concatenate[str, Others], Value]], Callable[Concatenate[str, Others], Value]
]:
    """`lru_cache` for a function of a text that keeps texts of so many characters together.

    For long texts that are worth being kept. Other arguments are few values.
    """

    def decorate(
        function: Callable[Concatenate[str, Others], Value],
    ) -> Callable[Concatenate[str, Others], Value]:
        kept: OrderedDict[tuple[Hashable, ...], Value] = OrderedDict()
        length, lock = 0, Lock()

        @wraps(function)
        def call(text: str, /, *others: Others.args, **named: Others.kwargs) -> Value:
            nonlocal length
            key = (text, *others, *named.items())
            with lock:
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key]
            value = function(text, *others, **named)
            with lock:
                if key not in kept and len(text) <= characters:
                    kept[key] = value
                    length += len(text)
                while length > characters:
                    (oldest, *_), _ = kept.popitem(last=False)
                    length -= len(str(oldest))
            return value

        return call

    return decorate
