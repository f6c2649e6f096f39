"""Strict decoding: from plain JSON values to typed ones; all faults are reported at once.

The types are frozen dataclasses or the core's Structs; their annotations are the schema. As in
Kubernetes null counts as absent, names are case-sensitive, and values are not coerced.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from apps.scheduler.config.durations import DurationError, parse_duration
from apps.scheduler.config.errors import Problems, child
from apps.scheduler.config.fields import Seconds
from apps.scheduler.objects.meta import Int64

T = TypeVar("T")

#: The result of an invalid value: the field keeps its default, and the fault is reported later.
_FAULTY: Final = object()
_INT64: Final[msgspec.Meta] = get_args(Int64)[1]
_SINGLE_PRECISION_MAX: Final = 3.4028235677973366e38


class _Field(NamedTuple):
    attribute: str
    type: Any


def decode(
    cls: type[T], value: object, path: str, problems: Problems, *, ignore: tuple[str, ...] = ()
) -> T:
    """`value` as an instance of `cls`; faults go to `problems`, and invalid fields are defaulted.

    `ignore` names fields of the outermost object that are handled elsewhere.
    """
    decoded = _object(cls, value, path, problems, ignore)
    return cls() if decoded is _FAULTY else cast("T", decoded)


def field_names(cls: Any) -> tuple[str, ...]:
    """The names of a type's fields in the configuration."""
    return tuple(_fields(cls))


def _object(
    cls: Any, value: object, path: str, problems: Problems, ignore: tuple[str, ...] = ()
) -> object:
    if not isinstance(value, Mapping):
        return _wrong(value, path, problems, "must be an object")
    fields = _fields(cls)
    arguments: dict[str, object] = {}
    for name, item in value.items():
        at = child(path, str(name))
        if name in ignore or item is None and name in fields:
            continue
        if name not in fields:
            problems.unknown_field(at, str(name))
            continue
        decoded = _value(fields[name].type, item, at, problems)
        if decoded is not _FAULTY:
            arguments[fields[name].attribute] = decoded
    return cls(**arguments)


def _value(kind: Any, value: object, path: str, problems: Problems) -> object:
    if kind is Any:
        return value
    origin = get_origin(kind)
    if origin is Annotated:
        base, marker = get_args(kind)[:2]
        if isinstance(marker, Seconds):
            return _duration(value, path, problems)
        if base is int:
            return _integer(value, path, problems, marker)
        return _value(base, value, path, problems)
    if origin in (types.UnionType, Union):
        (inner,) = (option for option in get_args(kind) if option is not types.NoneType)
        return _value(inner, value, path, problems)
    if origin is tuple:
        return _list(get_args(kind)[0], value, path, problems)
    if origin in (dict, Mapping):
        return _mapping(get_args(kind)[1], value, path, problems)
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar(value, path, problems)
    return _object(kind, value, path, problems)


def _list(kind: Any, value: object, path: str, problems: Problems) -> object:
    if not isinstance(value, list | tuple):
        return _wrong(value, path, problems, "must be a list")
    items = []
    for index, item in enumerate(value):
        decoded = _value(kind, {} if item is None else item, f"{path}[{index}]", problems)
        if decoded is not _FAULTY:
            items.append(decoded)
    return tuple(items)


def _mapping(kind: Any, value: object, path: str, problems: Problems) -> object:
    if not isinstance(value, Mapping):
        return _wrong(value, path, problems, "must be an object")
    decoded = {
        str(key): _value(kind, item, child(path, str(key)), problems)
        for key, item in value.items()
        if item is not None or kind is Any
    }
    return {key: item for key, item in decoded.items() if item is not _FAULTY}


def _string(value: object, path: str, problems: Problems) -> object:
    return value if isinstance(value, str) else _wrong(value, path, problems, "must be a string")


def _boolean(value: object, path: str, problems: Problems) -> object:
    return value if isinstance(value, bool) else _wrong(value, path, problems, "must be a boolean")


def _integer(value: object, path: str, problems: Problems, bounds: msgspec.Meta = _INT64) -> object:
    # YAML's 16.0 reaches Kubernetes as the JSON number 16.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return _wrong(value, path, problems, "must be an integer")
    low, high = bounds.ge, bounds.le
    if low is not None and value < low or high is not None and value > high:
        return _wrong(value, path, problems, f"must be between {low} and {high}")
    return value


def _number(value: object, path: str, problems: Problems) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _wrong(value, path, problems, "must be a number")
    if not abs(value) <= _SINGLE_PRECISION_MAX:
        return _wrong(value, path, problems, "must be a single-precision number")
    return float(value)


def _duration(value: object, path: str, problems: Problems) -> object:
    if not isinstance(value, str):
        return _wrong(value, path, problems, 'must be a duration such as "30s"')
    try:
        return parse_duration(value)
    except DurationError as error:
        return _wrong(value, path, problems, str(error))


def _bytes(value: object, path: str, problems: Problems) -> object:
    if not isinstance(value, str):
        return _wrong(value, path, problems, "must be a base64 string")
    try:
        # as Go, whose decoder ignores line breaks
        return base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
    except binascii.Error:
        return _wrong(value, path, problems, "must be a base64 string")


_SCALARS: Final[dict[Any, Callable[[object, str, Problems], object]]] = {
    str: _string,
    bool: _boolean,
    int: _integer,
    float: _number,
    bytes: _bytes,
}


def _wrong(value: object, path: str, problems: Problems, detail: str) -> object:
    problems.invalid(path, value, detail)
    return _FAULTY


@cache
def _fields(cls: Any) -> dict[str, _Field]:
    """Name in the configuration → attribute and type."""
    if issubclass(cls, msgspec.Struct):
        return {f.encode_name: _Field(f.name, f.type) for f in msgspec.structs.fields(cls)}
    hints = get_type_hints(cls, include_extras=True)
    return {
        field.metadata.get("json", camel_case(field.name)): _Field(field.name, hints[field.name])
        for field in dataclasses.fields(cls)
    }


def camel_case(name: str) -> str:
    """score_weight → scoreWeight."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
