"""OpenAPI: v3 with its index and a document for each group and version, and v2 in one document.

kubectl reads there whether the server validates fields (the parameter fieldValidation of PATCH),
how lists merge, and the descriptions for `kubectl explain`.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import lru_cache
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import parse_etags

from apps.api.kubernetes import (
    openapi_custom,
    openapi_paths,
    openapi_roots,
    openapi_v2,
    resources,
)
from apps.api.kubernetes.discovery import Custom, group_versions
from apps.api.kubernetes.errors import NoPage
from apps.api.kubernetes.openapi_v2 import INFO, SECURITY
from apps.api.kubernetes.protobuf import swagger
from apps.api.kubernetes.resources import Resource
from apps.api.kubernetes.streaming import accepts_gzip
from apps.cluster.schema.definitions import DEFINITIONS, Schema, reference

Body = dict[str, Any]

#: Of a group and version that has custom resources alone.
_CUSTOM_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_DELETE_OPTIONS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


def answer(request: HttpRequest, path: str, custom: Custom) -> HttpResponse:
    """The index, or the document at `path` (`api/v1`, `apis/apps/v1`)."""
    if not path:
        root = request.path.removesuffix("/")
        index = {
            place: {"serverRelativeURL": f"{root}/{place}?hash={_document_at(place, custom)[1]}"}
            for place in _all_places(custom)
        }
        return HttpResponse(
            msgspec.json.encode({"paths": index}), content_type="text/plain; charset=utf-8"
        )
    if path not in _all_places(custom):
        raise NoPage
    text, digest = _document_at(path, custom)
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
    return [f"/openapi/v3/{place}" for place in _all_places(custom)]


@lru_cache(maxsize=16)
def _swagger(custom: Custom) -> tuple[bytes, str]:
    definitions: dict[str, Schema] = {}
    paths: Body = {}
    for place in _all_places(custom):
        described, schemas = _described_at(place, custom)
        paths |= described
        definitions |= schemas
    for resource in custom:
        if resource.custom is not None:
            for name, schema in openapi_custom.definitions(resource):
                definitions[name] = openapi_custom.reduced(schema)
    text = msgspec.json.encode(openapi_v2.document(paths, definitions))
    return text, hashlib.sha256(text).hexdigest().upper()


@lru_cache(maxsize=16)
def _swagger_message(custom: Custom) -> tuple[bytes, str]:
    message = swagger.encode(msgspec.json.decode(_swagger(custom)[0]))
    return message, hashlib.sha256(message).hexdigest().upper()


@lru_cache(maxsize=64)
def _places(custom: Custom) -> dict[str, tuple[str, str]]:
    return {
        f"apis/{group}/{version}" if group else f"api/{version}": (group, version)
        for group, version in group_versions(custom)
    }


@lru_cache(maxsize=64)
def _all_places(custom: Custom) -> tuple[str, ...]:
    """What has a document of its own: also groups, and what every server answers."""
    versions = _places(custom)
    groups = {
        place.rpartition("/")[0]
        for place in versions
        if place.startswith("apis/") and not _is_custom(place, custom)
    }
    return tuple(sorted({*versions, *groups, *openapi_roots.PLACES}))


def _document_at(place: str, custom: Custom) -> tuple[bytes, str]:
    """The document at a place as JSON text, and its hash.

    Clusters with different definitions share those of all other places.
    """
    return _document(place, tuple(r for r in custom if f"apis/{r.group}/{r.version}" == place))


@lru_cache(maxsize=256)
def _document(place: str, custom: Custom) -> tuple[bytes, str]:
    paths, definitions = _described_at(place, custom)
    group, version = _places(custom).get(place, ("", ""))
    is_custom = _is_custom(place, custom)
    if is_custom:
        definitions[_DELETE_OPTIONS] = openapi_custom.delete_options()
    for name in (_DELETE_OPTIONS, openapi_paths.WATCH_EVENT):
        if name in definitions and not is_custom:
            groups = dict.fromkeys((("", "v1"), (group, version)))
            kind = name.rpartition(".")[2]
            served_as = [{"group": g, "kind": kind, "version": v} for g, v in groups]
            definitions[name] = {**definitions[name], openapi_paths.GVK: served_as}
    schemas = {name: _wrapped(schema) for name, schema in sorted(definitions.items())}
    components: Body = {"schemas": schemas} if schemas else {}
    if not is_custom:
        components["securitySchemes"] = SECURITY
    info = _CUSTOM_INFO if is_custom else INFO
    text = msgspec.json.encode(
        {"openapi": "3.0.0", "info": info, "paths": paths, "components": components}
    )
    return text, hashlib.sha256(text).hexdigest().upper()


def _described_at(place: str, custom: Custom) -> tuple[Body, dict[str, Schema]]:
    """The paths of a document, and the definitions that they refer to."""
    paths: Body = {}
    schemas: dict[str, Schema] = {}
    for resource in _served_at(place, custom):
        paths |= openapi_paths.paths(f"/{place}", resource)
        _describe(resource, schemas)
    if place == "api/v1":
        paths |= openapi_paths.bindings_path("/api/v1")
    if not _is_custom(place, custom):
        paths |= openapi_roots.path_of(place)
        name = openapi_roots.definition_at(place)
        if name:
            _collect(name, schemas)
    return paths, schemas


def _served_at(place: str, custom: Custom) -> list[Resource]:
    group_version = _places(custom).get(place)
    return [] if group_version is None else resources.in_group_version(*group_version, custom)


def _is_custom(place: str, custom: Custom) -> bool:
    """Whether a place is a group and version that has custom resources alone."""
    served = _served_at(place, custom)
    return bool(served) and all(each.custom is not None for each in served)


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


def _describe(resource: Resource, definitions: dict[str, Schema]) -> None:
    """Add the definitions that the operations of a resource refer to."""
    for name in openapi_paths.referenced(resource):
        if name in DEFINITIONS:
            _collect(name, definitions)
    if resource.custom is not None:
        for name, schema in openapi_custom.definitions(resource):
            definitions[name] = schema
            _collect_referenced(schema, definitions)
    elif "list" in resource.verbs:
        _collect(openapi_paths.list_name(resource), definitions)


def _collect(name: str, definitions: dict[str, Schema]) -> None:
    """Add a definition and all definitions that it refers to."""
    if name not in definitions:
        definitions[name] = DEFINITIONS[name]
        _collect_referenced(definitions[name], definitions)


def _collect_referenced(schema: Schema, definitions: dict[str, Schema]) -> None:
    pending: list[Any] = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            target = reference(value)
            if target and target in DEFINITIONS:
                _collect(target, definitions)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
