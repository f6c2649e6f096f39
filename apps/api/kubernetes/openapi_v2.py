"""A document of OpenAPI v2 (Swagger 2.0), from the paths and the definitions of those of v3."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from apps.cluster.schema.definitions import Schema

Body = dict[str, Any]

#: What documents of both versions say of the API.
INFO: Final = {"title": "Kubernetes", "version": "1.36"}
SECURITY: Final = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}
#: Media types in the order of the API server.
_ORDER: Final = (
    "text/plain",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
#: Parameters that stay with their operation, because kubectl looks for them there.
_KEPT: Final = frozenset({("query", "dryRun"), ("query", "fieldValidation"), ("path", "name")})
_SHARED_BODIES: Final = "#/definitions/io.k8s.apimachinery"
_PREFIX: Final = ("#/components/schemas/", "#/definitions/")
_FNV_START: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3


def document(paths: Mapping[str, Body], definitions: Mapping[str, Schema]) -> Body:
    """The document of these paths and definitions."""
    shared: Body = {}
    described = {
        path: {
            method: (
                _parameters(operation, shared)
                if method == "parameters"
                else _operation(operation, shared)
            )
            for method, operation in methods.items()
        }
        for path, methods in sorted(paths.items())
    }
    return {
        "swagger": "2.0",
        "info": INFO,
        "paths": described,
        "definitions": {name: _plain(schema) for name, schema in sorted(definitions.items())},
        "parameters": dict(sorted(shared.items())),
        "securityDefinitions": SECURITY,
        "security": [{"BearerToken": []}],
    }


def _operation(operation: Body, shared: Body) -> Body:
    produces = _ordered(operation["responses"]["200"]["content"])
    body = operation.get("requestBody")
    consumes = ["*/*"]
    is_custom = produces == ["application/json", "application/yaml"]
    if "x-kubernetes-action" not in operation or (is_custom and body is None):
        consumes = produces
    elif body is not None:
        consumes = _ordered(body["content"])
    converted: Body = {
        "description": operation["description"],
        # the keys of issuers are no part of the API
        **({} if "ServiceAccountIssuer" in operation["operationId"] else {"consumes": consumes}),
        "produces": produces,
        "schemes": ["https"],
    }
    left = ("description", "parameters", "requestBody", "responses")
    converted |= {name: value for name, value in operation.items() if name not in left}
    parameters = _parameters(operation.get("parameters", ()), shared)
    if body is not None:
        (schema, *_) = [each["schema"] for each in body["content"].values()]
        required = {"required": True} if body.get("required") else {}
        given = {"name": "body", "in": "body", **required, "schema": _plain(schema)}
        parameters = [_shared(given, shared), *parameters]
    if parameters:
        converted["parameters"] = parameters
    converted["responses"] = {
        code: _response(response) for code, response in operation["responses"].items()
    }
    return converted


def _ordered(media_types: Iterable[str]) -> list[str]:
    return sorted(media_types, key=lambda each: _ORDER.index(each) if each in _ORDER else -1)


def _response(response: Body) -> Body:
    content = [each["schema"] for each in response.get("content", {}).values()]
    if not content:
        return response
    return {"description": response["description"], "schema": _plain(content[0])}


def _parameters(parameters: Iterable[Body], shared: Body) -> list[Body]:
    return [
        _shared(
            {
                "uniqueItems": True,
                "type": each["schema"]["type"],
                "description": each["description"],
                "name": each["name"],
                "in": each["in"],
                **({"required": True} if each.get("required") else {}),
            },
            shared,
        )
        for each in parameters
    ]


def _shared(parameter: Body, shared: Body) -> Body:
    """The parameter, or a reference to it among those of the whole document."""
    schema = parameter.get("schema")
    if (parameter["in"], parameter["name"]) in _KEPT:
        return parameter
    if schema is not None and not str(schema.get("$ref")).startswith(_SHARED_BODIES):
        return parameter
    name = f"{parameter['name']}-{_digest(parameter)}"
    shared[name] = parameter
    return {"$ref": f"#/parameters/{name}"}


def _digest(parameter: Body) -> str:
    """The first bytes of the FNV-1 hash of its JSON, as the API server names parameters."""
    text = msgspec.json.encode(parameter)
    for plain, escaped in ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026")):
        text = text.replace(plain, escaped)
    digest = _FNV_START
    for byte in text:
        digest = digest * _FNV_PRIME % (1 << 64) ^ byte
    return base64.urlsafe_b64encode(digest.to_bytes(8)[:6]).decode()


def _plain(schema: Any) -> Any:
    """A schema of v2, which has neither defaults nor alternatives."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return dict(_plain_parts(schema))


def _plain_parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in schema.items():
        match name:
            case "properties":
                yield name, {field: _plain(each) for field, each in value.items()}
            case "$ref":
                yield name, value.replace(*_PREFIX)
            case "oneOf" | "default":
                continue
            case _:
                yield name, _plain(value)
    if "oneOf" in schema:
        # a quantity, or a number or a text
        yield "type", "string"
