"""Custom resources as CEL sees them: the types of a schema, and the values of an object."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

from apps.cel.checking import ONLY_OF_DEVICES, ONLY_OF_MUTATIONS, Environment
from apps.cel.conversions import to_duration, to_timestamp
from apps.cel.effort import spend
from apps.cel.types import BOOL, DYN, INT, STRING, Type, optional_of
from apps.cel.values import CelError, KeyedList, SetList, Value

Schema = Mapping[str, Any]

_METADATA: Final[Schema] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
}
_TEXT: Final[Schema] = {"type": "string"}
_DOUBLE: Final = Type("double")


def _decode_base64(text: str) -> Value:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as wrong:
        return CelError(str(wrong))


#: The types of values that are no texts.
SCALARS: Final = {"integer": INT, "number": _DOUBLE, "boolean": BOOL}
#: Formats of texts that have a type of their own, and what reads one.
FORMATS: Final = {
    "byte": (Type("bytes"), _decode_base64),
    "duration": (Type("google.protobuf.Duration"), to_duration),
    "date": (Type("google.protobuf.Timestamp"), lambda text: to_timestamp(f"{text}T00:00:00Z")),
    "date-time": (Type("google.protobuf.Timestamp"), to_timestamp),
}
#: Words that are no identifiers in CEL.
RESERVED: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
#: What the type of a schema costs of the effort.
_SCHEMA: Final = 10
_IDENTIFIER: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES: Final = (
    ("__", "__underscores__"),
    (".", "__dot__"),
    ("-", "__dash__"),
    ("/", "__slash__"),
)


def escape(name: str) -> str:
    """The name by which an expression selects a property; "" if it cannot."""
    if name in RESERVED:
        return f"__{name}__"
    for text, escaped in _ESCAPES:
        name = name.replace(text, escaped)
    return name if _IDENTIFIER.fullmatch(name) else ""


def with_type_fields(schema: Schema) -> Schema:
    """The schema of a whole object, with the fields that every one has."""
    own = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}
    return {**schema, "type": "object", "properties": {**(schema.get("properties") or {}), **own}}


def environment_of(schema: Schema, *, optional_old: bool) -> Environment:
    """`self` and `oldSelf` with the types of a schema."""
    structs: dict[str, Mapping[str, Type]] = {}
    own_type = _type(schema, "object", structs) or DYN
    old = optional_of(own_type) if optional_old else own_type
    without = ONLY_OF_DEVICES | ONLY_OF_MUTATIONS
    return Environment({"self": own_type, "oldSelf": old}, structs, without)


def has_type(schema: Schema) -> bool:
    """Whether expressions can read values of a schema."""
    return _type(schema, "object", {}) is not None


def _type(schema: Schema, name: str, structs: dict[str, Mapping[str, Type]]) -> Type | None:
    """None for what expressions cannot read: values without a known type."""
    spend(_SCHEMA)
    if schema.get("x-kubernetes-int-or-string"):
        return DYN
    match schema.get("type"):
        case "object":
            return _object_type(schema, name, structs)
        case "array":
            items = schema.get("items")
            # several schemas are refused elsewhere
            given = items if isinstance(items, Mapping) else {}
            element = _type(given, f"{name}[]", structs)
            return None if element is None else Type("list", (element,))
        case "string":
            known = FORMATS.get(schema.get("format", ""))
            return known[0] if known is not None else STRING
        case given:
            # the schema of items may be of any type until it is checked
            return SCALARS.get(given) if isinstance(given, str) else None


def _object_type(schema: Schema, name: str, structs: dict[str, Mapping[str, Type]]) -> Type | None:
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        value = _type(others, f"{name}{{}}", structs)
        return None if value is None else Type("map", (STRING, value))
    if schema.get("x-kubernetes-embedded-resource"):
        schema = with_type_fields(schema)
    properties = schema.get("properties")
    if properties is None and schema.get("x-kubernetes-preserve-unknown-fields"):
        return None
    fields = {}
    for field, each in (properties or {}).items():
        field_type = _type(each, f"{name}.{field}", structs)
        if field_type is not None and (escaped := escape(field)):
            fields[escaped] = field_type
    structs[name] = fields
    return Type(name)


#: The values of lists and objects, by the ids of their schema and of what they were: the rules of
#: each level see those below it.
Converted = dict[tuple[int, int], Value]


def value_of(schema: Schema, value: Any, converted: Converted) -> Value:
    """A valid value of a schema as expressions see it; null counts as absent."""
    if isinstance(value, (list, Mapping)):
        place = id(schema), id(value)
        if place not in converted:
            converted[place] = _collection(schema, value, converted)
        return converted[place]
    if schema.get("type") == "number" and isinstance(value, int):
        return float(value)
    if schema.get("type") == "integer" and isinstance(value, float):
        return CelError("invalid data, expected int, got float64")
    known = FORMATS.get(schema.get("format", "")) if isinstance(value, str) else None
    if known is None:
        return value
    result = known[1](value)
    return value if isinstance(result, CelError) else result


def _collection(
    schema: Schema, value: list[Any] | Mapping[str, Any], converted: Converted
) -> Value:
    if isinstance(value, Mapping):
        return _object_value(schema, value, converted)
    items = schema.get("items") or {}
    return _list_value(schema, [value_of(items, item, converted) for item in value])


def _list_value(schema: Schema, elements: list[Value]) -> Value:
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return SetList(elements)
        case "map":
            keys = schema.get("x-kubernetes-list-map-keys") or ()
            return KeyedList(elements, tuple(map(escape, keys)))
        case _:
            return elements


def _object_value(schema: Schema, value: Mapping[str, Any], converted: Converted) -> Value:
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        return {
            key: value_of(others, item, converted)
            for key, item in value.items()
            if item is not None
        }
    if schema.get("x-kubernetes-embedded-resource"):
        schema = with_type_fields(schema)
    properties = schema.get("properties") or {}
    if not properties and schema.get("x-kubernetes-preserve-unknown-fields"):
        return dict(value)
    return {
        escape(field): value_of(properties[field], item, converted)
        for field, item in value.items()
        if field in properties and item is not None
    }
