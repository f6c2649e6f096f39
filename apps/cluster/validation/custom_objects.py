"""Validates a custom resource by its schema, in the words of the API server.

Its CEL rules are evaluated by `apps.cluster.validation.custom_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cel import regexes
from apps.cel.effort import CostExceeded, Effort, spend
from apps.cluster.errors import Cause
from apps.cluster.validation.causes import (
    Causes,
    duplicate,
    format_value,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from apps.cluster.validation.formats import has_format

Schema = Mapping[str, Any]

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
#: Fields of a schema that have values, not schemas.
_OF_VALUES: Final = frozenset(("default", "enum", "example"))
#: What a value costs of the effort, and how many values of an enum are compared for one.
_VALUE: Final = 4
_ENUM: Final = 16
_TOO_MUCH: Final = "Forbidden: validating the object by its schema takes too long"
#: The name of the type of a value, and of its format as the validator knows it.
_NAMES: Final = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}
_FORMATS: Final = {int: "int64", float: "float64"}
_INT32: Final = range(-(1 << 31), 1 << 31)
_INT64: Final = range(-(1 << 63), 1 << 63)
#: Fractions above it count as no multiples of anything.
_LARGEST_WHOLE: Final = 2**53 - 1
_LARGEST_FLOAT: Final = 3.4028234663852886e38
#: What has no counterpart in the object before an update.
_ABSENT: Final = object()


def validate_custom(
    schema: Schema, body: Mapping[str, Any], old: Mapping[str, Any] | None = None
) -> Causes:
    """The invalid fields of a custom resource; its metadata is not part of it.

    In an update of `old`, what has not changed may stay invalid.
    """
    needed = [name for name in schema.get("required") or () if name != "metadata"]
    properties = {k: v for k, v in (schema.get("properties") or {}).items() if k != "metadata"}
    root = {**schema, "properties": properties, "required": needed}
    rest, before = _without_metadata(body), _ABSENT if old is None else _without_metadata(old)
    try:
        with Effort().shared():
            causes = [*_validate(root, rest, "", before), *_validate_lists(root, rest, "", before)]
    except (CostExceeded, RecursionError):
        causes = [Cause("FieldValueForbidden", _TOO_MUCH, "")]
    yield from causes


def validate_default(schema: Schema, value: Any) -> Causes:
    """What is wrong with a default; fields begin with the value itself."""
    for cause in _validate(_without_marks(schema), value, ""):
        field = "" if cause.field == "<nil>" else cause.field
        yield Cause(cause.reason, cause.message.replace("<nil>", "", 1), field)


def find_nulls(schema: Schema, value: Any, path: str = "") -> Causes:
    """The nulls in an applied object for fields that have no default and cannot be null."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_nulls(schema.get("items") or {}, item, f"{path}[{index}]")
    if not isinstance(value, Mapping):
        return
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, item in value.items():
        inner = properties.get(name, others)
        if not isinstance(inner, Mapping) or (not path and name == "metadata"):
            continue
        if item is None and not inner.get("nullable") and inner.get("default") is None:
            yield _type_error(_join(path, name), "null", _wanted(inner))
        else:
            yield from find_nulls(inner, item, _join(path, name))


def _wanted(schema: Schema) -> str:
    return "integer,string" if schema.get(_INT_OR_STRING) else str(schema.get("type", ""))


def _without_marks(schema: Any) -> Any:
    """A schema in which values that may be an int or a text have only the types it names."""
    if isinstance(schema, list):
        return [_without_marks(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        name: inner if name in _OF_VALUES else _without_marks(inner)
        for name, inner in schema.items()
        if name != _INT_OR_STRING
    }


def _without_metadata(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "metadata"}


def _validate(schema: Schema, value: Any, path: str, old: Any = _ABSENT) -> Causes:
    """The faults of a value, in the order of kube-openapi's validators."""
    spend(_VALUE + len(schema.get("enum") or ()) // _ENUM)
    if old is not _ABSENT and value == old:
        return
    if value is None and schema.get("nullable"):
        return
    wrong = _wrong_type(schema, value, path)
    if wrong is not None:
        yield wrong
    if value is None:
        return
    yield from _combined(schema, value, path)
    match value:
        case str():
            yield from _string(schema, value, path)
        case int() | float() if not isinstance(value, bool):
            yield from _number(schema, value, path)
        case list():
            yield from _array(schema, value, path, old)
    if schema.get("enum") is not None and value not in schema["enum"]:
        yield not_supported(path, _shown(value), [_plain(each) for each in schema["enum"]])
    if isinstance(value, dict) and wrong is None:
        yield from _object(schema, value, path, old)


def _wrong_type(schema: Schema, value: Any, path: str) -> Cause | None:
    if schema.get(_INT_OR_STRING):
        fits = isinstance(value, str) or _is_whole(value)
        return None if fits else _type_error(path, _name_of(value), "integer,string")
    wanted, formatted = schema.get("type"), schema.get("format", "")
    if not wanted:
        return None
    name = _name_of(value)
    is_number = wanted in ("integer", "number")
    fits = name == wanted or (name == "integer" and is_number)
    fits = fits or (wanted == "integer" and _is_whole(value))
    if formatted and value is not None:
        if isinstance(value, str | list):
            # the format alone is checked, of texts
            if not is_number:
                return None
        elif not fits and (own := _format_of(value)) != formatted:
            return _type_error(path, own, formatted)
    return None if fits else _type_error(path, name, wanted)


def _name_of(value: Any) -> str:
    if value is None:
        return "null"
    # Go reads whole numbers that are too large as any others
    return "number" if _is_large(value) else _NAMES.get(type(value), "array")


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number of 64 bits, however it was written."""
    if isinstance(value, float):
        return value.is_integer() and int(value) in _INT64
    return _name_of(value) == "integer"


def _format_of(value: Any) -> str:
    return "float64" if _is_large(value) else _FORMATS.get(type(value), "")


def _is_large(value: Any) -> bool:
    return type(value) is int and value not in _INT64


def _type_error(path: str, given: str, wanted: str) -> Cause:
    return Cause(
        "FieldValueTypeInvalid",
        f'Invalid value: "{given}": {path or "<nil>"} in body must be of type {wanted}: "{given}"',
        path,
    )


def _object(schema: Schema, value: Mapping[str, Any], path: str, old: Any) -> Causes:
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        yield invalid(path, len(value), f"{path} in body should have at least {least} properties")
        return
    if most is not None and len(value) > most:
        yield too_many(path, len(value), most)
        return
    for name in schema.get("required") or ():
        if name not in value:
            yield required(_join(path, name))
    known = old if isinstance(old, Mapping) else {}
    for name, item in value.items():
        inner = properties.get(name, others)
        if isinstance(inner, Mapping):
            yield from _validate(inner, item, _join(path, name), known.get(name, _ABSENT))
    if schema.get("x-kubernetes-embedded-resource"):
        for name in ("apiVersion", "kind"):
            if not value.get(name):
                yield required(_join(path, name))


def _array(schema: Schema, value: list[Any], path: str, old: Any) -> Causes:
    inner = schema.get("items") or {}
    before = _counterparts(schema, old)
    for index, item in enumerate(value):
        known = before.get(_key_of(schema, item), _ABSENT) if before else _ABSENT
        yield from _validate(inner, item, f"{path}[{index}]", known)
    most, least = schema.get("maxItems"), schema.get("minItems")
    if least is not None and len(value) < least:
        yield invalid(path, len(value), f"{path} in body should have at least {least} items")
    if most is not None and len(value) > most:
        yield too_many(path, len(value), most)


def _counterparts(schema: Schema, old: Any) -> dict[str, Any]:
    """The items of a list before an update, by the keys that tell them apart."""
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {_key_of(schema, item): item for item in old}


def _key_of(schema: Schema, item: Any) -> str:
    if not isinstance(item, Mapping):
        return ""
    names = schema.get("x-kubernetes-list-map-keys") or ()
    return format_value({name: item[name] for name in names if name in item})


def _validate_lists(schema: Schema, value: Any, path: str, old: Any) -> Causes:
    """Lists of the types set and map have unique items."""
    if (old is not _ABSENT and value == old) or not isinstance(value, dict | list):
        return
    if isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        known = old if isinstance(old, Mapping) else {}
        for name, item in value.items():
            inner = properties.get(name, others)
            if isinstance(inner, Mapping):
                yield from _validate_lists(inner, item, _join(path, name), known.get(name, _ABSENT))
        return
    yield from _duplicates(schema, value, path)
    if isinstance(schema.get("items"), Mapping):
        before = _counterparts(schema, old)
        for index, item in enumerate(value):
            known_item = before.get(_key_of(schema, item), _ABSENT) if before else _ABSENT
            yield from _validate_lists(schema["items"], item, f"{path}[{index}]", known_item)


def _duplicates(schema: Schema, value: list[Any], path: str) -> Causes:
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
    yield from _text(schema, value, path)
    wanted = schema.get("format", "")
    if not has_format(wanted, value):
        shown = format_value(value)
        reason = f"Invalid value: {shown}: {path} in body must be of type {wanted}: {shown}"
        yield Cause("FieldValueTypeInvalid", reason, path)


def _text(schema: Schema, value: str, path: str) -> Causes:
    """The first fault of length and pattern: the others are not looked for."""
    most, least = schema.get("maxLength"), schema.get("minLength")
    pattern = schema.get("pattern")
    if most is not None and len(value) > most:
        yield too_long(path, most)
    elif least is not None and len(value) < least:
        yield invalid(path, value, f"{path} in body should be at least {least} chars long")
    elif pattern and not _matches(pattern, value):
        yield invalid(path, value, f"{path} in body should match '{pattern}'")


def _matches(pattern: str, value: str) -> bool:
    """Whether the value matches; True for an invalid pattern, which old definitions may have."""
    return regexes.matches(value, pattern) is not False


def _number(schema: Schema, value: float, path: str) -> Causes:
    if not _is_in_range(schema, value):
        kind, formatted = schema.get("type", "number"), schema.get("format", "")
        with_format = f"with format {formatted}" if formatted else "(default format)"
        text = f"Checked value must be of type {kind} {with_format} in {path}"
        yield _unplaced(text)
    factor = _bound(schema.get("multipleOf"), value)
    if factor == 0:
        yield invalid(path, 0, f"factor MultipleOf declared for {path} must be positive: 0")
    elif factor and (value % factor or abs(_as_float(value)) / factor > _LARGEST_WHOLE):
        yield invalid(path, _shown(value), f"{path} in body should be a multiple of {factor}")
    high, low = _bound(schema.get("maximum"), value), _bound(schema.get("minimum"), value)
    if high is not None and (value > high or (schema.get("exclusiveMaximum") and value == high)):
        sign = "less than" + ("" if schema.get("exclusiveMaximum") else " or equal to")
        yield invalid(path, _shown(value), f"{path} in body should be {sign} {high}")
    if low is not None and (value < low or (schema.get("exclusiveMinimum") and value == low)):
        sign = "greater than" + ("" if schema.get("exclusiveMinimum") else " or equal to")
        yield invalid(path, _shown(value), f"{path} in body should be {sign} {low}")


def _bound(bound: float | None, value: float) -> float | None:
    """A bound in the type of the value: a whole number is compared with whole numbers."""
    is_whole = isinstance(value, int) and not _is_large(value)
    return int(bound) if is_whole and bound is not None else bound


def _as_float(value: Any) -> float:
    """A number that is read as a fraction; 0 for one that is read as a whole number."""
    return float(value) if isinstance(value, float) or _is_large(value) else 0.0


def _shown(value: Any) -> Any:
    """A number in a message: 1e+20 is one, a whole number of that size is not."""
    return float(value) if _is_large(value) else value


def _is_in_range(schema: Schema, value: float) -> bool:
    if schema.get("type") == "integer":
        whole = int(value) if value == value and abs(value) != float("inf") else 0
        return whole == value and whole in (_INT32 if schema.get("format") == "int32" else _INT64)
    if schema.get("format") in ("float", "float32"):
        return abs(value) <= _LARGEST_FLOAT
    return True


def _combined(schema: Schema, value: Any, path: str) -> Causes:
    yield from _any_of(schema.get("anyOf"), value, path)
    yield from _one_of(schema.get("oneOf"), value, path)
    all_of = schema.get("allOf") or ()
    faults = [list(_validate(each, value, path)) for each in all_of]
    yield from (cause for causes in faults for cause in causes)
    if any(faults):
        none = ". None validated" if all(faults) else ""
        yield _unplaced(f'"{path}" must validate all the schemas (allOf){none}')
    if schema.get("not") and _fits(schema["not"], value, path):
        yield _unplaced(f'"{path}" must not validate the schema (not)')


def _any_of(schemas: list[Schema] | None, value: Any, path: str) -> Causes:
    faults = [list(_validate(each, value, path)) for each in schemas or ()]
    if faults and all(faults):
        yield _unplaced(f'"{path}" must validate at least one schema (anyOf)')
        yield from faults[0]


def _one_of(schemas: list[Schema] | None, value: Any, path: str) -> Causes:
    faults = [list(_validate(each, value, path)) for each in schemas or ()]
    fitting = faults.count([])
    if not faults or fitting == 1:
        return
    count = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
    yield _unplaced(f'"{path}" must validate one and only one schema (oneOf). {count}')
    if not fitting:
        yield from faults[0]


def _unplaced(text: str) -> Cause:
    """A fault for which the validator names no field."""
    return Cause("FieldValueInvalid", f'Invalid value: "": {text}', "<nil>")


def _fits(schema: Schema, value: Any, path: str) -> bool:
    return next(iter(_validate(schema, value, path)), None) is None


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else format_value(value)
