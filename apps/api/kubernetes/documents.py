"""The paths that describe the API itself."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse

from apps.api.kubernetes import component, discovery, media, openapi, probes, usage
from apps.api.kubernetes.custom import resources_of
from apps.api.kubernetes.discovery import Custom
from apps.api.kubernetes.errors import WrongMethod
from apps.api.kubernetes.media import Media
from apps.cluster.models import Cluster

_ROOTS = ("/api", "/apis", "/openapi/v2", "/openapi/v3", "/version")


def answer(request: HttpRequest, cluster: Cluster, path: str, accept: str) -> HttpResponse:
    """The document at `path`; a 404 if there is none."""
    parts = path.removesuffix("/").split("/")
    if parts[0] not in ("", "apis", "openapi", "api", "version"):
        raise discovery.unknown_path(path)
    custom = resources_of(cluster)
    described = (*custom, *usage.resources_of(cluster))
    if parts[:2] == ["openapi", "v3"]:
        _read_only(request)
        return openapi.answer(request, "/".join(parts[2:]), described)
    if parts == ["openapi", "v2"]:
        _read_only(request)
        return openapi.answer_v2(request, described)
    if parts in (["api"], ["apis"]):
        _read_only(request)
        return _group_document(request, cluster, parts == ["api"], accept, custom)
    document = {"paths": _all_paths(described)} if parts == [""] else _document(parts, custom)
    if document is None:
        raise discovery.unknown_path(path)
    _read_only(request)
    form = _form(request, accept)
    if "kind" not in document:
        # what has no type is no object: always JSON, for people
        form = replace(form, format="json", pretty=True)
    return media.response(document, form)


def _document(parts: list[str], custom: Custom) -> dict[str, Any] | None:
    match parts:
        case ["version"]:
            return discovery.version()
        case ["api", "v1"]:
            return discovery.resource_list("", "v1")
        case ["apis", group]:
            return discovery.group(group, custom)
        case ["apis", group, version]:
            return discovery.resource_list(group, version, custom)
    return None


@lru_cache(maxsize=64)
def _all_paths(custom: Custom) -> list[str]:
    """The paths that describe the API, and those of the groups and versions."""
    versions = [f"/apis/{g}/{v}" if g else f"/api/{v}" for g, v in discovery.group_versions(custom)]
    groups = {f"/apis/{group}" for group, _ in discovery.group_versions(custom) if group}
    probes_ = [
        path
        for probe, checks in probes.PROBES.items()
        for path in (f"/{probe}", *(f"/{probe}/{check}" for check in checks))
    ]
    described = [*component.PATHS, *openapi.document_paths(custom), *probes_, *versions, *groups]
    return sorted({*_ROOTS, *described})


def _group_document(
    request: HttpRequest, cluster: Cluster, core: bool, accept: str, custom: Custom
) -> HttpResponse:
    wanted = _form(request, accept)
    aggregated = wanted.as_ == "APIGroupDiscoveryList"
    if aggregated:
        document = discovery.aggregated(core, wanted.version, custom)
    else:
        document = discovery.core_versions(request.get_host()) if core else discovery.groups(custom)
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
