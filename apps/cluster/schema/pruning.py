"""Decodes a custom resource: drops the fields that its schema does not have, and sets defaults."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]
Body = dict[str, Any]

_TYPE_FIELDS: Final = ("apiVersion", "kind", "metadata")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"


def prune(schema: Schema, body: Body, unknown: list[str]) -> Body:
    """A copy of an object without unknown fields, whose paths are appended to `unknown`.

    `metadata` is left to the caller. Values of a wrong type are kept, for validation to report;
    nulls are dropped where the schema does not permit them.
    """
    kept = {field: body[field] for field in _TYPE_FIELDS if field in body}
    rest = {field: value for field, value in body.items() if field not in _TYPE_FIELDS}
    return {**kept, **_prune(schema, rest, "", unknown)}


def without_unknown(schema: Schema, value: Any) -> Any:
    """A value without the fields that its schema does not have."""
    return _prune(schema, value, "", [])


def _prune(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [
            _prune(items, item, f"{path}[{index}]", unknown) for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    embedded = _TYPE_FIELDS if schema.get("x-kubernetes-embedded-resource") else ()
    kept: Body = {}
    for field, item in value.items():
        at = f"{path}.{field}" if path else field
        if field in properties:
            if item is not None or properties[field].get("nullable"):
                kept[field] = _prune(properties[field], item, at, unknown)
        elif isinstance(others, Mapping):
            if item is not None or others.get("nullable"):
                kept[field] = _prune(others, item, at, unknown)
        elif others or schema.get(_PRESERVE) or field in embedded:
            kept[field] = copy.deepcopy(item)
        else:
            unknown.append(at)
    return kept


def set_defaults(schema: Schema, value: Any) -> None:
    """Set the defaults of a schema in place, in objects that exist."""
    if isinstance(value, list):
        for item in value:
            set_defaults(schema.get("items") or {}, item)
    if not isinstance(value, dict):
        return
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for field, each in properties.items():
        if field not in value and "default" in each:
            value[field] = copy.deepcopy(each["default"])
    for field, item in value.items():
        if field in properties:
            set_defaults(properties[field], item)
        elif isinstance(others, Mapping):
            set_defaults(others, item)
