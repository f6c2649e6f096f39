"""The schemas of a CustomResourceDefinition: they are structural, and defaults fit them.

Whether a value fits its schema is a matter of `apps.cluster.validation.custom_objects`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from apps.cel import regexes
from apps.cel.effort import CostExceeded
from apps.cluster.errors import Cause
from apps.cluster.schema.pruning import without_unknown
from apps.cluster.validation.causes import Causes, forbidden, invalid, not_supported, required
from apps.cluster.validation.custom_costs import count_inside
from apps.cluster.validation.custom_objects import validate_default
from apps.cluster.validation.custom_rules import TOO_LONG, Budget, find_faults

Schema = Mapping[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_MAP_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_RULES: Final = "x-kubernetes-validations"
_LIST_TYPES: Final = ("atomic", "set", "map")
_MAP_TYPES: Final = ("atomic", "granular")
_SEVERAL: Final = ("allOf", "anyOf", "oneOf")
#: What JSON schemas have and those of the API server do not.
_UNSUPPORTED: Final = (
    *("$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"),
)
#: What a combination may not say, and what its value is instead.
_UNSTRUCTURAL: Final = {
    "type": "empty",
    "default": "undefined",
    "nullable": "false",
    "description": "empty",
    "title": "empty",
    "additionalProperties": "undefined",
    _PRESERVE: "false",
    _EMBEDDED: "false",
    _INT_OR_STRING: "false",
    _LIST_TYPE: "undefined",
    _MAP_KEYS: "empty",
    _MAP_TYPE: "undefined",
    _RULES: "empty",
}
_INTEGER_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
#: The types of fields that every object has.
_TYPE_FIELDS: Final = {"apiVersion": "string", "kind": "string", "metadata": "object"}
_OF_METADATA: Final = frozenset(("type", "description", "properties"))
_NAMES: Final = frozenset(("name", "generateName"))
_EMPTY_OBJECT: Final = (
    "must not be empty if x-kubernetes-embedded-resource is true without "
    "x-kubernetes-preserve-unknown-fields"
)
_METADATA: Final = (
    "must not specify anything other than name and generateName, but metadata is implicitly "
    "specified"
)
_KEY_DEFAULT: Final = (
    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required "
    "property"
)
_KEY_NULLABLE: Final = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a schema is, and what that means for it."""

    path: str
    #: How many values an object has there at most; None without a limit.
    count: int | None = 1
    is_root: bool = False
    #: What it is of, in the message about a missing type.
    of: str = "object fields"
    #: The list above whose items have no counterparts in an older object.
    uncorrelatable: str = ""


def validate_schema(schema: Schema, path: str) -> Causes:
    """The schema of whole objects: a JSON schema, which is structural, and whose defaults fit.

    Expressions of rules are compiled if all that holds.
    """
    budget, root = Budget(), _Place(path, is_root=True)
    causes = list(_checked(schema, root))
    converts = _is_convertible(schema)
    if converts:
        structural = [
            *_structural(schema, root, budget),
            *_completeness(schema, schema, path, path),
        ]
        causes += structural or _defaults(schema, root)
    yield from causes
    yield from _rules(schema, root, budget, compiles=converts and not causes)
    yield from budget.check(path)


def _checked(schema: Schema, place: _Place) -> Causes:
    """What holds for every schema, those of combinations included."""
    yield from _supported(schema, place)
    for inner, below in _inner(schema, place, with_metadata=True):
        yield from _checked(inner, below)
    for inner, at in _combinations(schema, place.path):
        yield from _checked(inner, _Place(at))


def _rules(schema: Schema, place: _Place, budget: Budget, *, compiles: bool) -> Causes:
    yield from find_faults(
        schema,
        place.path,
        budget,
        place.count,
        root=place.is_root,
        compiles=compiles,
        uncorrelatable=place.uncorrelatable,
    )
    for inner, below in _inner(schema, place, with_metadata=True):
        yield from _rules(inner, below, budget, compiles=compiles)


def _inner(
    schema: Schema, place: _Place, *, with_metadata: bool = False
) -> Iterator[tuple[Schema, _Place]]:
    path = place.path
    own = replace(place, is_root=False, of="object fields")
    for name, each in (schema.get("properties") or {}).items():
        if with_metadata or not (place.is_root and name == "metadata"):
            yield each, replace(own, path=f"{path}.properties[{name}]")
    several = replace(own, count=count_inside(schema, place.count))
    items, others = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, Mapping):
        lost = place.uncorrelatable
        if schema.get(_LIST_TYPE) != "map":
            lost = lost or path
        below = replace(several, path=f"{path}.items", of="array items")
        yield items, replace(below, uncorrelatable=lost)
    if isinstance(others, Mapping):
        yield others, replace(several, path=f"{path}.additionalProperties")


def _combinations(schema: Schema, path: str) -> Iterator[tuple[Schema, str]]:
    """The schemas that a value fits in addition."""
    for name in _SEVERAL:
        for number, each in enumerate(schema.get(name) or ()):
            yield each, f"{path}.{name}[{number}]"
    if schema.get("not"):
        yield schema["not"], f"{path}.not"


def _is_convertible(schema: Schema) -> bool:
    """Whether a schema can be read as a structural one; others are not checked as such."""
    if any(schema.get(name) for name in (*_UNSUPPORTED, "$schema")):
        return False
    if isinstance(schema.get("items"), list) or schema.get(_PRESERVE) is False:
        return False
    inner = (each for each, _ in _inner(schema, _Place(""), with_metadata=True))
    return all(map(_is_convertible, inner)) and all(
        _is_convertible(each) for each, _ in _combinations(schema, "")
    )


def _structural(schema: Schema, place: _Place, budget: Budget) -> Causes:
    """A schema specifies the type of every value, unless it says that anything may be there."""
    yield from _own_faults(schema, place)
    yield from _patterns(schema, place.path, budget)
    if schema.get("anyOf") != _INTEGER_OR_STRING:
        for number, each in enumerate(schema.get("anyOf") or ()):
            yield from _combined(each, f"{place.path}.anyOf[{number}]", budget)
    for number, each in enumerate(schema.get("allOf") or ()):
        if number or each != {"anyOf": _INTEGER_OR_STRING}:
            yield from _combined(each, f"{place.path}.allOf[{number}]", budget)
    for number, each in enumerate(schema.get("oneOf") or ()):
        yield from _combined(each, f"{place.path}.oneOf[{number}]", budget)
    if schema.get("not"):
        yield from _combined(schema["not"], f"{place.path}.not", budget)
    for inner, below in _inner(schema, place):
        yield from _structural(inner, below, budget)


def _own_faults(schema: Schema, place: _Place) -> Causes:
    path, given = place.path, schema.get("type", "")
    embedded = bool(schema.get(_EMBEDDED)) and not place.is_root
    is_free = schema.get(_INT_OR_STRING) or schema.get(_PRESERVE)
    if place.is_root and not given:
        yield required(f"{path}.type", "must not be empty at the root")
    elif place.is_root and given != "object":
        yield invalid(f"{path}.type", given, "must be object at the root")
    elif embedded and given != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        at = f"{path}.type"
        yield invalid(at, given, detail) if given else required(at, detail)
    elif not given and not is_free:
        yield required(f"{path}.type", f"must not be empty for specified {place.of}")
    if given == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    others = schema.get("additionalProperties")
    if place.is_root and others is not None:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if embedded:
        if others is not None:
            detail = "must not be used if x-kubernetes-embedded-resource is set"
            yield forbidden(f"{path}.additionalProperties", detail)
        if not schema.get("properties") and not schema.get(_PRESERVE):
            yield required(f"{path}.properties", _EMPTY_OBJECT)
    if embedded or place.is_root:
        yield from _type_fields(schema, path, is_root=place.is_root)


def _type_fields(schema: Schema, path: str, *, is_root: bool) -> Causes:
    properties = schema.get("properties") or {}
    for name, wanted in _TYPE_FIELDS.items():
        field = properties.get(name)
        if field is None:
            continue
        at = f"{path}.properties[{name}]"
        if field.get("type", "") != wanted:
            yield invalid(f"{at}.type", field.get("type", ""), f"must be {wanted}")
        if is_root and field.get("default") is not None:
            yield forbidden(f"{at}.default", f"must not be set in top-level {name}")
        elif is_root and name == "metadata":
            inner = (field.get("properties") or {}).keys()
            if field.get("type") == wanted and not (
                field.keys() <= _OF_METADATA and inner <= _NAMES
            ):
                yield forbidden(at, _METADATA)


def _supported(schema: Schema, place: _Place) -> Causes:
    """What holds for every schema, those of combinations included."""
    path, given = place.path, schema.get("type", "")
    if given and given not in _TYPES:
        yield not_supported(f"{path}.type", given, _TYPES)
    if given == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        yield forbidden(f"{path}.type", detail)
    if schema.get(_PRESERVE) is False:
        yield invalid(f"{path}.{_PRESERVE}", False, "must be true or undefined")
    if place.is_root and schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    if isinstance(schema.get("additionalProperties"), Mapping) and schema.get("properties"):
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", detail)
    for name in _UNSUPPORTED:
        if schema.get(name):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", detail)
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    yield from _list_type(schema, path)
    kind = schema.get(_MAP_TYPE)
    if kind is not None:
        yield from _needs_type(schema, path, "object", _MAP_TYPE)
        if kind not in _MAP_TYPES:
            yield not_supported(f"{path}.{_MAP_TYPE}", kind, _MAP_TYPES)


def _needs_type(schema: Schema, path: str, wanted: str, reason: str) -> Causes:
    given = schema.get("type", "")
    if given != wanted:
        detail = f"must be {wanted} if {reason} is specified"
        yield invalid(f"{path}.type", given, detail) if given else required(f"{path}.type", detail)


def _list_type(schema: Schema, path: str) -> Causes:
    kind, keys, items = schema.get(_LIST_TYPE), schema.get(_MAP_KEYS) or (), schema.get("items")
    if kind is not None:
        yield from _needs_type(schema, path, "array", _LIST_TYPE)
        if kind not in _LIST_TYPES:
            yield not_supported(f"{path}.{_LIST_TYPE}", kind, _LIST_TYPES)
    if keys and kind != "map":
        at, detail = f"{path}.{_LIST_TYPE}", f"must be map if {_MAP_KEYS} is non-empty"
        yield required(at, detail) if kind is None else invalid(at, kind, detail)
    if kind not in ("map", "set"):
        return
    if kind == "map" and not keys:
        yield required(f"{path}.{_MAP_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if not isinstance(items, Mapping):
        if items is None and kind == "map":
            yield required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
        return
    if items.get("nullable"):
        detail = f"cannot be nullable when {_LIST_TYPE} is {kind}"
        yield forbidden(f"{path}.items.nullable", detail)
    if kind == "map":
        yield from _keys(keys, items, path)
        return
    for shape, name in (("object", _MAP_TYPE), ("array", _LIST_TYPE)):
        inner = items.get(name)
        if items.get("type") == shape and inner != "atomic" and (inner or shape == "object"):
            detail = f"must be atomic as item of a list with {_LIST_TYPE}=set"
            yield invalid(f"{path}.items.{name}", inner, detail)


def _keys(keys: Any, items: Schema, path: str) -> Causes:
    if items.get("type") != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), detail)
        return
    fields = items.get("properties") or {}
    if len(set(keys)) < len(keys):
        yield invalid(f"{path}.{_MAP_KEYS}", list(keys), "must not contain duplicate entries")
    if not fields.keys() >= set(keys):
        detail = "entries must all be names of item properties"
        yield invalid(f"{path}.{_MAP_KEYS}", list(keys), detail)
    for key in dict.fromkeys(keys):
        field = fields.get(key)
        if field is None:
            continue
        at = f"{path}.items.properties[{key}]"
        if field.get("type") in ("object", "array"):
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid(f"{at}.type", field["type"], detail)
        if field.get("default") is None and key not in (items.get("required") or ()):
            yield required(f"{at}.default", _KEY_DEFAULT)
        if field.get("nullable"):
            yield forbidden(f"{at}.nullable", _KEY_NULLABLE)


def _defaults(schema: Schema, place: _Place) -> Causes:
    """Defaults fit their schema, and have no fields that it does not have."""
    if schema.get("default") is not None:
        yield from _default(schema, place)
    for inner, below in _inner(schema, place):
        # those of maps are not looked at
        if not below.path.endswith(".additionalProperties"):
            yield from _defaults(inner, below)


def _default(schema: Schema, place: _Place) -> Causes:
    at, given = f"{place.path}.default", schema["default"]
    if without_unknown(schema, given) != given:
        yield invalid(at, given, "must not have unknown fields")
        return
    if place.is_root:
        needed = (name for name in ("apiVersion", "kind") if name not in given)
        yield from (required(f"{at}.{name}") for name in needed)
    for cause in validate_default(schema, given):
        yield Cause(cause.reason, cause.message, f"{at}.{cause.field}" if cause.field else at)


def _combined(schema: Schema, path: str, budget: Budget) -> Causes:
    """A combination says no more than which values are valid."""
    for name, wanted in _UNSTRUCTURAL.items():
        value = schema.get(name)
        if value or (value is False and name == "additionalProperties"):
            yield forbidden(f"{path}.{name}", f"must be {wanted} to be structural")
    yield from _patterns(schema, path, budget)
    for inner, at in _combinations(schema, path):
        yield from _combined(inner, at, budget)
    for name, each in (schema.get("properties") or {}).items():
        yield from _combined(each, f"{path}.properties[{name}]", budget)
    if isinstance(schema.get("items"), Mapping):
        yield from _combined(schema["items"], f"{path}.items", budget)


def _completeness(schema: Schema, said: Schema, path: str, at: str) -> Causes:
    """What combinations say of fields and items is about those that the schema has."""
    for each, below in _combinations(said, at):
        yield from _complete(schema, each, path, below)


def _complete(schema: Schema, said: Schema, path: str, at: str) -> Causes:
    known = schema.get("properties") or {}
    for name, each in (said.get("properties") or {}).items():
        inner = f"properties[{name}]"
        if name in known:
            yield from _complete(known[name], each, f"{path}.{inner}", f"{at}.{inner}")
        else:
            yield required(f"{path}.{inner}", f"because it is defined in {at}.{inner}")
    if isinstance(said.get("items"), Mapping):
        items = schema.get("items")
        if isinstance(items, Mapping):
            yield from _complete(items, said["items"], f"{path}.items", f"{at}.items")
        else:
            yield required(f"{path}.items", f"because it is defined in {at}.items")
    yield from _completeness(schema, said, path, at)


def _patterns(schema: Schema, path: str, budget: Budget) -> Causes:
    """The pattern of a schema is a regular expression of Go."""
    pattern = schema.get("pattern")
    if pattern and (problem := _problem_of(pattern, budget)):
        reason = f"must be a valid regular expression, but isn't: {problem}"
        yield invalid(f"{path}.pattern", pattern, reason)


def _problem_of(pattern: str, budget: Budget) -> str:
    if budget.spent:
        return ""
    try:
        return regexes.problem_of(pattern)
    except CostExceeded:
        budget.spent = True
        return TOO_LONG
