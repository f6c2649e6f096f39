"""The fields of objects as sets of paths, and what two objects have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from apps.cluster.ownership.paths import (
    Path,
    Paths,
    display,
    field_element,
    item_element,
    key_element,
)
from apps.cluster.ownership.shapes import Shape, struct

Body = dict[str, Any]

_ABSENT: Any = object()
#: The shape of items that share a key.
_REPEATED = Shape("single")


class InvalidList(Exception):
    """A list whose items cannot be told apart."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(why)
        self.path = path
        self.why = why


def paths_of(body: Any, definition: str, *, strict: bool = False) -> Paths:
    """The paths of all fields that an object sets.

    *strict* raises InvalidList for items of a list that have the same key or none.
    """
    return frozenset(_paths(body, struct(definition), (), strict))


def _paths(value: Any, shape: Shape, path: Path, strict: bool) -> Iterator[Path]:
    if shape.form == "single" or not fits(value, shape) or not value:
        yield path
        return
    for element, item, item_shape in children(value, shape, path, strict=strict):
        place = (*path, element)
        if shape.form != "struct":
            yield place
        if shape.form != "set":
            yield from _paths(item, item_shape, place, strict)


@dataclass
class Comparison:
    """The paths that differ between two objects."""

    added: set[Path] = field(default_factory=set)
    modified: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)

    @property
    def changed(self) -> set[Path]:
        """All of them."""
        return self.added | self.modified | self.removed


def compare(old: Body, new: Body, definition: str) -> Comparison:
    """What an object has that an older version of it has not, and the other way round."""
    comparison = Comparison()
    _compare(old, new, struct(definition), (), comparison)
    return comparison


def _compare(old: Any, new: Any, shape: Shape, path: Path, comparison: Comparison) -> None:
    if old is new or old == new:
        return
    if path and old is _ABSENT:
        comparison.added.add(path)
    elif path and new is _ABSENT:
        comparison.removed.add(path)
    parted = shape.form != "single" and all(
        value is _ABSENT or value is None or fits(value, shape) for value in (old, new)
    )
    if not parted or not _has_items(old, new):
        if old is not _ABSENT and new is not _ABSENT:
            comparison.modified.add(path)
        return
    before, after = _by_element(old, shape, path), _by_element(new, shape, path)
    for element in dict.fromkeys((*before, *after)):
        one, item_shape = before.get(element, (_ABSENT, None))
        other, other_shape = after.get(element, (_ABSENT, None))
        shapes = [each for each in (item_shape, other_shape) if each is not None]
        inner = _REPEATED if _REPEATED in shapes else shapes[0]
        _compare(one, other, inner, (*path, element), comparison)


def _has_items(old: Any, new: Any) -> bool:
    return any(value is not _ABSENT and bool(value) for value in (old, new))


def _by_element(value: Any, shape: Shape, path: Path) -> dict[str, tuple[Any, Shape]]:
    """Items that share a key are one value, which is compared as a whole."""
    if value is _ABSENT or value is None:
        return {}
    by_element: dict[str, tuple[Any, Shape]] = {}
    for element, item, inner in children(value, shape, path):
        if element in by_element:
            before, known = by_element[element]
            item, inner = [*(before if known is _REPEATED else (before,)), item], _REPEATED
        by_element[element] = item, inner
    return by_element


def merge(live: Any, applied: Any, definition: str) -> Any:
    """`live` with everything that `applied` sets; lists are merged item by item."""
    return _merge(live, applied, struct(definition))


def _merge(live: Any, applied: Any, shape: Shape) -> Any:
    if shape.form == "single" or not fits(live, shape) or not fits(applied, shape):
        return applied
    if shape.form in ("struct", "map"):
        merged = dict(live)
        for name, value in applied.items():
            merged[name] = _merge(live[name], value, shape.field(name)) if name in live else value
        return merged
    return _merge_lists(live, applied, shape)


def _merge_lists(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    """The items in the order of `applied`; others keep their place in `live`."""
    kept = [(element, item) for element, item, _ in children(live, shape, ())]
    before = dict(kept)
    after = {element: item for element, item, _ in children(applied, shape, ())}
    left = iter(after)
    result: list[Any] = []

    def take(element: str) -> None:
        item = after[element]
        known = element in before and shape.form == "list"
        result.append(_merge(before[element], item, shape.item) if known else item)

    for element, item in kept:
        if element not in after:
            result.append(item)
            continue
        for following in left:
            take(following)
            if following in before:
                break
    for following in left:
        take(following)
    return result


def remove(body: Any, paths: Paths, definition: str) -> Any:
    """An object without the fields and items at `paths`; what becomes empty is removed, too."""
    return _remove(body, {path for path in paths if path}, struct(definition))


def _remove(value: Any, paths: set[Path], shape: Shape) -> Any:
    if not paths or shape.form == "single" or not fits(value, shape):
        return value
    below: dict[str, set[Path]] = {}
    for path in paths:
        below.setdefault(path[0], set()).add(path[1:])
    kept: list[tuple[str, Any]] = []
    for element, item, item_shape in children(value, shape, ()):
        inner = below.get(element, set())
        if () in inner:
            continue
        smaller = _remove(item, inner, item_shape)
        if inner and smaller in ({}, []) and item not in ({}, []) and shape.form != "list":
            continue
        kept.append((element, smaller))
    if shape.form in ("struct", "map"):
        return {element[2:]: item for element, item in kept}
    return [item for _, item in kept]


def fits(value: Any, shape: Shape) -> bool:
    """Whether a value is of the type of its shape."""
    return isinstance(value, dict if shape.form in ("struct", "map") else list)


def children(
    value: Any, shape: Shape, path: Path, *, strict: bool = False
) -> Iterator[tuple[str, Any, Shape]]:
    """The path element, value and shape of each field, entry or item.

    Stored lists may have items with the same key or without one; *strict* raises InvalidList.
    """
    if shape.form in ("struct", "map"):
        for name, item in value.items():
            yield field_element(name), item, shape.field(name)
        return
    inner = Shape("single") if shape.form == "set" else shape.item
    seen: set[str] = set()
    for item in value:
        element = item_element(item) if shape.form == "set" else _key_of(item, shape, path, strict)
        if strict and element in seen:
            raise InvalidList(path, f"duplicate entries for key [{_shown(element)}]")
        seen.add(element)
        yield element, item, inner


def _key_of(item: Any, shape: Shape, path: Path, strict: bool) -> str:
    defaults = dict(shape.defaults)
    keys: Body = {}
    for key in shape.keys:
        value = item.get(key, defaults.get(key, _ABSENT)) if isinstance(item, dict) else _ABSENT
        if value is _ABSENT:
            if len(shape.keys) > 1 or not strict:
                continue
            raise InvalidList(
                path,
                f'associative list with keys has an element that omits key field "{key}" '
                "(and doesn't have default value)",
            )
        keys[key] = value
    return key_element(keys)


def _shown(element: str) -> str:
    return display((element,)).strip("[]")
