"""Objects of JSON as protobuf messages.

The protobuf library composes a message from nested dicts with the names and types of its fields,
in C. What is left to do here are the differences between JSON and protobuf: a converter for each
message visits only the fields that have some.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from apps.api.kubernetes.protobuf.classes import message_class
from apps.api.kubernetes.protobuf.schema import EXTENSIONS, META, Field, messages
from apps.api.kubernetes.protobuf.special import SPECIAL

Convert = Callable[[Any], Any]

_OBJECT_META: Final = f"{META}v1.ObjectMeta"
_TIMES: Final = frozenset({f"{META}v1.Time", f"{META}v1.MicroTime"})
_SCHEMA: Final = f"{EXTENSIONS}v1.JSONSchemaProps"


class _Changed(NamedTuple):
    """A field whose value or name differs from that of JSON."""

    name: str
    convert: Convert
    #: What null stands for: an empty time, or no value.
    null: Mapping[str, Any] | None


class _Inlined(NamedTuple):
    """A message whose fields are those of its parent in JSON."""

    name: str
    fields: frozenset[str]
    convert: Convert


def encode(name: str, body: Mapping[str, Any]) -> bytes:
    """The bytes of a message with the fields of `body`; its kind and apiVersion do not matter."""
    fields = {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
    message: Message = message_class(name)(**_convert(name, fields))
    return message.SerializeToString(deterministic=True)


def _convert(name: str, value: Any) -> Any:
    """A value of JSON as the arguments of a message."""
    return _converter(name)(value) if name in _converted() else value


@cache
def _converter(name: str) -> Convert:
    if name in SPECIAL:
        return SPECIAL[name].encode
    if name in _ALTERNATIVES:
        return _ALTERNATIVES[name]
    fields = messages()[name]
    changed = {
        field.json: _changed(field)
        for field in fields
        if not field.inline and (_differs(field) or field.type in _converted())
    }
    inlined = [
        _Inlined(field.name, _json_names(field.type), partial(_convert, field.type))
        for field in fields
        if field.inline
    ]
    return partial(_compose, changed, inlined, _has_type(fields))


def _compose(
    changed: Mapping[str, _Changed], inlined: list[_Inlined], typed: bool, body: Mapping[str, Any]
) -> Mapping[str, Any]:
    composed = dict(body)
    if typed:
        composed.pop("kind", None)
        composed.pop("apiVersion", None)
    for name, fields, convert in inlined:
        if special := fields & composed.keys():
            composed[name] = convert({key: composed.pop(key) for key in special})
    for key in changed.keys() & composed.keys():
        value = composed.pop(key)
        name, convert, null = changed[key]
        composed[name] = null if value is None else convert(value)
    return composed


@cache
def _converted() -> frozenset[str]:
    """The messages that differ from their JSON, or contain one that does."""
    names = {*SPECIAL, *_ALTERNATIVES}
    names |= {name for name, fields in messages().items() if any(map(_differs, fields))}
    while more := {
        name
        for name, fields in messages().items()
        if name not in names and any(field.type in names for field in fields)
    }:
        names |= more
    return frozenset(names)


def _differs(field: Field) -> bool:
    return field.inline or field.name != field.json or field.type == "bytes"


def _has_type(fields: tuple[Field, ...]) -> bool:
    """Whether objects of a message may repeat their kind, as claim templates do."""
    return any(field.type == _OBJECT_META for field in fields)


def _changed(field: Field) -> _Changed:
    convert = _of_values(field)
    zero = field.type in _TIMES and not (field.optional or field.omits_zero)
    null: Mapping[str, Any] | None = {} if zero else None
    if field.repeated:
        return _Changed(field.name, lambda values: [convert(value) for value in values], null)
    if field.map:
        return _Changed(
            field.name, lambda values: {key: convert(value) for key, value in values.items()}, null
        )
    return _Changed(field.name, convert, null)


def _of_values(field: Field) -> Convert:
    if field.type == "bytes":
        return base64.b64decode
    if field.type in SPECIAL:
        return SPECIAL[field.type].encode
    return partial(_convert, field.type)


@cache
def _json_names(name: str) -> frozenset[str]:
    """The fields of a message in JSON."""
    fields = messages()[name]
    own = {field.json for field in fields if not field.inline}
    return frozenset(own.union(*(_json_names(field.type) for field in fields if field.inline)))


def _encode_schemas(value: Any) -> Mapping[str, Any]:
    if isinstance(value, list):
        return {"jSONSchemas": [_convert(_SCHEMA, each) for each in value]}
    return {"schema": _convert(_SCHEMA, value)}


def _encode_schema_or_bool(value: Any) -> Mapping[str, Any]:
    if isinstance(value, bool):
        return {"allows": value}
    return {"allows": True, "schema": _convert(_SCHEMA, value)}


def _encode_schema_or_names(value: Any) -> Mapping[str, Any]:
    return {"property": value} if isinstance(value, list) else {"schema": _convert(_SCHEMA, value)}


#: Values that are a schema or something else.
_ALTERNATIVES: Final[Mapping[str, Convert]] = {
    f"{_SCHEMA}OrArray": _encode_schemas,
    f"{_SCHEMA}OrBool": _encode_schema_or_bool,
    f"{_SCHEMA}OrStringArray": _encode_schema_or_names,
}
