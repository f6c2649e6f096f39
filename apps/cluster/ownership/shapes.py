"""How the fields of a kind are owned: one by one, item by item or as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from apps.cluster.schema.definitions import DEFINITIONS, Schema, reference

_PRESERVES = "x-kubernetes-preserve-unknown-fields"
#: Definitions whose values are single values, whatever their properties.
_SINGLE = frozenset({"Quantity", "IntOrString", "Time", "MicroTime", "FieldsV1", "RawExtension"})


@dataclass(frozen=True)
class Shape:
    """The type of a value.

    `single` values (scalars, atomic objects and lists) have one owner. A `struct` has fields, a
    `map` has entries, a `list` has items that are identified by `keys`, a `set` has plain items.
    """

    form: Literal["single", "struct", "map", "list", "set"]
    #: Of a struct.
    definition: str = ""
    #: Of the entries of a map, or the items of a list.
    item_schema: str = ""
    keys: tuple[str, ...] = ()
    #: Values of keys that an item omits.
    defaults: tuple[tuple[str, Any], ...] = ()

    def field(self, name: str) -> Shape:
        """The shape of a field of a struct, or of an entry of a map."""
        if self is FREE:
            return FREE
        if self.form == "map":
            return struct(self.item_schema) if self.item_schema else SINGLE
        return _fields(self.definition).get(name) or _others(self.definition)

    @property
    def item(self) -> Shape:
        """The shape of the items of a list."""
        return struct(self.item_schema)


SINGLE = Shape("single")
#: What preserves unknown fields: objects have entries of any type, all else is a single value.
FREE = Shape("map", definition=_PRESERVES)


@cache
def struct(definition: str) -> Shape:
    """The shape of an object of this definition."""
    schema = DEFINITIONS[definition]
    if definition.rpartition(".")[2] in _SINGLE or not schema.get("properties"):
        return FREE if schema.get(_PRESERVES) else SINGLE
    if schema.get("x-kubernetes-map-type") == "atomic":
        return SINGLE
    return Shape("struct", definition)


@cache
def _fields(definition: str) -> Mapping[str, Shape]:
    properties = DEFINITIONS[definition].get("properties", {})
    return {name: _shape(schema) for name, schema in properties.items()}


@cache
def _others(definition: str) -> Shape:
    """The shape of fields that a definition does not declare."""
    return FREE if DEFINITIONS[definition].get(_PRESERVES) else SINGLE


def _shape(schema: Schema) -> Shape:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return SINGLE
    if name := reference(schema):
        return struct(name)
    if schema.get(_PRESERVES):
        return FREE
    match schema.get("type"):
        case "object" if "additionalProperties" in schema:
            return Shape("map", item_schema=reference(schema["additionalProperties"]))
        case "array":
            return _list_shape(schema)
        case _:
            return SINGLE


def _list_shape(schema: Schema) -> Shape:
    if schema.get("x-kubernetes-list-type") == "set":
        return Shape("set")
    if schema.get("x-kubernetes-list-type") != "map":
        return SINGLE
    definition = reference(schema["items"])
    keys = tuple(schema["x-kubernetes-list-map-keys"])
    fields = DEFINITIONS[definition].get("properties", {})
    defaults = tuple(
        (key, fields[key]["default"]) for key in keys if "default" in fields.get(key, {})
    )
    return Shape("list", item_schema=definition, keys=keys, defaults=defaults)
