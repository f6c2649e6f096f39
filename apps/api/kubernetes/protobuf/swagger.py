"""A Swagger 2.0 document as protobuf, in the messages of gnostic (openapi.v2.Document).

client-go asks for `/openapi/v2` in this form alone. Only the messages are here that documents of
Kubernetes need.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec
import yaml
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

#: What clients accept, and what the API server answers: "@" is not allowed in a media type.
ACCEPTED: Final = frozenset(
    f"application/com.github.proto-openapi.spec.v2{mark}v1.0+protobuf" for mark in "@."
)
MEDIA_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_LIMITS: Final = (
    "default 0 Any, maximum 1 double, exclusive_maximum 2 bool, minimum 3 double, "
    "exclusive_minimum 4 bool, max_length 5 int64, min_length 6 int64, pattern 7 string, "
    "max_items 8 int64, min_items 9 int64, unique_items 10 bool, enum 11 *Any, "
    "multiple_of 12 double, vendor_extension 13 *NamedAny"
)


def _limits(first: int) -> str:
    """The fields that parameters end with, from this number on."""
    return re.sub(r" (\d+) ", lambda number: f" {int(number[1]) + first} ", _LIMITS)


#: message -> its fields, "name number type"; "*" = repeated
_MESSAGES: Final = {
    "AdditionalPropertiesItem": "schema 1 Schema, boolean 2 bool",
    "Any": "yaml 2 string",
    "BodyParameter": "description 1 string, name 2 string, in 3 string, required 4 bool, "
    "schema 5 Schema, vendor_extension 6 *NamedAny",
    "Definitions": "additional_properties 1 *NamedSchema",
    "ApiKeySecurity": "type 1 string, name 2 string, in 3 string, description 4 string",
    "Document": "swagger 1 string, info 2 Info, paths 8 Paths, definitions 9 Definitions, "
    "parameters 10 ParameterDefinitions, security 12 *SecurityRequirement, "
    "security_definitions 13 SecurityDefinitions",
    "Info": "title 1 string, version 2 string",
    "ItemsItem": "schema 1 *Schema",
    "JsonReference": "_ref 1 string",
    "NamedAny": "name 1 string, value 2 Any",
    "NamedParameter": "name 1 string, value 2 Parameter",
    "NamedPathItem": "name 1 string, value 2 PathItem",
    "NamedResponseValue": "name 1 string, value 2 ResponseValue",
    "NamedSchema": "name 1 string, value 2 Schema",
    "NamedSecurityDefinitionsItem": "name 1 string, value 2 SecurityDefinitionsItem",
    "NamedStringArray": "name 1 string, value 2 StringArray",
    "NonBodyParameter": "query_parameter_sub_schema 3 QueryParameterSubSchema, "
    "path_parameter_sub_schema 4 PathParameterSubSchema",
    "Operation": "tags 1 *string, description 3 string, operation_id 5 string, "
    "produces 6 *string, consumes 7 *string, parameters 8 *ParametersItem, "
    "responses 9 Responses, schemes 10 *string, vendor_extension 13 *NamedAny",
    "Parameter": "body_parameter 1 BodyParameter, non_body_parameter 2 NonBodyParameter",
    "ParameterDefinitions": "additional_properties 1 *NamedParameter",
    "ParametersItem": "parameter 1 Parameter, json_reference 2 JsonReference",
    "PathItem": "get 2 Operation, put 3 Operation, post 4 Operation, delete 5 Operation, "
    "options 6 Operation, head 7 Operation, patch 8 Operation, parameters 9 *ParametersItem",
    "PathParameterSubSchema": "required 1 bool, in 2 string, description 3 string, "
    "name 4 string, type 5 string, format 6 string, " + _limits(9),
    "Paths": "path 2 *NamedPathItem",
    "Properties": "additional_properties 1 *NamedSchema",
    "QueryParameterSubSchema": "required 1 bool, in 2 string, description 3 string, "
    "name 4 string, type 6 string, format 7 string, " + _limits(10),
    "Response": "description 1 string, schema 2 SchemaItem",
    "ResponseValue": "response 1 Response",
    "Responses": "response_code 1 *NamedResponseValue",
    "Schema": "_ref 1 string, format 2 string, title 3 string, description 4 string, "
    "default 5 Any, multiple_of 6 double, maximum 7 double, exclusive_maximum 8 bool, "
    "minimum 9 double, exclusive_minimum 10 bool, max_length 11 int64, min_length 12 int64, "
    "pattern 13 string, max_items 14 int64, min_items 15 int64, unique_items 16 bool, "
    "max_properties 17 int64, min_properties 18 int64, required 19 *string, enum 20 *Any, "
    "additional_properties 21 AdditionalPropertiesItem, type 22 TypeItem, items 23 ItemsItem, "
    "all_of 24 *Schema, properties 25 Properties, example 30 Any, vendor_extension 31 *NamedAny",
    "SchemaItem": "schema 1 Schema",
    "SecurityDefinitions": "additional_properties 1 *NamedSecurityDefinitionsItem",
    "SecurityDefinitionsItem": "api_key_security 2 ApiKeySecurity",
    "SecurityRequirement": "additional_properties 1 *NamedStringArray",
    "StringArray": "value 1 *string",
    "TypeItem": "value 1 *string",
}
_FIELDS: Final[Mapping[str, Mapping[str, tuple[int, str, bool]]]] = {
    message: {
        name: (int(number), kind.lstrip("*"), kind.startswith("*"))
        for name, number, kind in (each.split(" ") for each in fields.split(", "))
    }
    for message, fields in _MESSAGES.items()
}
_SNAKE: Final = re.compile("(?<=[a-z])(?=[A-Z])")
_PACKAGE: Final = "openapi.v2"


def encode(document: Mapping[str, Any]) -> bytes:
    """The document as a message; what Swagger 2.0 does not have is left out."""
    composed = _document_class()(**_compose("Document", document))
    return composed.SerializeToString(deterministic=True)


def parse(message: bytes) -> Any:
    """The document that a message is, with the fields that are known here."""
    return _document_class().FromString(message)


@cache
def _document_class() -> type[Message]:
    file = FileDescriptorProto(name="openapi_v2.proto", package=_PACKAGE, syntax="proto3")
    for message, fields in _FIELDS.items():
        added = file.message_type.add(name=message)
        for name, (number, kind, repeated) in fields.items():
            label = "REPEATED" if repeated else "OPTIONAL"
            field = added.field.add(name=name, number=number)
            field.label = FieldDescriptorProto.Label.Value(f"LABEL_{label}")
            if kind in _FIELDS:
                field.type = FieldDescriptorProto.TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{kind}"
            else:
                field.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Document"))


def _compose(message: str, value: Any) -> Any:
    """A JSON value as an argument of its message."""
    special = _SPECIAL.get(message)
    return special(value) if special is not None else _compose_fields(message, value)


def _compose_fields(message: str, value: Mapping[str, Any]) -> dict[str, Any]:
    composed: dict[str, Any] = {}
    for key, item in value.items():
        if key.startswith("x-"):
            named = {"name": key, "value": _compose("Any", item)}
            composed.setdefault("vendor_extension", []).append(named)
            continue
        name = "_ref" if key == "$ref" else _SNAKE.sub("_", key).lower()
        field = _FIELDS[message].get(name)
        if field is None:
            continue
        _, kind, repeated = field
        if kind not in _FIELDS:
            composed[name] = item
        elif repeated:
            composed[name] = [_compose(kind, each) for each in item]
        else:
            composed[name] = _compose(kind, item)
    return composed


def _name_all(list_name: str, kind: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A map becomes a list of names and values."""
    return lambda value: {
        list_name: [{"name": name, "value": _compose(kind, item)} for name, item in value.items()]
    }


def _compose_parameter(value: Mapping[str, Any]) -> dict[str, Any]:
    if value["in"] == "body":
        return {"body_parameter": _compose("BodyParameter", value)}
    place = value["in"]
    message = f"{place.capitalize()}ParameterSubSchema"
    inner = {f"{place}_parameter_sub_schema": _compose(message, value)}
    return {"non_body_parameter": inner}


def _compose_parameters_item(value: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in value:
        return {"json_reference": _compose("JsonReference", value)}
    return {"parameter": _compose("Parameter", value)}


def _compose_additional(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolean": value}
    return {"schema": _compose("Schema", value)}


class _Dumper(yaml.CSafeDumper):
    """YAML as the API server writes it."""


def _represent_text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="" if text else '"')


_Dumper.add_representer(str, _represent_text)


@cache
def _yaml(text: bytes) -> str:
    """What is given as JSON in YAML."""
    dumped = yaml.dump(msgspec.json.decode(text), Dumper=_Dumper, allow_unicode=True, width=1 << 30)
    # the end of a document of one value is not marked
    return dumped.removesuffix("...\n")


_SPECIAL: Final[Mapping[str, Callable[[Any], Any]]] = {
    "AdditionalPropertiesItem": _compose_additional,
    "Any": lambda value: {"yaml": _yaml(msgspec.json.encode(value))},
    "Definitions": _name_all("additional_properties", "Schema"),
    "ItemsItem": lambda value: {"schema": [_compose("Schema", value)]},
    "Parameter": _compose_parameter,
    "ParameterDefinitions": _name_all("additional_properties", "Parameter"),
    "ParametersItem": _compose_parameters_item,
    "Paths": _name_all("path", "PathItem"),
    "Properties": _name_all("additional_properties", "Schema"),
    "ResponseValue": lambda value: {"response": _compose("Response", value)},
    "Responses": _name_all("response_code", "ResponseValue"),
    "SchemaItem": lambda value: {"schema": _compose("Schema", value)},
    "SecurityDefinitions": _name_all("additional_properties", "SecurityDefinitionsItem"),
    "SecurityDefinitionsItem": lambda value: {
        "api_key_security": _compose("ApiKeySecurity", value)
    },
    "SecurityRequirement": _name_all("additional_properties", "StringArray"),
    "StringArray": lambda value: {"value": value},
    "TypeItem": lambda value: {"value": [value] if isinstance(value, str) else value},
}
