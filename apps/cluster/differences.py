"""What differs between two versions of an object, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Differ at every write, and tell nothing.
_BOOKKEEPING = frozenset({"metadata.resourceVersion", "metadata.managedFields"})
#: What tells the items of a list apart, where they have it.
_KEYS = ("name", "type", "key", "uid", "conditionType")
_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One field (`spec.containers[main].image`); None stands for "not there"."""

    path: str
    before: Any
    after: Any

    @property
    def verb(self) -> str:
        """added, removed or changed."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def differences(before: Any, after: Any) -> list[Difference]:
    """The outermost fields that differ, without those that change at every write."""
    return [each for each in _between("", before, after) if each.path not in _BOOKKEEPING]


def _between(path: str, before: Any, after: Any) -> Iterator[Difference]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from _between(inner, before.get(key, _ABSENT), after.get(key, _ABSENT))
    elif (pairs := _paired(before, after)) is not None:
        for key, (one, other) in pairs.items():
            yield from _between(f"{path}[{key}]", one, other)
    elif before != after or type(before) is not type(after):
        yield Difference(path, _shown(before), _shown(after))


def _paired(before: Any, after: Any) -> dict[str, tuple[Any, Any]] | None:
    """Items of two lists by what tells them apart; None where nothing does."""
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


def _shown(value: Any) -> Any:
    return None if value is _ABSENT else value
