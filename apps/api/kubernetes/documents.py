"""The paths that describe the API itself."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from apps.api.kubernetes import discovery, media, openapi
from apps.api.kubernetes.errors import UnknownPath, WrongMethod


def answer(request: HttpRequest, path: str, accept: str) -> HttpResponse:
    """The document at `path`; UnknownPath if there is none."""
    parts = path.removesuffix("/").split("/")
    if parts[:2] == ["openapi", "v3"]:
        _read_only(request)
        return openapi.answer(request, "/".join(parts[2:]))
    if parts in (["api"], ["apis"]):
        _read_only(request)
        return _group_document(request, parts == ["api"], accept)
    document = _document(parts)
    if document is None:
        raise UnknownPath
    _read_only(request)
    return media.response(document, media.negotiate(accept, discovery=True))


def _document(parts: list[str]) -> dict[str, Any] | None:
    match parts:
        case ["version"]:
            return discovery.version()
        case ["api", "v1"]:
            return discovery.resource_list("", "v1")
        case ["apis", group]:
            return discovery.group(group)
        case ["apis", group, version]:
            return discovery.resource_list(group, version)
    return None


def _group_document(request: HttpRequest, core: bool, accept: str) -> HttpResponse:
    wanted = media.negotiate(accept, discovery=True)
    if wanted.as_ == "APIGroupDiscoveryList":
        form = f"g=apidiscovery.k8s.io;v={wanted.version};as=APIGroupDiscoveryList"
        return media.response(
            discovery.aggregated(core, wanted.version),
            wanted,
            content_type=f"application/json;{form}",
        )
    document = discovery.core_versions(request.get_host()) if core else discovery.groups()
    return media.response(document, wanted)


def _read_only(request: HttpRequest) -> None:
    if request.method != "GET":
        raise WrongMethod
