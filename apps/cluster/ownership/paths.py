"""Sets of field paths, and their form in `managedFields` (FieldsV1).

A path is a tuple of elements in the notation of FieldsV1: `f:name` for a field or an entry of a
map, `k:{"name":"c"}` for an item of a list with keys, `v:"x"` for an item of a set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

Path = tuple[str, ...]
Paths = frozenset[Path]

_SELF = "."
_PLAIN = re.compile(r"[fkvi]:.*", re.DOTALL)


class UnreadableFields(Exception):
    """A value that is not the FieldsV1 form of a set of paths."""


def field_element(name: str) -> str:
    return f"f:{name}"


def item_element(value: Any) -> str:
    """The element of an item of a set."""
    return f"v:{msgspec.json.encode(value).decode()}"


def key_element(keys: Mapping[str, Any]) -> str:
    """The element of an item of a list with keys."""
    return f"k:{msgspec.json.encode(dict(sorted(keys.items()))).decode()}"


def to_fields(paths: Iterable[Path]) -> dict[str, Any]:
    """The FieldsV1 form of a set; a path that is a member and has members below has a `.`."""
    root: dict[str, Any] = {}
    members = sorted(paths)
    for index, path in enumerate(members):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        follower = members[index + 1] if index + 1 < len(members) else ()
        if follower[: len(path)] == path:
            node[_SELF] = {}
    return root


def from_fields(fields: Any) -> Paths:
    """The set of a FieldsV1 value; UnreadableFields if it is none."""
    return frozenset(_members(fields, ()))


def _members(fields: Any, prefix: Path) -> Iterator[Path]:
    if not isinstance(fields, dict):
        raise UnreadableFields(f"{'/'.join(prefix)} is not an object")
    for element, below in fields.items():
        if element == _SELF:
            yield prefix
        elif not _PLAIN.fullmatch(element):
            raise UnreadableFields(f"{element!r} is not a path element")
        elif below == {}:
            yield (*prefix, element)
        else:
            yield from _members(below, (*prefix, element))


def in_order(path: Path) -> list[tuple[bool, str]]:
    """The sort key of a path: what is set at a level comes before what is set below it."""
    last = len(path) - 1
    return [(index < last, element) for index, element in enumerate(path)]


def display(path: Path) -> str:
    """A path as messages show it: `.spec.containers[name="c"].image`."""
    return "".join(_display_element(element) for element in path)


def _display_element(element: str) -> str:
    kind, value = element[0], element[2:]
    if kind == "f":
        return f".{value}"
    if kind == "v":
        return f"[={value}]"
    if kind == "k":
        keys = msgspec.json.decode(value)
        shown = (f"{name}={msgspec.json.encode(keys[name]).decode()}" for name in sorted(keys))
        return f"[{','.join(shown)}]"
    return f"[{value}]"
