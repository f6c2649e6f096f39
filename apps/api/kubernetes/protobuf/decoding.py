"""Protobuf messages as objects of JSON, as Go's encoder writes them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple

from google.protobuf.message import DecodeError, Message

from apps.api.kubernetes.protobuf.classes import message_class
from apps.api.kubernetes.protobuf.schema import EXTENSIONS, Field, messages
from apps.api.kubernetes.protobuf.special import SPECIAL, text
from apps.cluster.documents import UnreadableDocument

Body = dict[str, Any]
Convert = Callable[[Any], Any]

_SCHEMA: Final = f"{EXTENSIONS}v1.JSONSchemaProps"


class _Read(NamedTuple):
    """How a field of a message is read."""

    field: Field
    convert: Convert


def parse(name: str, raw: bytes) -> Message:
    """The message in `raw`; UnreadableDocument if it is invalid. Unknown fields are ignored."""
    try:
        return message_class(name).FromString(raw)
    except DecodeError as error:
        kind = name.rpartition(".")[2]
        raise UnreadableDocument(f"protobuf: the bytes are not a message {kind}") from error


def decode(name: str, raw: bytes) -> Body:
    """The object in a message, without its type; UnreadableDocument if it is invalid."""
    body: Body = _to_json(name, parse(name, raw))
    return body


def _to_json(name: str, message: Any) -> Any:
    if name in _ALTERNATIVES:
        return _ALTERNATIVES[name](message)
    body: Body = {}
    reads = _reads(name)
    for descriptor, value in message.ListFields():
        field, convert = reads[descriptor.number]
        if field.inline:
            body.update(convert(value))
        elif field.repeated:
            body[field.json] = [convert(each) for each in value]
        elif field.map:
            body[field.json] = {text(key): convert(each) for key, each in value.items()}
        else:
            _set(body, field, convert(value))
    return body


def _set(body: Body, field: Field, value: Any) -> None:
    """Set a field, unless Go's encoder leaves out its value."""
    if value is None:
        # the zero time, or raw JSON without bytes
        if not (field.optional or field.omits_zero):
            body[field.json] = None
    elif field.optional or value or not field.omits_empty or isinstance(value, dict):
        body[field.json] = value


@cache
def _reads(name: str) -> Mapping[int, _Read]:
    return {field.number: _Read(field, _conversion(field)) for field in messages()[name]}


def _conversion(field: Field) -> Convert:
    match field.type:
        case "string":
            return text
        case "bytes":
            return lambda value: base64.b64encode(value).decode()
        case "double":
            return lambda value: int(value) if value.is_integer() else value
        case "bool" | "int32" | "int64":
            return lambda value: value
    if field.type in SPECIAL:
        return SPECIAL[field.type].decode
    return partial(_to_json, field.type)


def _decode_schemas(message: Any) -> Any:
    if message.jSONSchemas:
        return [_to_json(_SCHEMA, each) for each in message.jSONSchemas]
    return _to_json(_SCHEMA, message.schema)


def _decode_schema_or_bool(message: Any) -> Any:
    return _to_json(_SCHEMA, message.schema) if message.HasField("schema") else message.allows


def _decode_schema_or_names(message: Any) -> Any:
    if message.HasField("schema"):
        return _to_json(_SCHEMA, message.schema)
    return [text(each) for each in message.property]


_ALTERNATIVES: Final[Mapping[str, Convert]] = {
    f"{_SCHEMA}OrArray": _decode_schemas,
    f"{_SCHEMA}OrBool": _decode_schema_or_bool,
    f"{_SCHEMA}OrStringArray": _decode_schema_or_names,
}
