"""The Go types of the API server, as far as they show in its messages.

`scripts/extract_go_types.py` writes the data file from the program of the release.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from apps.cluster.schema.definitions import RELEASE

Body = Mapping[str, Any]

_FILE = Path(__file__).with_name(f"go-types-{RELEASE}.json.gz")
_POD_SPEC: Final = "core.PodSpec"
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


class _Field(NamedTuple):
    """A field of an internal type: its name there and in objects, and what is printed of it."""

    printed: str
    path: tuple[str, ...]
    #: The type of its value, or of its elements; "" if values are printed as they are in JSON.
    type: str
    #: Whether the type is that of the field itself, and not of something it refers to.
    is_value: bool
    #: Printed for a field that is not set.
    empty: Any
    is_omitted: bool


def internal(type_name: str, value: Any) -> Any:
    """A value as the API server prints its internal type: all fields, in their order.

    `type_name` is that of the value, or of the items of a list or a map.
    """
    if isinstance(value, list | tuple):
        return [internal(type_name, item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if type_name == _POD_SPEC:
        value = _with_host_fields(value)
    fields: dict[str, Any] = {}
    given: Any
    for each in _fields(type_name):
        given = value
        for name in each.path:
            given = given.get(name) if given else None
        if each.is_omitted and (given is None or given in (each.empty, [], {})):
            continue
        fields[each.printed] = _internal_field(each, given)
    return fields


def internal_map(type_name: str, value: Mapping[str, Any]) -> Any:
    """A map whose values are of this type."""
    return {key: internal(type_name, value[key]) for key in sorted(value)}


def go_type(definition: str, field: str) -> str:
    """The Go type of a field; "" if the OpenAPI definition tells it."""
    return str(_load()["fields"].get(definition, {}).get(field, ""))


@cache
def declared_fields(definition: str) -> dict[str, str]:
    """Field -> itself behind the types that the definition embeds, in the order of its Go type."""
    places = str(_load()["order"].get(definition, "")).split()
    return {place.rpartition(".")[2]: place for place in places}


def print_value(value: Any) -> str:
    """A value as Go prints what it has read from JSON."""
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{print_value(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(print_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if value != int(value) or abs(value) >= 1e21 else str(int(value))
    return "<nil>" if value is None else str(value)


def omitted_fields(definition: str) -> frozenset[str]:
    """The fields that JSON does not have when they are empty."""
    return frozenset(_load()["omitted"].get(definition, "").split())


def _internal_field(field: _Field, given: Any) -> Any:
    if given is None:
        return internal(field.type, {}) if field.is_value else field.empty
    if isinstance(given, Mapping) and (not field.type or field.type.startswith("{}")):
        return internal_map(field.type.removeprefix("{}"), given)
    return internal(field.type, given)


def _with_host_fields(spec: Body) -> Body:
    """Move the host fields into the security context, as in the internal type."""
    shared = {name: spec[name] for name in _HOST_FIELDS if name in spec}
    if not shared and spec.get("securityContext") is None:
        return spec
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **shared}}


@cache
def _fields(type_name: str) -> tuple[_Field, ...]:
    return tuple(_read_field(*row) for row in _load()["internal"].get(type_name, ()))


def _read_field(printed: str, place: str, kind: str, option: str = "") -> _Field:
    """`kind` is a type, one that is referred to (`*`, `[]`, `{}`), or what is printed if empty."""
    path, omitted = tuple(place.split(".")), bool(option)
    if kind[:1].isalpha() and "." in kind:
        return _Field(printed, path, kind, True, None, omitted)
    if kind.startswith(("*", "[]")):
        return _Field(printed, path, kind.lstrip("*[]"), False, None, omitted)
    if kind.startswith("{}"):
        return _Field(printed, path, kind, False, None, omitted)
    return _Field(printed, path, "", False, msgspec.json.decode(kind), omitted)


@cache
def _load() -> dict[str, Any]:
    types: dict[str, Any] = msgspec.json.decode(gzip.decompress(_FILE.read_bytes()))
    return types
