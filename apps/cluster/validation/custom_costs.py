"""What the rules of a CustomResourceDefinition may cost: the sizes of values by their schema.

A value without a limit of its own is as large as the largest request allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cel.effort import spend
from apps.cel.estimation import ITEMS, KEYS, VALUES, Path, Sizes
from apps.cel.sizes import MOST, Range
from apps.cluster.validation.custom_values import escape, with_type_fields

Schema = Mapping[str, Any]

#: What one expression, and all rules of a version, may be estimated to cost.
EXPRESSION_LIMIT: Final = 10_000_000
VERSION_LIMIT: Final = 100_000_000
#: What it costs of the effort to compare the name of a property.
_PROPERTY: Final = 10
_REQUEST: Final = 3 * 1024 * 1024
#: The least size in JSON by type; a text has quotes, an object and a list brackets.
_LEAST: Final = {"boolean": 4, "integer": 1, "number": 1, "string": 2, "array": 2}
_LEAST_BY_FORMAT: Final = {"duration": 3, "date": 12, "date-time": 21}
#: The greatest length of a text by format, with its quotes.
_MOST_BY_FORMAT: Final = {"duration": 32, "date": 12, "date-time": 36}
#: A character may take four bytes.
_WIDTH: Final = 4
_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


def sizes_of(schema: Schema) -> Sizes:
    """The sizes of the parts of a variable: each has this schema.

    The API server takes whatever begins a path for a variable. So an element of a list that the
    rule computes is as large as a value of the schema, an object having no size, and so is a type.
    """

    def size(path: Path) -> Range | None:
        if not path:
            return None
        inner: Schema | None = schema
        for step in path[1:]:
            if step == KEYS:
                return Range(0, 0)
            inner = _inside(inner or {}, step)
            if not inner:
                return None
        return Range(0, _most_elements(inner)) if inner is not None else None

    return size


def _inside(schema: Schema, step: str) -> Schema | None:
    if step in (ITEMS, VALUES):
        inner = schema.get("items") if step == ITEMS else schema.get("additionalProperties")
        return inner if isinstance(inner, Mapping) else None
    if schema.get("x-kubernetes-embedded-resource"):
        schema = with_type_fields(schema)
    properties = schema.get("properties") or {}
    spend(_PROPERTY * len(properties))
    return next((each for name, each in properties.items() if escape(name) == step), None)


def _most_elements(schema: Schema) -> int:
    if schema.get("x-kubernetes-int-or-string"):
        return _REQUEST - 2
    others = schema.get("additionalProperties")
    match schema.get("type"):
        case "string":
            return _longest(schema)
        case "array":
            least = _least_size(schema.get("items") or {})
            return int(max(schema.get("maxItems", (_REQUEST - 2) // (least + 1)), 0))
        case "object" if isinstance(others, Mapping):
            least = _least_size(others)
            return int(max(schema.get("maxProperties", (_REQUEST - 2) // (least + 6)), 0))
        case _:
            return 0


def _longest(schema: Schema) -> int:
    kind = schema.get("format", "")
    if "maxLength" in schema and kind not in _MOST_BY_FORMAT:
        return int(max(schema["maxLength"], 0)) * (1 if kind == "byte" else _WIDTH)
    if schema.get("enum"):
        return max(len(str(each)) for each in schema["enum"])
    return _MOST_BY_FORMAT.get(kind, _REQUEST) - 2


def _least_size(schema: Schema) -> int:
    """The size in JSON of the smallest value."""
    kind = schema.get("type", "")
    if kind != "object":
        least = _LEAST_BY_FORMAT.get(schema.get("format", "")) if kind == "string" else None
        return least or _LEAST.get(kind, 1)
    size, properties = 2, schema.get("properties") or {}
    for name in schema.get("required") or ():
        each = properties.get(name)
        if each is not None and "default" not in each:
            size += len(name) + _least_size(each) + 4
    return size


def count_inside(schema: Schema, count: int | None) -> int | None:
    """How many elements a list or a map has in one object; None without a limit.

    `count` is how many such lists or maps the object has.
    """
    limit = schema.get("maxItems" if schema.get("type") == "array" else "maxProperties")
    return None if limit is None or count is None else int(limit) * count


def total_cost(max_cost: int, schema: Schema, count: int | None) -> int:
    """What an expression costs for all `count` values of its schema in one object."""
    values = _REQUEST // (_least_size(schema) + 1) if count is None else count
    return min(max_cost * values, MOST)


def excess(what: str, cost: int, limit: int) -> str:
    """The message about a cost above its limit."""
    factor = cost / limit
    shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    if factor > 100:
        shown = "more than 100x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"
