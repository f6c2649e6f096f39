"""What plugins store in the cycle state, in words: names and values, without Python's notation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from enum import Enum
from typing import Final

import numpy as np

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod

#: Items of a list, characters of a line, and levels of fields that are shown.
_MOST_ITEMS: Final = 8
_LONGEST: Final = 400
_DEEPEST: Final = 3
#: Fields that only programs read.
_WITHOUT_MEANING: Final = frozenset({"hash"})


def describe_state(data: object) -> str:
    """The fields of a plugin's data, each on a line in short; empty ones are left out."""
    lines = (f"{name}: {text}" for name, text in _describe_fields(data, _DEEPEST))
    return "\n".join(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines)


def _describe_fields(data: object, levels: int) -> Iterator[tuple[str, str]]:
    slots = (name for kind in type(data).__mro__ for name in _slots_of(kind))
    for name in dict.fromkeys([*getattr(data, "__dict__", ()), *slots]):
        if name not in _WITHOUT_MEANING and not name.startswith("__"):
            text = _describe(getattr(data, name, None), levels)
            if text:
                yield name.strip("_").replace("_", " "), text


def _slots_of(kind: type) -> Iterable[str]:
    names = getattr(kind, "__slots__", ())
    return (names,) if isinstance(names, str) else names


def _describe(value: object, levels: int) -> str:
    """A value in short; "" for what is empty, and for what has no value of its own."""
    match value:
        case None:
            return ""
        case bool() | np.bool_():
            return "yes" if value else ""
        case Enum():
            return str(value.value)
        case str() | int() | float() | np.integer() | np.floating():
            return str(value)
        case PodInfo():
            return _describe(value.pod, levels)
        case Pod():
            return f"{value.metadata.namespace}/{value.metadata.name}"
    if callable(value) or levels == 0:
        return ""
    match value:
        case np.ndarray():
            return _join((_describe(each, levels) for each in value.flat), value.size)
        case Mapping():
            pairs = ((_describe(k, levels), _describe(v, levels - 1)) for k, v in value.items())
            return _join((f"{key}: {text}" if text else key for key, text in pairs), len(value))
        case (str() as name, int() as number):
            return f"{name}: {number:,}"
        case Set():
            return _join(sorted(_describe(each, levels) for each in value), len(value))
        case list() | tuple():
            return _join((_describe(each, levels) for each in value), len(value))
    fields = (f"{name}: {text}" for name, text in _describe_fields(value, levels - 1))
    inner = ", ".join(fields)
    return f"({inner})" if inner else ""


def _join(texts: Iterable[str], count: int) -> str:
    """`[a, b]`, of many the first ones and how many there are."""
    if not count:
        return ""
    shown = [text for _, text in zip(range(_MOST_ITEMS), texts, strict=False)]
    more = [f"… {count:,} in all"] if count > _MOST_ITEMS else []
    return f"[{', '.join([*shown, *more])}]"
