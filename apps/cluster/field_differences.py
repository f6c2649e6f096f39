"""The fields that differ between two versions of an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Fields that change with every write; they are not reported.
_BOOKKEEPING = frozenset({"metadata.resourceVersion", "metadata.managedFields"})
#: Fields that identify the items of a list.
_KEYS = ("name", "type", "key", "uid", "conditionType")
_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field (`spec.containers[main].image`); None means that the field is absent."""

    path: str
    before: Any
    after: Any

    @property
    def verb(self) -> str:
        """ "added", "removed" or "changed"."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def differences(before: Any, after: Any) -> list[FieldDifference]:
    """The outermost fields that differ, without those that change at every write."""
    return [each for each in _compare("", before, after) if each.path not in _BOOKKEEPING]


def _compare(path: str, before: Any, after: Any) -> Iterator[FieldDifference]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from _compare(inner, before.get(key, _ABSENT), after.get(key, _ABSENT))
    elif (pairs := _pair_items(before, after)) is not None:
        for key, (one, other) in pairs.items():
            yield from _compare(f"{path}[{key}]", one, other)
    elif before != after or type(before) is not type(after):
        yield FieldDifference(path, _none_if_absent(before), _none_if_absent(after))


def _pair_items(before: Any, after: Any) -> dict[str, tuple[Any, Any]] | None:
    """The items of two lists by their key; None if they cannot be paired."""
    if not _is_list(before) or not _is_list(after):
        return None
    for key in _KEYS:
        both = [*before, *after]
        if all(isinstance(item, Mapping) and isinstance(item.get(key), str) for item in both):
            one = {item[key]: item for item in before}
            other = {item[key]: item for item in after}
            if len(one) == len(before) and len(other) == len(after):
                names = [*one, *(name for name in other if name not in one)]
                return {name: (one.get(name, _ABSENT), other.get(name, _ABSENT)) for name in names}
    if len(before) == len(after):
        return {str(place): pair for place, pair in enumerate(zip(before, after, strict=True))}
    return None


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _none_if_absent(value: Any) -> Any:
    return None if value is _ABSENT else value
