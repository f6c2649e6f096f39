"""Requests that create definitions with schemas of custom resources, most of them wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

from tools.truth.requests import JSON, Body, Step

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
_TEXT: Final = {"type": "string"}
_OBJECT: Final = {"type": "object"}
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_RULES: Final = "x-kubernetes-validations"
_FREE: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_TEXT: Final = "x-kubernetes-int-or-string"
_LIST: Final = "x-kubernetes-list-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP: Final = "x-kubernetes-map-type"
_ITEM: Final = {"type": "object", "required": ["k"], "properties": {"k": _TEXT, "o": _OBJECT}}
#: Schemas of a field.
SCHEMAS: Final[tuple[Body, ...]] = (
    {},
    {"type": "wrong"},
    {"type": "null"},
    {"type": "array"},
    {"type": "array", "items": {}},
    {"type": "array", "items": [_TEXT]},
    {"type": "array", "items": _TEXT, "uniqueItems": True},
    {"type": "array", "items": _TEXT, "additionalItems": True},
    {"type": "array", "items": _TEXT, "minItems": 5, "maxItems": 1},
    {"type": "array", "items": _TEXT, "default": "x"},
    {"type": "array", "items": _TEXT, "default": ["x", 1]},
    {"type": "array", "items": {**_TEXT, "default": "x"}, "default": [None]},
    {**_TEXT, "minLength": -1},
    {**_TEXT, "pattern": "("},
    {**_TEXT, "format": "wrong"},
    {**_TEXT, "format": "date-time", "default": "x"},
    {**_TEXT, "enum": ["a", 1], "default": "b"},
    {**_TEXT, "default": 1},
    {**_TEXT, "default": None},
    {**_TEXT, "nullable": True, "default": None},
    {**_TEXT, "maxLength": 2, "default": "long"},
    {**_TEXT, "properties": {"a": _TEXT}},
    {**_TEXT, "items": _TEXT},
    {**_TEXT, "id": "x", "$schema": "y"},
    {**_TEXT, "$ref": "#/definitions/x"},
    {**_TEXT, "definitions": {"x": _TEXT}},
    {**_TEXT, "dependencies": {"x": ["a"]}},
    {**_TEXT, "patternProperties": {"x": _TEXT}},
    {**_TEXT, "discriminator": "x"},
    {**_TEXT, "example": 1, "externalDocs": {"url": "u"}, "title": "t"},
    {"type": "integer", "minimum": 5, "maximum": 1},
    {"type": "integer", "exclusiveMinimum": True},
    {"type": "integer", "default": 1.5},
    {"type": "integer", "multipleOf": 0},
    {"type": "integer", "format": "int32", "default": 2**40},
    {"type": "number", "default": "1"},
    {"type": "boolean", "default": "true"},
    {**_OBJECT, "additionalProperties": False},
    {**_OBJECT, "additionalProperties": True},
    {**_OBJECT, "additionalProperties": {}},
    {**_OBJECT, "additionalProperties": _TEXT, "properties": {"a": _TEXT}},
    {**_OBJECT, "properties": {"a": {}}},
    {**_OBJECT, "properties": {"a": _TEXT}, "required": ["a", "b", "a"]},
    {**_OBJECT, "properties": {"a": _TEXT}, "default": {"b": 1}},
    {**_OBJECT, "properties": {"a": _TEXT}, "required": ["a"], "default": {}},
    {**_OBJECT, "properties": {"a": {**_TEXT, "default": "x"}}, "required": ["a"], "default": {}},
    {**_OBJECT, "minProperties": 2, "default": {}},
    {**_OBJECT, _FREE: False},
    {**_OBJECT, _FREE: True, "default": {"any": 1}},
    {**_TEXT, _FREE: True},
    {_FREE: True},
    {**_OBJECT, _EMBEDDED: True},
    {**_OBJECT, _EMBEDDED: True, "properties": {}},
    {**_OBJECT, _EMBEDDED: True, _FREE: True},
    {**_OBJECT, _EMBEDDED: True, _FREE: True, "default": {"kind": "X"}},
    {_EMBEDDED: True, _FREE: True},
    {**_TEXT, _EMBEDDED: True},
    {**_OBJECT, _EMBEDDED: True, "additionalProperties": _TEXT},
    {
        **_OBJECT,
        _EMBEDDED: True,
        "properties": {"apiVersion": _OBJECT, "kind": {"type": "integer"}, "metadata": _TEXT},
    },
    {
        **_OBJECT,
        _EMBEDDED: True,
        "properties": {"metadata": {**_OBJECT, "properties": {"name": _TEXT, "x": _TEXT}}},
    },
    {_INT_OR_TEXT: True},
    {_INT_OR_TEXT: True, "type": "string"},
    {_INT_OR_TEXT: True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    {_INT_OR_TEXT: True, "anyOf": [{"type": "string"}, {"type": "integer"}]},
    {_INT_OR_TEXT: True, "anyOf": [{"type": "integer"}, {"type": "string"}], "default": True},
    {_INT_OR_TEXT: True, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]},
    {_INT_OR_TEXT: True, "pattern": "^[0-9]+$", "default": "x"},
    {**_TEXT, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    {**_TEXT, "allOf": [{"pattern": "("}, {"maxLength": -1}]},
    {**_TEXT, "not": {"type": "string"}},
    {
        **_TEXT,
        "oneOf": [{"default": "x"}, {"nullable": True}, {"description": "d"}, {"title": "t"}],
    },
    {**_OBJECT, "anyOf": [{"properties": {"a": _TEXT}}, {"additionalProperties": _TEXT}]},
    {**_OBJECT, "properties": {"a": _TEXT}, "anyOf": [{"properties": {"a": {"pattern": "a"}}}]},
    {**_OBJECT, "anyOf": [{_FREE: True}, {_EMBEDDED: True}, {_INT_OR_TEXT: True}]},
    {**_OBJECT, "anyOf": [{_LIST: "set"}, {_KEYS: ["a"]}, {_MAP: "atomic"}]},
    {**_OBJECT, "anyOf": [{_RULES: [{"rule": "true"}]}]},
    {"type": "array", "items": _TEXT, _LIST: "wrong"},
    {"type": "array", "items": _TEXT, _LIST: "set", "default": ["a", "a"]},
    {"type": "array", "items": {**_TEXT, "nullable": True}, _LIST: "set"},
    {"type": "array", "items": _OBJECT, _LIST: "set"},
    {"type": "array", "items": {**_OBJECT, _MAP: "atomic"}, _LIST: "set"},
    {"type": "array", "items": {"type": "array", "items": _TEXT}, _LIST: "set"},
    {"type": "array", "items": _ITEM, _LIST: "map"},
    {"type": "array", "items": _ITEM, _LIST: "map", _KEYS: []},
    {"type": "array", "items": _ITEM, _LIST: "map", _KEYS: ["k", "k", "x", "o"]},
    {"type": "array", "items": _ITEM, _LIST: "map", _KEYS: ["k"], "default": [{"k": "a"}] * 2},
    {"type": "array", "items": {**_ITEM, "required": []}, _LIST: "map", _KEYS: ["k"]},
    {"type": "array", "items": {**_ITEM, "nullable": True}, _LIST: "map", _KEYS: ["k"]},
    {"type": "array", "items": _TEXT, _LIST: "map", _KEYS: ["k"]},
    {"type": "array", "items": _ITEM, _KEYS: ["k"]},
    {"type": "array", "items": _ITEM, _LIST: "atomic", _KEYS: ["k"]},
    {**_TEXT, _LIST: "set"},
    {**_OBJECT, _MAP: "wrong"},
    {**_TEXT, _MAP: "granular"},
    {**_OBJECT, _MAP: "atomic", "properties": {"a": _TEXT}},
    {**_TEXT, _RULES: []},
    {**_TEXT, _RULES: [{"rule": ""}, {"rule": "self == 1"}]},
    {**_TEXT, _RULES: [{"rule": "true", "message": "a\nb"}]},
    {**_TEXT, _RULES: [{"rule": "true", "message": " ", "reason": "Wrong"}]},
    {
        **_TEXT,
        _RULES: [{"rule": "true\n  && false", "reason": "FieldValueInvalid"}],
    },
    {**_TEXT, _RULES: [{"rule": "true", "fieldPath": ".a"}]},
    {**_TEXT, _RULES: [{"rule": "true", "messageExpression": "1"}]},
    {**_TEXT, _RULES: [{"rule": "true", "optionalOldSelf": True}]},
    {
        "type": "array",
        "items": {**_TEXT, _RULES: [{"rule": "self == oldSelf"}]},
    },
    {_FREE: True, _RULES: [{"rule": "self == 1"}]},
)
#: What the schema of a whole object may say beside its fields.
_ROOTS: Final[tuple[Body, ...]] = (
    {"type": "string"},
    {"nullable": True},
    {"additionalProperties": True},
    {_EMBEDDED: True},
    {_FREE: True},
    {_FREE: False},
    {_INT_OR_TEXT: True},
    {_LIST: "map"},
    {"default": {}},
    {"required": ["spec", "status"]},
    {"anyOf": [{"required": ["spec"]}]},
    {"anyOf": [{"properties": {"other": {"minLength": 1}}}]},
    {"not": {"properties": {"spec": {"properties": {"other": {"minLength": 1}}}}}},
    {"title": "t", "description": "d"},
    {_RULES: [{"rule": "self.metadata.name == 'a'"}]},
)
#: Schemas of fields that every object has.
_METADATA: Final[tuple[Body, ...]] = (
    {"metadata": _OBJECT},
    {"metadata": _TEXT},
    {"metadata": {**_OBJECT, "properties": {"name": {**_TEXT, "maxLength": 3}}}},
    {"metadata": {**_OBJECT, "properties": {"generateName": _TEXT, "name": {"type": "integer"}}}},
    {"metadata": {**_OBJECT, "properties": {"labels": _OBJECT}}},
    {"metadata": {**_OBJECT, "required": ["name"]}},
    {"metadata": {**_OBJECT, "default": {"name": "x"}}},
    {"apiVersion": {**_TEXT, "pattern": "x"}, "kind": {"type": "integer"}},
    {"apiVersion": {**_TEXT, "default": "x"}, "kind": {**_TEXT, "enum": ["X"]}},
)
#: (where in the definition, what takes its place)
_PARTS: Final[tuple[tuple[str, Any], ...]] = (
    ("spec.group", "Bad_Group"),
    ("spec.group", "nodots"),
    ("spec.group", ""),
    ("spec.scope", ""),
    ("spec.names.plural", "Bad"),
    ("spec.names.plural", ""),
    ("spec.names.singular", "Bad_Name"),
    ("spec.names.kind", "bad kind"),
    ("spec.names.kind", ""),
    ("spec.names.listKind", "1List"),
    ("spec.names.listKind", "Thing"),
    ("spec.names.shortNames", ["Bad", "ok", ""]),
    ("spec.names.categories", ["Bad_One", "all"]),
    ("spec.versions", []),
    ("spec.versions", None),
    ("spec.versions.0.name", ""),
    ("spec.versions.0.name", "V1"),
    ("spec.versions.0.name", "1v"),
    ("spec.versions.0.name", "x" * 70),
    ("spec.versions.0.served", False),
    ("spec.versions.0.storage", False),
    ("spec.versions.0.schema", None),
    ("spec.versions.0.schema", {}),
    ("spec.versions.0.deprecationWarning", "w"),
    ("spec.versions.0.deprecated", True),
    ("spec.versions.0.selectableFields", [{"jsonPath": ".spec.f"}]),
    ("spec.versions.0.selectableFields", [{"jsonPath": "spec.f"}, {"jsonPath": ".spec.none"}]),
    ("spec.versions.0.selectableFields", [{"jsonPath": ".metadata.name"}, {"jsonPath": ""}]),
    ("spec.versions.0.selectableFields", [{"jsonPath": ".spec.f"}] * 2),
    ("spec.versions.0.selectableFields", [{"jsonPath": ".spec.list[0]"}, {"jsonPath": ".spec"}]),
    ("spec.versions.0.subresources", {"scale": {}}),
    (
        "spec.versions.0.subresources",
        {"scale": {"specReplicasPath": "spec.n", "statusReplicasPath": ".spec.n"}},
    ),
    (
        "spec.versions.0.subresources",
        {
            "scale": {
                "specReplicasPath": ".status.n",
                "statusReplicasPath": ".status.n[0]",
                "labelSelectorPath": ".metadata.labels",
            }
        },
    ),
    ("spec.versions.0.additionalPrinterColumns", [{"name": "", "type": "x", "jsonPath": "a"}]),
    (
        "spec.versions.0.additionalPrinterColumns",
        [{"name": "A", "type": "string", "jsonPath": ".["}],
    ),
    (
        "spec.versions.0.additionalPrinterColumns",
        [{"name": "A", "type": "integer", "format": "int32", "jsonPath": ".a", "priority": -1}] * 2,
    ),
    ("spec.conversion", {"strategy": "Wrong"}),
    ("spec.conversion", {"strategy": "Webhook"}),
    ("spec.conversion", {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}),
    ("spec.conversion", {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v9"]}}),
    ("spec.preserveUnknownFields", True),
    ("metadata.name", ""),
    ("metadata.name", "other.truth.example.com"),
    ("status", {"storedVersions": ["v0"], "conditions": [], "acceptedNames": {"plural": "x"}}),
)


def definitions(seed: str, number: int) -> Iterator[Step]:
    """A definition for each mistake, and `number` with several of them."""
    for schema in SCHEMAS:
        yield _step(_definition({"f": schema}))
    for root in _ROOTS:
        yield _step(_definition({"f": _TEXT}, root))
    for fields in _METADATA:
        yield _step(_definition({"f": _TEXT}, {}, fields))
    for place, value in _PARTS:
        body = _definition({"f": _TEXT})
        _set(body, place, value)
        yield _step(body)
    dice = random.Random(seed)
    for _ in range(number):
        chosen = dice.sample(SCHEMAS, dice.randint(2, 4))
        schemas = {f"f{index}": schema for index, schema in enumerate(chosen)}
        inside = dice.choice(("properties", "items", "additionalProperties"))
        body = _definition({**schemas, "in": _around(inside, dice.choice(SCHEMAS))})
        if dice.random() < 0.3:
            _set(body, *dice.choice(_PARTS))
        yield _step(body)


def _around(part: str, schema: Body) -> Body:
    if part == "items":
        return {"type": "array", "items": schema}
    return {"type": "object", part: {"a": schema} if part == "properties" else schema}


def _definition(spec: Body, root: Body | None = None, fields: Body | None = None) -> Body:
    properties = {"spec": {"type": "object", "properties": spec}, **(fields or {})}
    schema = {"type": "object", "properties": properties, **(root or {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "odds.truth.example.com"},
        "spec": {
            "group": "truth.example.com",
            "scope": "Namespaced",
            "names": {"plural": "odds", "singular": "odd", "kind": "Odd", "listKind": "OddList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _set(body: Any, place: str, value: Any) -> None:
    *way, last = place.split(".")
    for step in way:
        body = body[int(step)] if isinstance(body, list) else body[step]
    body[last] = value


def _step(body: Body) -> Step:
    return {
        "about": "schemas",
        "kind": "topic",
        "method": "POST",
        "path": _DEFINITIONS,
        "headers": JSON,
        "body": body,
    }
