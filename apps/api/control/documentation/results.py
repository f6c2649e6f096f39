"""How results describe themselves in the OpenAPI document.

A response may be declared as a dataclass, a named tuple or a Struct: `responses={200: Fitting}`, or
`list[Fitting]`. Its docstring describes the schema; the `#:` comment above a field, or the
docstring of a property, describes the field. `Annotated[str, "uuid"]` is a text of that format.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from django.db.models import Choices
from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import (
    append_meta,
    build_array_type,
    build_object_type,
    get_doc,
    list_hash,
    resolve_type_hint,
)

from apps.answers import find_hint, list_fields, read_comments


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
    """Of an enumeration, its values; of choices, their labels as well."""
    if get_origin(hint) is Literal:
        hint = Literal[tuple(getattr(each, "value", each) for each in get_args(hint))]
    schema: Any = resolve_type_hint(hint)  # type: ignore[no-untyped-call]  # has no types
    if inspect.isclass(hint) and issubclass(hint, Enum) and not issubclass(hint, Choices):
        # by which ENUM_NAME_OVERRIDES finds it
        schema["x-spec-enum-id"] = list_hash([(each.value, each.name) for each in hint])
    return schema


def _read_doc(kind: type) -> str:
    """The docstring of a class, without the signature that a dataclass has instead of one."""
    doc = str(get_doc(kind))
    return "" if doc.startswith(f"{kind.__name__}(") else doc


def _add(schema: Any, comment: str | None) -> Any:
    """The schema with a comment, before the labels of choices."""
    texts = [comment, schema.get("description")]
    text = "\n\n".join(filter(None, texts))
    return append_meta(schema, {"description": text} if text else {})
