"""Validates a custom resource by its schema, in the words of the API server.

Its CEL rules are evaluated by `apps.cluster.validation.custom_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from apps.cel import regexes
from apps.cel.effort import CostExceeded, Effort, spend
from apps.cluster.custom.formats import has_format
from apps.cluster.errors import Cause
from apps.cluster.validation.causes import (
    Causes,
    duplicate,
    format_value,
    invalid,
    not_supported,
    required,
)

Schema = Mapping[str, Any]

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
#: What a value costs of the effort, and how many values of an enum are compared for one.
_VALUE: Final = 4
_ENUM: Final = 16
_TOO_MUCH: Final = "Forbidden: validating the object by its schema takes too long"
_NAMES: Final = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}


def validate_custom(schema: Schema, body: Mapping[str, Any]) -> Causes:
    """The invalid fields of a custom resource; its metadata is not part of it."""
    rest = {name: value for name, value in body.items() if name != "metadata"}
    needed = [name for name in schema.get("required") or () if name != "metadata"]
    properties = {k: v for k, v in (schema.get("properties") or {}).items() if k != "metadata"}
    try:
        with Effort().shared():
            found = list(
                _validate({**schema, "properties": properties, "required": needed}, rest, "")
            )
    except (CostExceeded, RecursionError):
        found = [Cause("FieldValueForbidden", _TOO_MUCH, "")]
    yield from found


def _validate(schema: Schema, value: Any, path: str) -> Causes:
    spend(_VALUE + len(schema.get("enum") or ()) // _ENUM)
    if value is None and schema.get("nullable"):
        return
    wrong = _wrong_type(schema, value, path)
    if wrong is not None:
        yield wrong
        return
    if schema.get("enum") is not None and value not in schema["enum"]:
        yield not_supported(path, value, [_plain(each) for each in schema["enum"]])
    match value:
        case dict():
            yield from _object(schema, value, path)
        case list():
            yield from _array(schema, value, path)
        case str():
            yield from _string(schema, value, path)
        case int() | float() if not isinstance(value, bool):
            yield from _number(schema, value, path)
    yield from _combined(schema, value, path)


def _wrong_type(schema: Schema, value: Any, path: str) -> Cause | None:
    if schema.get(_INT_OR_STRING):
        fits = _TYPES["integer"](value) or isinstance(value, str)
        return None if fits else _type_error(path, value, "integer,string")
    wanted = schema.get("type")
    if not wanted or wanted not in _TYPES or _TYPES[wanted](value):
        return None
    return _type_error(path, value, wanted)


def _type_error(path: str, value: Any, wanted: str) -> Cause:
    found = "null" if value is None else _NAMES.get(type(value), "array")
    return Cause(
        "FieldValueTypeInvalid",
        f'Invalid value: "{found}": {path or "<nil>"} in body must be of type {wanted}: "{found}"',
        path,
    )


def _object(schema: Schema, value: Mapping[str, Any], path: str) -> Causes:
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for name in schema.get("required") or ():
        if name not in value:
            yield required(_join(path, name))
    for name, item in value.items():
        if name in properties:
            yield from _validate(properties[name], item, _join(path, name))
        elif isinstance(others, Mapping):
            yield from _validate(others, item, _join(path, name))
    for field, count, compare, word in (
        ("minProperties", len(value), int.__lt__, "at least"),
        ("maxProperties", len(value), int.__gt__, "at most"),
    ):
        if schema.get(field) is not None and compare(count, schema[field]):
            detail = f"{path} in body should have {word} {schema[field]} properties"
            yield invalid(path, count, detail)


def _array(schema: Schema, value: list[Any], path: str) -> Causes:
    most, least = schema.get("maxItems"), schema.get("minItems")
    if most is not None and len(value) > most:
        reason = f"Too many: {len(value)}: must have at most {most} items"
        yield Cause("FieldValueTooMany", reason, path)
    if least is not None and len(value) < least:
        yield invalid(path, len(value), f"{path} in body should have at least {least} items")
    for index, item in enumerate(value):
        yield from _validate(schema.get("items") or {}, item, f"{path}[{index}]")
    yield from _duplicates(schema, value, path)


def _duplicates(schema: Schema, value: list[Any], path: str) -> Causes:
    """Lists of the types set and map have unique items."""
    list_type = schema.get("x-kubernetes-list-type")
    names = schema.get("x-kubernetes-list-map-keys") or ()
    seen: set[str] = set()
    for index, item in enumerate(value):
        if list_type == "set":
            shown = item
        elif list_type == "map" and isinstance(item, dict):
            shown = {name: item[name] for name in names if name in item}
        else:
            continue
        key = format_value(shown)
        if key in seen:
            yield duplicate(f"{path}[{index}]", shown)
        seen.add(key)


def _string(schema: Schema, value: str, path: str) -> Causes:
    most, least = schema.get("maxLength"), schema.get("minLength")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", path)
    if least is not None and len(value) < least:
        unit = "char" if least == 1 else "chars"
        yield invalid(path, value, f"{path} in body should be at least {least} {unit} long")
    pattern = schema.get("pattern")
    if pattern and not _matches(pattern, value):
        yield invalid(path, value, f"{path} in body should match '{pattern}'")
    wanted = schema.get("format", "")
    if not has_format(wanted, value):
        shown = format_value(value)
        reason = f"Invalid value: {shown}: {path} in body must be of type {wanted}: {shown}"
        yield Cause("FieldValueTypeInvalid", reason, path)


def _matches(pattern: str, value: str) -> bool:
    """Whether the value matches; True for an invalid pattern, which old definitions may have."""
    return regexes.matches(value, pattern) is not False


def _number(schema: Schema, value: float, path: str) -> Causes:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and (value < low or (schema.get("exclusiveMinimum") and value == low)):
        sign = "greater than" + ("" if schema.get("exclusiveMinimum") else " or equal to")
        yield invalid(path, value, f"{path} in body should be {sign} {low}")
    if high is not None and (value > high or (schema.get("exclusiveMaximum") and value == high)):
        sign = "less than" + ("" if schema.get("exclusiveMaximum") else " or equal to")
        yield invalid(path, value, f"{path} in body should be {sign} {high}")
    factor = schema.get("multipleOf")
    if factor and value % factor:
        yield invalid(path, value, f"{path} in body should be a multiple of {factor}")


def _combined(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    for each in schema.get("allOf") or ():
        yield from _validate(each, value, path)
    if schema.get(_INT_OR_STRING):
        return
    any_of, one_of = schema.get("anyOf"), schema.get("oneOf")
    if any_of and not any(_fits(each, value, path) for each in any_of):
        yield _no_match(value, path, "must validate at least one schema (anyOf)")
    if one_of and sum(_fits(each, value, path) for each in one_of) != 1:
        yield _no_match(value, path, "must validate one and only one schema (oneOf)")
    if schema.get("not") and _fits(schema["not"], value, path):
        yield _no_match(value, path, "must not validate the schema (not)")


def _no_match(value: Any, path: str, rule: str) -> Cause:
    text = f'Invalid value: {format_value(value)}: "{path}" {rule}'
    return Cause("FieldValueInvalid", text, path)


def _fits(schema: Schema, value: Any, path: str) -> bool:
    return next(iter(_validate(schema, value, path)), None) is None


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else format_value(value)
