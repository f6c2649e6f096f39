"""How results describe themselves in the OpenAPI document.

A response may be declared as a dataclass, a named tuple or a Struct: `responses={200: Fitting}`, or
`list[Fitting]`. Its docstring describes the schema; the `#:` comment above a field, or the
docstring of a property, describes the field. `Annotated[str, "uuid"]` is a text of that format.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

import numpy as np
from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import (
    append_meta,
    build_array_type,
    build_object_type,
    get_doc,
    resolve_type_hint,
)

from apps.answers import find_hint, list_fields

_FIELD: Final = re.compile(r"(\w+):")


class ResultSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # has no types
    """The schema of a result, under the name of its class."""

    @classmethod
    def _matches(cls, target: Any) -> bool:
        return bool(list_fields(target))

    def get_name(self, auto_schema: AutoSchema, direction: Any) -> str:
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> Any:
        names, comments = list_fields(self.target), read_comments(self.target)
        properties = {
            name: _add(describe(find_hint(self.target, name), auto_schema), comments.get(name))
            for name in names
        }
        return build_object_type(properties, required=names, description=_read_doc(self.target))


class ResultFieldSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The schema of a result that is a field of a serializer."""

    target_class = "apps.api.control.answers.ResultField"

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> Any:
        return describe(self.target.kind, auto_schema)


def describe(hint: Any, auto_schema: AutoSchema) -> Any:
    """The schema of a value of this type; results are components, and all others stand in place."""
    origin, given = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        (inner,) = (each for each in given if each is not NoneType)
        return append_meta(describe(inner, auto_schema), {"nullable": True})
    if origin is Annotated:
        return {**describe(given[0], auto_schema), "format": given[1]}
    if origin in (Any, object):
        return {}
    if list_fields(origin):
        return auto_schema.resolve_serializer(origin, "response").ref
    if not inspect.isclass(origin) or issubclass(origin, str):
        return _describe_value(hint)
    if issubclass(origin, np.ndarray):
        return build_array_type({"type": "number" if "float" in str(hint) else "integer"})
    if issubclass(origin, Mapping):
        values = describe(given[1], auto_schema) if given else {}
        return {"type": "object", "additionalProperties": values}
    if issubclass(origin, Iterable):
        return build_array_type(describe(given[0], auto_schema) if given else {})
    return _describe_value(hint)


def _describe_value(hint: Any) -> Any:
    """Of an enumeration, the values alone: their names say nothing else."""
    schema: Any = resolve_type_hint(hint)  # type: ignore[no-untyped-call]  # has no types
    schema.pop("description", None)
    return schema


def _read_doc(kind: type) -> str:
    """The docstring of a class, without the signature that a dataclass has instead of one."""
    found = str(get_doc(kind))
    return "" if found.startswith(f"{kind.__name__}(") else found


def _add(schema: Any, comment: str | None) -> Any:
    return append_meta(schema, {"description": comment} if comment else {})


@cache
def read_comments(kind: type) -> dict[str, str]:
    """Field -> the `#:` comment above it or the docstring of the property, as a sentence."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("apps."):
            found |= _read_own_comments(base)
    for name in list_fields(kind):
        member = inspect.getattr_static(kind, name, None)
        if isinstance(member, (property, cached_property)) and member.__doc__:
            found[name] = _write_sentence(" ".join(member.__doc__.split()))
    return found


def _read_own_comments(kind: type) -> dict[str, str]:
    found: dict[str, str] = {}
    above: list[str] = []
    for line in map(str.strip, inspect.getsource(kind).splitlines()):
        if line.startswith("#:"):
            above.append(line.removeprefix("#:").strip())
            continue
        if above and (field := _FIELD.match(line)):
            found[field[1]] = _write_sentence(" ".join(above))
        above = []
    return found


def _write_sentence(comment: str) -> str:
    """A comment as the documentation of the API has it: JSON says null for None."""
    text = re.sub(r"\bNone\b", "null", comment)
    return f"{text[0].upper()}{text[1:]}{'' if text[-1] in '.…' else '.'}"
