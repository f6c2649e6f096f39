"""How the fields of a kind are owned: one by one, item by item or as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from apps.cluster.schema.definitions import DEFINITIONS, Schema, reference

#: Definitions whose values are single values, whatever their properties.
#: Keys that an item may omit. The definitions of OpenAPI v2 have no defaults.
_KEY_DEFAULTS: Final = {"protocol": "TCP"}
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
        if self.form == "map":
            return struct(self.item_schema) if self.item_schema else SINGLE
        return _fields(self.definition).get(name, SINGLE)

    @property
    def item(self) -> Shape:
        """The shape of the items of a list."""
        return struct(self.item_schema)


SINGLE = Shape("single")


@cache
def struct(definition: str) -> Shape:
    """The shape of an object of this definition."""
    schema = DEFINITIONS[definition]
    if definition.rpartition(".")[2] in _SINGLE or not schema.get("properties"):
        return SINGLE
    if schema.get("x-kubernetes-map-type") == "atomic":
        return SINGLE
    return Shape("struct", definition)


@cache
def _fields(definition: str) -> Mapping[str, Shape]:
    properties = DEFINITIONS[definition].get("properties", {})
    return {name: _shape(schema) for name, schema in properties.items()}


def _shape(schema: Schema) -> Shape:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return SINGLE
    if name := reference(schema):
        return struct(name)
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
    defaults = tuple((key, _KEY_DEFAULTS[key]) for key in keys if key in _KEY_DEFAULTS)
    return Shape("list", item_schema=definition, keys=keys, defaults=defaults)
