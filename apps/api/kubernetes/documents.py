"""The paths that describe the API itself."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse

from apps.api.kubernetes import component, discovery, media, openapi, probes, resources
from apps.api.kubernetes.errors import UnknownPath, WrongMethod
from apps.api.kubernetes.media import Media

_ROOTS = ("/api", "/apis", "/openapi/v2", "/openapi/v3", "/version")


def answer(request: HttpRequest, path: str, accept: str) -> HttpResponse:
    """The document at `path`; UnknownPath if there is none."""
    parts = path.removesuffix("/").split("/")
    if parts[:2] == ["openapi", "v3"]:
        _read_only(request)
        return openapi.answer(request, "/".join(parts[2:]))
    if parts == ["openapi", "v2"]:
        _read_only(request)
        return openapi.answer_v2(request)
    if parts in (["api"], ["apis"]):
        _read_only(request)
        return _group_document(request, parts == ["api"], accept)
    document = _document(parts)
    if document is None:
        raise UnknownPath
    _read_only(request)
    form = _form(request, accept)
    # what has no type is no object: always JSON
    return media.response(document, form if "kind" in document else replace(form, format="json"))


def _document(parts: list[str]) -> dict[str, Any] | None:
    match parts:
        case [""]:
            return {"paths": _all_paths()}
        case ["version"]:
            return discovery.version()
        case ["api", "v1"]:
            return discovery.resource_list("", "v1")
        case ["apis", group]:
            return discovery.group(group)
        case ["apis", group, version]:
            return discovery.resource_list(group, version)
    return None


@cache
def _all_paths() -> list[str]:
    """The paths that describe the API, and those of the groups and versions."""
    versions = [f"/apis/{g}/{v}" if g else f"/api/{v}" for g, v in resources.GROUP_VERSIONS]
    groups = {f"/apis/{group}" for group, _ in resources.GROUP_VERSIONS if group}
    probes_ = [
        path
        for probe, checks in probes.PROBES.items()
        for path in (f"/{probe}", *(f"/{probe}/{check}" for check in checks))
    ]
    described = [*component.PATHS, *openapi.document_paths(), *probes_, *versions, *groups]
    return sorted({*_ROOTS, *described})


def _group_document(request: HttpRequest, core: bool, accept: str) -> HttpResponse:
    wanted = _form(request, accept)
    if wanted.as_ == "APIGroupDiscoveryList":
        form = f"g=apidiscovery.k8s.io;v={wanted.version};as=APIGroupDiscoveryList"
        return media.response(
            discovery.aggregated(core, wanted.version),
            wanted,
            content_type=f"{media.TYPES[wanted.format]};{form}",
        )
    document = discovery.core_versions(request.get_host()) if core else discovery.groups()
    return media.response(document, wanted)


def _form(request: HttpRequest, accept: str) -> Media:
    pretty = media.is_pretty(request.GET.get("pretty"), request.headers.get("User-Agent", ""))
    return replace(media.negotiate(accept, discovery=True), pretty=pretty)


def _read_only(request: HttpRequest) -> None:
    if request.method != "GET":
        raise WrongMethod
