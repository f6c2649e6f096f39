"""The paths that describe the API itself."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse

from apps.api.kubernetes import component, discovery, media, openapi, probes, resources, usage
from apps.api.kubernetes.errors import UnknownPath, WrongMethod
from apps.api.kubernetes.media import Media
from apps.cluster.models import Cluster

_ROOTS = ("/api", "/apis", "/openapi/v2", "/openapi/v3", "/version")


def answer(request: HttpRequest, cluster: Cluster, path: str, accept: str) -> HttpResponse:
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
        return _group_document(request, cluster, parts == ["api"], accept)
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


def _group_document(
    request: HttpRequest, cluster: Cluster, core: bool, accept: str
) -> HttpResponse:
    wanted = _form(request, accept)
    aggregated = wanted.as_ == "APIGroupDiscoveryList"
    if aggregated:
        document = discovery.aggregated(core, wanted.version)
    else:
        document = discovery.core_versions(request.get_host()) if core else discovery.groups()
    if not core:
        document = usage.extend(document, cluster)
    form = f"g=apidiscovery.k8s.io;v={wanted.version};as=APIGroupDiscoveryList"
    content_type = f"{media.TYPES[wanted.format]};{form}" if aggregated else ""
    return media.response(document, wanted, content_type=content_type)


def _form(request: HttpRequest, accept: str) -> Media:
    pretty = media.is_pretty(request.GET.get("pretty"), request.headers.get("User-Agent", ""))
    return replace(media.negotiate(accept, discovery=True), pretty=pretty)


def _read_only(request: HttpRequest) -> None:
    if request.method != "GET":
        raise WrongMethod
