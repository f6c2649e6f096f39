"""Results of the rooms as JSON, for the API and the commands.

A result is a dataclass, a named tuple or a Struct. Its JSON has its fields, in their order and by
their names, or what its class lists in `ANSWER`: fields and properties, and `...` for the other
fields. The types that they declare say how a value is written, so a field of type `PodAt` shows
what PodAt has, also of a subclass. `apps/api/control/documentation/results.py` describes results in
the OpenAPI document by the same types.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

Writer: TypeAlias = Callable[[Any], Any]
_FIELD: Final = re.compile(r"(\w+):")
#: Types whose values are JSON already.
_PLAIN: Final = (str, int, float, bool, NoneType)


def to_json(result: Any, kind: Any = None) -> Any:
    """A result as values of JSON; as its class declares it, or as `kind`."""
    shape: Any = type(result) if kind is None else kind
    write = find_writer(shape)
    return result if write is None else write(result)


@cache
def find_writer(hint: Any) -> Writer | None:
    """What makes JSON of a value of this type; None for a type whose values are JSON."""
    origin, given = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        return find_writer(given[0])
    if origin in (Union, UnionType):
        (inner,) = (find_writer(each) for each in given if each is not NoneType)
        return inner and (lambda value: None if value is None else inner(value))
    if origin in _PLAIN:
        return None
    if names := list_fields(origin):
        return _write_fields(names, [find_writer(find_hint(origin, name)) for name in names])
    if not inspect.isclass(origin) or issubclass(origin, (str, bytes)):
        return msgspec.to_builtins
    if issubclass(origin, np.ndarray):
        return np.ndarray.tolist
    if issubclass(origin, Mapping):
        return _write_mapping(*map(find_writer, given or (str, Any)))
    if issubclass(origin, Iterable):
        return _write_list(find_writer(given[0]), sorted if issubclass(origin, Set) else list)
    return msgspec.to_builtins


def _write_fields(names: tuple[str, ...], writers: list[Writer | None]) -> Writer:
    if not any(writers):
        return lambda result: {name: getattr(result, name) for name in names}
    fields = list(zip(names, writers, strict=True))
    return lambda result: {
        name: getattr(result, name) if write is None else write(getattr(result, name))
        for name, write in fields
    }


def _write_mapping(key: Writer | None, value: Writer | None) -> Writer:
    if value is None:
        return lambda mapping: (
            dict(mapping) if key is None else {key(k): v for k, v in mapping.items()}
        )
    return lambda mapping: {(key(k) if key else k): value(v) for k, v in mapping.items()}


def _write_list(item: Writer | None, ordered: Callable[[Any], list[Any]]) -> Writer:
    if item is None:
        return ordered
    return lambda values: [item(each) for each in ordered(values)]


def list_fields(kind: Any) -> tuple[str, ...]:
    """What an answer shows of a result; empty for everything else."""
    if not inspect.isclass(kind):
        return ()
    if dataclasses.is_dataclass(kind):
        fields = tuple(each.name for each in dataclasses.fields(kind))
    else:
        fields = getattr(kind, "__struct_fields__", getattr(kind, "_fields", ()))
    shown = getattr(kind, "ANSWER", (...,))
    others = [name for name in fields if name not in shown]
    return tuple(name for each in shown for name in (others if each is ... else [each]))


def find_hint(kind: Any, name: str) -> Any:
    """The type of a field, or of what a property returns."""
    member = inspect.getattr_static(kind, name, None)
    if getter := getattr(member, "fget", getattr(member, "func", None)):
        return get_type_hints(getter, include_extras=True)["return"]
    return get_type_hints(kind, include_extras=True)[name]


@cache
def read_comments(kind: type) -> dict[str, str]:
    """Field -> the `#:` comment above it or the docstring of the property, as a sentence."""
    comments: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("apps."):
            comments |= _read_own_comments(base)
    for name in list_fields(kind):
        member = inspect.getattr_static(kind, name, None)
        if isinstance(member, (property, cached_property)) and member.__doc__:
            comments[name] = _write_sentence(" ".join(member.__doc__.split()))
    return comments


def _read_own_comments(kind: type) -> dict[str, str]:
    comments: dict[str, str] = {}
    above: list[str] = []
    for line in map(str.strip, inspect.getsource(kind).splitlines()):
        if line.startswith("#:"):
            above.append(line.removeprefix("#:").strip())
            continue
        if above and (field := _FIELD.match(line)):
            comments[field[1]] = _write_sentence(" ".join(above))
        above = []
    return comments


def _write_sentence(comment: str) -> str:
    """A comment as the documentation of the API has it: JSON says null for None."""
    text = re.sub(r"\bNone\b", "null", comment)
    return f"{text[0].upper()}{text[1:]}{'' if text[-1] in '.…' else '.'}"
