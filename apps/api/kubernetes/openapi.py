"""OpenAPI: v3 with its index and a document for each group and version, and v2 in one document.

kubectl reads there whether the server validates fields (the parameter fieldValidation of PATCH),
how lists merge, and the descriptions for `kubectl explain`.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import parse_etags

from apps.api.kubernetes import openapi_paths, resources
from apps.api.kubernetes.discovery import Custom, group_versions
from apps.api.kubernetes.errors import NoPage
from apps.api.kubernetes.protobuf import swagger
from apps.api.kubernetes.resources import Resource
from apps.api.kubernetes.streaming import accepts_gzip
from apps.cluster.schema.definitions import DEFINITIONS, Schema, published, reference

Body = dict[str, Any]

_INFO: Final = {"title": "Kubernetes", "version": "1.36"}
#: Of a group and version that has custom resources alone.
_CUSTOM_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_SECURITY: Final = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}
_DELETE_OPTIONS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


def answer(request: HttpRequest, path: str, custom: Custom) -> HttpResponse:
    """The index, or the document at `path` (`api/v1`, `apis/apps/v1`)."""
    if not path:
        root = request.path.removesuffix("/")
        index = {
            place: {"serverRelativeURL": f"{root}/{place}?hash={_document(place, custom)[1]}"}
            for place in _places(custom)
        }
        return HttpResponse(
            msgspec.json.encode({"paths": index}), content_type="text/plain; charset=utf-8"
        )
    if path not in _places(custom):
        raise NoPage
    text, digest = _document(path, custom)
    if request.GET.get("hash") not in (None, digest):
        return HttpResponseRedirect(f"{request.path}?hash={digest}")
    if _is_known(request, digest):
        return _not_modified({"ETag": f'"{digest}"'})
    return HttpResponse(text, content_type="application/json", headers={"ETag": f'"{digest}"'})


def answer_v2(request: HttpRequest, custom: Custom) -> HttpResponse:
    """The whole API as one Swagger 2.0 document, for clients that do not read v3."""
    as_protobuf = _wants_protobuf(request.headers.get("Accept", ""))
    text, digest = (_swagger_message if as_protobuf else _swagger)(custom)
    headers = {"ETag": f'"{digest}"', "Vary": "Accept, Accept-Encoding"}
    if _is_known(request, digest):
        return _not_modified(headers)
    content_type = swagger.MEDIA_TYPE if as_protobuf else "application/json"
    if accepts_gzip(request.headers.get("Accept-Encoding", "")):
        text = _compressed(text)
        headers["Content-Encoding"] = "gzip"
    return HttpResponse(text, content_type=content_type, headers=headers)


def _is_known(request: HttpRequest, digest: str) -> bool:
    """Whether the client has this version of a document."""
    tags = parse_etags(request.headers.get("If-None-Match", ""))
    return not {"*", f'"{digest}"'}.isdisjoint(tag.removeprefix("W/") for tag in tags)


def _not_modified(headers: dict[str, str]) -> HttpResponse:
    response = HttpResponse(status=304, headers=headers)
    del response.headers["Content-Type"]
    return response


@lru_cache(maxsize=16)
def _compressed(document: bytes) -> bytes:
    return gzip.compress(document, mtime=0)


def _wants_protobuf(accept: str) -> bool:
    """Whether the first form that can be sent is protobuf."""
    for clause in accept.split(","):
        media_type = clause.partition(";")[0].strip()
        if media_type in swagger.ACCEPTED:
            return True
        if media_type in ("application/json", "application/*", "*/*"):
            return False
    return False


def document_paths(custom: Custom) -> list[str]:
    """The paths of all documents of v3."""
    return [f"/openapi/v3/{place}" for place in _places(custom)]


@lru_cache(maxsize=16)
def _swagger(custom: Custom) -> tuple[bytes, str]:
    definitions: dict[str, Schema] = {}
    paths: Body = {}
    for place, (group, version) in _places(custom).items():
        for resource in resources.in_group_version(group, version, custom):
            _describe(resource, definitions)
            paths |= openapi_paths.paths(f"/{place}", resource)
    document = {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.2"},
        "paths": {
            path: {
                method: (
                    _swagger_parameters(operation)
                    if method == "parameters"
                    else _swagger_operation(operation)
                )
                for method, operation in methods.items()
            }
            for path, methods in sorted(paths.items())
        },
        "definitions": {
            name: _without_defaults(schema) for name, schema in sorted(definitions.items())
        },
    }
    text = msgspec.json.encode(document).replace(b"#/components/schemas/", b"#/definitions/")
    return text, hashlib.sha256(text).hexdigest().upper()


@lru_cache(maxsize=16)
def _swagger_message(custom: Custom) -> tuple[bytes, str]:
    message = swagger.encode(msgspec.json.decode(_swagger(custom)[0]))
    return message, hashlib.sha256(message).hexdigest().upper()


def _swagger_operation(operation: Body) -> Body:
    """An operation of v3 in the form of v2."""
    converted = {name: value for name, value in operation.items() if name != "requestBody"}
    converted["responses"] = {
        code: _swagger_response(response) for code, response in operation["responses"].items()
    }
    converted["produces"] = list(operation["responses"]["200"]["content"])
    parameters = _swagger_parameters(operation.get("parameters", ()))
    body = operation.get("requestBody")
    if body is not None:
        converted["consumes"] = list(body["content"])
        (schema, *others) = [each["schema"] for each in body["content"].values()]
        given = {"name": "body", "in": "body", "schema": {"type": "object"} if others else schema}
        parameters.append({**given, **({"required": True} if body.get("required") else {})})
    if parameters:
        converted["parameters"] = parameters
    return converted


def _swagger_response(response: Body) -> Body:
    content = [each["schema"] for each in response.get("content", {}).values()]
    if not content:
        return response
    # v2 has no alternatives
    schema = content[0].get("anyOf", [content[0]])[0]
    return {"description": response["description"], "schema": schema}


def _swagger_parameters(parameters: Iterable[Body]) -> list[Body]:
    return [
        {**{name: value for name, value in each.items() if name != "schema"}, **each["schema"]}
        for each in parameters
    ]


@lru_cache(maxsize=64)
def _places(custom: Custom) -> dict[str, tuple[str, str]]:
    return {
        f"apis/{group}/{version}" if group else f"api/{version}": (group, version)
        for group, version in group_versions(custom)
    }


@lru_cache(maxsize=512)
def _document(place: str, custom: Custom) -> tuple[bytes, str]:
    """The document of a group and version as JSON text, and its hash."""
    group, version = _places(custom)[place]
    served = resources.in_group_version(group, version, custom)
    paths: Body = {}
    schemas: dict[str, Schema] = {}
    for resource in served:
        paths |= openapi_paths.paths(f"/{place}", resource)
        _describe(resource, schemas)
    if not group:
        paths |= openapi_paths.bindings_path(f"/{place}")
    info = _CUSTOM_INFO
    if any(each.custom is None for each in served):
        info = _INFO
        paths |= openapi_paths.resources_path(f"/{place}", group, version)
    for name in (_DELETE_OPTIONS, openapi_paths.WATCH_EVENT):
        if name in schemas:
            groups = dict.fromkeys((("", "v1"), (group, version)))
            kind = name.rpartition(".")[2]
            served_as = [{"group": g, "kind": kind, "version": v} for g, v in groups]
            schemas[name] = {**schemas[name], openapi_paths.GVK: served_as}
    components = {
        "schemas": {name: _wrapped(schema) for name, schema in sorted(schemas.items())},
        "securitySchemes": _SECURITY,
    }
    is_custom = all(each.custom is not None for each in served)
    info = {**_INFO, "title": "Kubernetes CRD Swagger"} if is_custom else _INFO
    text = msgspec.json.encode(
        {"openapi": "3.0.0", "info": info, "paths": paths, "components": components}
    )
    return text, hashlib.sha256(text).hexdigest().upper()


def _wrapped(schema: Any) -> Any:
    """A schema in which a reference has nothing beside it, as v3 demands."""
    if isinstance(schema, list):
        return [_wrapped(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _wrapped(value) for name, value in schema.items()}
    if reference(schema) and len(schema) > 1:
        plain["allOf"] = [{"$ref": plain.pop("$ref")}]
    return plain


def _without_defaults(schema: Any) -> Any:
    """A schema of v2, which has no defaults; a field may have this name."""
    if isinstance(schema, list):
        return [_without_defaults(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {field: _without_defaults(each) for field, each in value.items()}
        if name == "properties"
        else _without_defaults(value)
        for name, value in schema.items()
        if name != "default"
    }


def _describe(resource: Resource, definitions: dict[str, Schema]) -> None:
    """Add the definitions that the operations of a resource refer to."""
    for name in openapi_paths.referenced(resource):
        _collect(name, definitions)
    if "list" in resource.verbs:
        name = openapi_paths.list_name(resource)
        if name in DEFINITIONS:
            _collect(name, definitions)
        else:
            definitions[name] = openapi_paths.list_definition(resource)


def _collect(name: str, definitions: dict[str, Schema]) -> None:
    """Add a definition and all definitions that it refers to."""
    if name in definitions:
        return
    definitions[name] = published(name)
    pending: list[Any] = [definitions[name]]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if target := reference(value):
                _collect(target, definitions)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
