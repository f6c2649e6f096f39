"""Decodes a body as its kind: drops unknown fields, rejects values of the wrong type.

Every definition is compiled once into a tree of functions, so that decoding a pod takes about 20
µs. As in the API server, null means that the field is absent; so do empty values of most fields.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal

from apps.cluster.schema import times
from apps.cluster.schema.definitions import (
    DEFINITIONS,
    Schema,
    is_custom,
    reference,
    structural,
)
from apps.cluster.schema.go_types import declared_fields, go_type, omitted_fields
from apps.cluster.schema.pruning import prune
from apps.quantity import WRONG_FORMAT, QuantityError, canonical

Body = dict[str, Any]
Form = Literal["struct", "slice", "map", "string", "int", "float", "bool"]

_RESOURCES = "v1.ResourceList"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_JSON_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_INT_LIMITS = {"int32": 1 << 31, "int64": 1 << 63}
_NOT_BASE64 = re.compile("[^A-Za-z0-9+/=]|=(?!=?$)")
_JSON_NAMES = {str: "string", bool: "bool", dict: "object", list: "array"}
_GO_KINDS = {str: "string", bool: "bool", dict: "map", list: "slice", int: "int64"}


class ShapeError(Exception):
    """A value does not have the type of its field; `field` is its path."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(slots=True)
class _Notes:
    """What one reading has found, and how it reads."""

    #: Paths of unknown fields.
    unknown: list[str] = field(default_factory=list)
    #: Whether values that were decoded before are converted, and no JSON is read.
    converts: bool = False


#: (value, its path, what was found so far) -> the decoded value
Reader = Callable[[Any, str, _Notes], Any]


class _Mismatch(Exception):
    """A wrong value, on its way out through the structures around it."""

    def __init__(self, path: str, *, is_final: bool = False) -> None:
        super().__init__()
        self.path = path
        #: Whether nothing is read after it: the type reads its text itself.
        self.is_final = is_final
        #: The innermost structure, and the fields that lead to the value, without indices and keys.
        self.struct = ""
        self.fields: list[str] = []

    def leave(self, struct: str, field: str) -> None:
        self.struct = self.struct or struct
        self.fields.insert(0, field)

    def message(self, *, converts: bool) -> str:
        raise NotImplementedError


class _WrongText(_Mismatch):
    """A text that does not have the form of its type."""

    def __init__(self, path: str, why: str, *, is_final: bool = True) -> None:
        super().__init__(path, is_final=is_final)
        self.why = why

    def message(self, *, converts: bool) -> str:
        return self.why


class _WrongType(_Mismatch):
    """A value of another type."""

    def __init__(
        self, value: Any, path: str, form: Form, wanted: str, *, is_final: bool = False
    ) -> None:
        super().__init__(path, is_final=is_final)
        self.value, self.form, self.wanted = value, form, wanted

    def message(self, *, converts: bool) -> str:
        if converts and not self.is_final:
            return self._conversion()
        place = "value"
        if self.struct and not converts:
            place = f"struct field {self.struct}.{'.'.join(self.fields)}"
        return f"json: cannot unmarshal {self._found()} into Go {place} of type {self.wanted}"

    def _found(self) -> str:
        name = _JSON_NAMES.get(type(self.value))
        if name is None and self.value is not None:
            # the number itself is shown where a number would fit
            name = f"number {self.value}" if self.form == "int" else "number"
        return name or "null"

    def _conversion(self) -> str:
        given, wanted = _GO_KINDS.get(type(self.value), "float64"), self.wanted
        if self.form in ("slice", "map"):
            return f"cannot restore {self.form} from {given}"
        if self.form == "struct":
            return f"cannot restore struct from: {given}"
        numbers = {"int": ("int64", "float64"), "string": ("int64",)}.get(self.form, ())
        if given in numbers:
            return f"cannot convert {given} to {wanted}"
        return f"unrecognized type: {wanted if self.form in ('int', 'float') else self.form}"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body that has the shape of its kind, and the fields that were dropped."""

    body: Body
    #: Paths of the fields that the kind does not have, in the order of the body.
    unknown: list[str]


def decode(definition: str, body: Any) -> Decoded:
    """Read `body` as an object of a definition; ShapeError names the invalid field.

    As Go's decoder does, it reads on after a wrong type. The first one is reported, unless a type
    that reads its text itself refuses a value behind it.
    """
    return _read(definition, body, _Notes())


def convert(definition: str, body: Any) -> Decoded:
    """Read `body` as the API server reads what a strategic merge patch results in.

    The fields are read in the order in which their type declares them, up to the first wrong one;
    the unknown ones are sorted.
    """
    decoded = _read(definition, body, _Notes(converts=True))
    decoded.unknown.sort()
    return decoded


def _read(definition: str, body: Any, notes: _Notes) -> Decoded:
    read = partial(_custom, definition) if is_custom(definition) else _struct(definition)
    try:
        return Decoded(read(body, "", notes), notes.unknown)
    except _Mismatch as mismatch:
        message = mismatch.message(converts=notes.converts)
        raise ShapeError(mismatch.path, message) from None


def _custom(definition: str, body: Any, path: str, notes: _Notes) -> Body:
    """A custom resource: only its metadata has to have the right types here."""
    if type(body) is not dict:
        raise _WrongType(body, path, "struct", "object")
    unknown: list[str] = []
    pruned = prune(structural(definition), body, unknown)
    # the metadata is read first
    if pruned.get("metadata") is not None:
        pruned["metadata"] = _struct(f"{_META}ObjectMeta")(pruned["metadata"], "metadata", notes)
    notes.unknown.extend(sorted(unknown))
    return pruned


@cache
def _struct(definition: str) -> Reader:
    """The reader of one definition; its fields are compiled on first use (they recurse)."""
    _, version, short_name = f".{definition}".rsplit(".", 2)
    readers: dict[str, Reader] = {}
    omitted = omitted_fields(definition)
    declared = declared_fields(definition)

    def read(value: Any, path: str, notes: _Notes) -> Body:
        if type(value) is not dict:
            raise _WrongType(value, path, "struct", f"{version}.{short_name}")
        if not readers:
            properties = DEFINITIONS[definition].get("properties", {})
            for name, schema in properties.items():
                readers[name] = _reader(schema, go_type(definition, name))
        prefix = f"{path}." if path else ""
        kept: Body = {}
        name, first = "", None
        items = iter(_as_declared(value, declared) if notes.converts else value.items())
        while True:
            try:
                for name, item in items:
                    reader = readers.get(name)
                    if reader is None:
                        notes.unknown.append(prefix + name)
                    elif item is not None:
                        value = reader(item, prefix + name, notes)
                        if value or name not in omitted:
                            kept[name] = value
                break
            except _Mismatch as mismatch:
                mismatch.leave(short_name, declared.get(name, name))
                first = _first(first, mismatch, notes)
        if first is not None:
            raise first
        return kept

    return read


def _as_declared(value: Body, declared: Mapping[str, str]) -> Iterable[tuple[str, Any]]:
    """The fields of an object in the order in which its type declares them."""
    yield from ((name, value[name]) for name in declared if name in value)
    yield from ((name, item) for name, item in value.items() if name not in declared)


def _first(first: _Mismatch | None, mismatch: _Mismatch, notes: _Notes) -> _Mismatch:
    """The mismatch to report if reading goes on after this one; raises it if it does not."""
    if mismatch.is_final or notes.converts:
        raise mismatch
    return first or mismatch


def _reader(schema: Schema, named: str = "") -> Reader:
    """`named` is the Go type of the value, if the schema does not tell it."""
    name = reference(schema)
    if name:
        return _SPECIAL.get(name.rpartition(".")[2]) or _struct(name)
    match schema.get("type"):
        case "array":
            item = named.removeprefix("[]") if named.startswith("[]") else ""
            read = _reader(schema["items"], item)
            return _list(read, named or _go_type(schema), _null(schema["items"]))
        case "object" if "additionalProperties" in schema:
            item = named.rpartition("]")[2]
            read = _reader(schema["additionalProperties"], item)
            null = _null(schema["additionalProperties"])
            return _map(read, named or _go_type(schema), null)
        case "integer":
            return _integer(schema.get("format", "int64"))
        case "number":
            return _float
        case "string" if schema.get("format") == "byte":
            return _bytes
        case "string":
            return _text(named or "string")
        case "boolean":
            return _boolean
        case _:
            return _anything


def _go_type(schema: Schema) -> str:
    """The type of a field as messages name it, unless it has a name of its own."""
    if name := reference(schema):
        return ".".join(name.rsplit(".", 2)[1:])
    match schema.get("type"):
        case "array":
            return f"[]{_go_type(schema['items'])}"
        case "object" if "additionalProperties" in schema:
            item = _go_type(schema["additionalProperties"])
            return _RESOURCES if item == "resource.Quantity" else f"map[string]{item}"
        case "string" if schema.get("format") == "byte":
            return "[]uint8"
        case "integer":
            return str(schema.get("format", "int64"))
        case "boolean":
            return "bool"
        case kind:
            return str(kind)


def _null(item: Schema) -> Any:
    """What a null among such items is read as: the zero value of their type, if it has one."""
    name = reference(item)
    if name.endswith(".Quantity"):
        return "0"
    if name and name.rpartition(".")[2] not in _SPECIAL:
        return {}
    return {"string": "", "boolean": False, "integer": 0}.get(item.get("type", ""))


def _list(item: Reader, go_type: str, null: Any) -> Reader:
    def read(value: Any, path: str, notes: _Notes) -> list[Any]:
        if type(value) is not list:
            raise _WrongType(value, path, "slice", go_type)
        decoded: list[Any] = []
        items, first = enumerate(value), None
        while True:
            try:
                for index, entry in items:
                    given = null if entry is None else entry
                    decoded.append(item(given, f"{path}[{index}]", notes))
                break
            except _Mismatch as mismatch:
                first = _first(first, mismatch, notes)
        if first is not None:
            raise first
        return decoded

    return read


def _map(item: Reader, go_type: str, null: Any) -> Reader:
    def read(value: Any, path: str, notes: _Notes) -> Body:
        if type(value) is not dict:
            raise _WrongType(value, path, "map", go_type)
        decoded: Body = {}
        items, first = iter(value.items()), None
        while True:
            try:
                for key, entry in items:
                    decoded[key] = item(null if entry is None else entry, f"{path}.{key}", notes)
                break
            except _Mismatch as mismatch:
                first = _first(first, mismatch, notes)
        if first is not None:
            raise first
        return decoded

    return read


def _integer(width: str) -> Reader:
    limit = _INT_LIMITS.get(width, 1 << 63)

    def read(value: Any, path: str, notes: _Notes) -> int:
        if type(value) is not int or not -limit <= value < limit:
            raise _WrongType(value, path, "int", width)
        return value

    return read


def _float(value: Any, path: str, notes: _Notes) -> float:
    if type(value) not in (int, float):
        raise _WrongType(value, path, "float", "float64")
    number: float = value
    return number


@cache
def _text(go_type: str) -> Reader:
    def read(value: Any, path: str, notes: _Notes) -> str:
        if type(value) is not str:
            raise _WrongType(value, path, "string", go_type)
        return value

    return read


def _bytes(value: Any, path: str, notes: _Notes) -> str:
    """Bytes in base64, of which line breaks are no part, or as a list of numbers."""
    if type(value) is list:
        return base64.b64encode(bytes(_byte(each, path) for each in value)).decode()
    if type(value) is not str:
        raise _WrongType(value, path, "slice", "[]uint8")
    plain = value.replace("\r", "").replace("\n", "")
    wrong = _NOT_BASE64.search(plain)
    end = len(plain.rstrip("=")) if wrong is None else 0
    if wrong is None and len(plain) % 4 == 0 and len(plain) - end <= 2:
        return value
    # Go counts the line breaks, too
    place = wrong.start() if wrong else len(plain) - len(plain) % 4
    why = f"illegal base64 data at input byte {place}"
    raise _WrongText(path, why, is_final=False)


def _byte(value: Any, path: str) -> int:
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value < 256:
        raise _WrongType(value, path, "int", "uint8")
    return value


def _boolean(value: Any, path: str, notes: _Notes) -> bool:
    if type(value) is not bool:
        raise _WrongType(value, path, "bool", "bool")
    return value


def _anything(value: Any, path: str, notes: _Notes) -> Any:
    return value


def _quantity(given: Any, path: str, notes: _Notes) -> Any:
    if type(given) not in (str, int, float):
        raise _WrongText(path, WRONG_FORMAT)
    try:
        return canonical(given)
    except QuantityError as error:
        raise _WrongText(path, str(error)) from error


def _int_or_string(value: Any, path: str, notes: _Notes) -> int | str:
    if type(value) is str or (type(value) is int and -(1 << 31) <= value < 1 << 31):
        return value
    raise _WrongType(value, path, "int", "int32", is_final=True)


def _time(value: Any, path: str, notes: _Notes) -> str:
    if type(value) is not str:
        raise _WrongType(value, path, "string", "string", is_final=True)
    return _read_time(value, path, times.canonical)


def _micro_time(value: Any, path: str, notes: _Notes) -> str:
    if type(value) is not str:
        raise _WrongType(value, path, "string", "string", is_final=True)
    return _read_time(value, path, times.canonical_micro)


def _read_time(value: str, path: str, canonical: Callable[[str], str]) -> str:
    try:
        return canonical(value)
    except ValueError as error:
        raise _WrongText(path, str(error)) from error


def _json_schema(value: Body, path: str) -> Body:
    """A schema that its type reads apart from what is around it: unknown fields are not noted."""
    try:
        read: Body = _struct(_JSON_SCHEMA)(value, path, _Notes())
    except _Mismatch as mismatch:
        mismatch.is_final = True
        raise
    return read


def _json_schema_or_bool(value: Any, path: str, notes: _Notes) -> Any:
    if type(value) is dict:
        return _json_schema(value, path)
    if type(value) is not bool:
        raise _WrongText(path, "boolean or JSON schema expected")
    return value


def _json_schema_or_list(value: Any, path: str, notes: _Notes) -> Any:
    """Whatever is neither is read as nothing."""
    if type(value) is dict:
        return _json_schema(value, path)
    return value if type(value) is list else None


_SPECIAL: Mapping[str, Reader] = {
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "Time": _time,
    "MicroTime": _micro_time,
    "FieldsV1": _anything,
    "RawExtension": _anything,
    "JSON": _anything,
    "JSONSchemaPropsOrArray": _json_schema_or_list,
    "JSONSchemaPropsOrBool": _json_schema_or_bool,
    "JSONSchemaPropsOrStringArray": _json_schema_or_list,
}
