"""The group metrics.k8s.io: what nodes and pods use now, as a metrics-server serves it.

The group is there while the cluster's mock kubelets run, because they measure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.api.kubernetes import media, tables
from apps.api.kubernetes.errors import UnknownPath, WrongMethod
from apps.api.kubernetes.resources import Resource
from apps.cluster import kinds, models, queries
from apps.cluster.errors import NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.queries import Selection
from apps.controllers.usage.sampling import (
    NOTHING,
    WINDOW_SECONDS,
    Usage,
    Window,
    is_measured,
    latest_window,
    node_usage,
    pod_usage,
)

Body = dict[str, Any]

GROUP: Final = "metrics.k8s.io"
_VERSION: Final = "v1beta1"
_GROUP_VERSION: Final = f"{GROUP}/{_VERSION}"
_VERBS: Final = ("get", "list")
_SERVED: Final[Mapping[str, tuple[Kind, str]]] = {
    "nodes": (kinds.NODE, "NodeMetrics"),
    "pods": (kinds.POD, "PodMetrics"),
}
_RESOURCES: Final = tuple(
    Resource(
        Kind(
            name,
            plural,
            models.KubernetesObject,  # type: ignore[type-abstract]
            group=GROUP,
            version=_VERSION,
            namespaced=kind.namespaced,
        ),
        GROUP,
        _VERSION,
        verbs=_VERBS,
        reads_rows=False,
    )
    for plural, (kind, name) in _SERVED.items()
)
_WINDOW: Final = f"{WINDOW_SECONDS}s"
_COLUMNS: Final = ("Name", "cpu", "memory", "Window")


def answer(request: HttpRequest, cluster: Cluster, path: str, accept: str) -> HttpResponse | None:
    """The document or the metrics at `path`; None for paths of other groups."""
    parts = path.removesuffix("/").split("/")
    if parts[:2] != ["apis", GROUP]:
        return None
    if not is_measured(cluster):
        raise UnknownPath
    document = _document(parts[2:])
    wanted = None if document else _target(parts[2:])
    if document is None and wanted is None:
        raise UnknownPath
    if request.method != "GET" or "watch" in request.GET:
        raise WrongMethod
    if document is not None or wanted is None:
        return media.response(document, media.negotiate(accept, discovery=True))
    return _metrics(request, cluster, accept, *wanted)


def resources_of(cluster: Cluster) -> tuple[Resource, ...]:
    """The metrics that a cluster has, as resources to describe."""
    return _RESOURCES if is_measured(cluster) else ()


def extend(document: Body, cluster: Cluster) -> Body:
    """The list of all groups, in either form, with this one if the cluster has it."""
    if not is_measured(cluster):
        return document
    if document["kind"] == "APIGroupList":
        return {**document, "groups": [*document["groups"], _group()]}
    return {**document, "items": [*document["items"], _aggregated_group()]}


def _group() -> Body:
    version = {"groupVersion": _GROUP_VERSION, "version": _VERSION}
    return {"name": GROUP, "versions": [version], "preferredVersion": version}


def _aggregated_group() -> Body:
    rows = [
        {
            "resource": plural,
            "responseKind": {"group": GROUP, "version": _VERSION, "kind": name},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "singularResource": "",
            "verbs": list(_VERBS),
        }
        for plural, (kind, name) in _SERVED.items()
    ]
    version = {"version": _VERSION, "resources": rows, "freshness": "Current"}
    return {"metadata": {"name": GROUP}, "versions": [version]}


def _document(parts: list[str]) -> Body | None:
    """What describes the group."""
    if not parts:
        return {"kind": "APIGroup", "apiVersion": "v1", **_group()}
    if parts != [_VERSION]:
        return None
    rows = [
        {
            "name": plural,
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": name,
            "verbs": list(_VERBS),
        }
        for plural, (kind, name) in _SERVED.items()
    ]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": _GROUP_VERSION,
        "resources": rows,
    }


def _target(parts: list[str]) -> tuple[str, str | None, str] | None:
    """Plural, namespace (None: all) and name ("": all) of a path below the group."""
    match parts:
        case [version, "nodes" | "pods" as plural] if version == _VERSION:
            return plural, None, ""
        case [version, "nodes", name] if version == _VERSION:
            return "nodes", None, name
        case [version, "namespaces", namespace, "pods"] if version == _VERSION:
            return "pods", namespace, ""
        case [version, "namespaces", namespace, "pods", name] if version == _VERSION:
            return "pods", namespace, name
    return None


def _metrics(
    request: HttpRequest,
    cluster: Cluster,
    accept: str,
    plural: str,
    namespace: str | None,
    name: str,
) -> HttpResponse:
    kind, metrics_kind = _SERVED[plural]
    if name:
        objects = [queries.get(cluster, kind, namespace or "", name)]
    else:
        query = request.GET
        selection = Selection(
            namespace=namespace,
            labels=query.get("labelSelector", ""),
            fields=query.get("fieldSelector", ""),
        )
        objects = queries.list_objects(cluster, kind, selection).items
    window = latest_window(cluster)
    items = (
        _node_items(cluster, objects, window) if plural == "nodes" else _pod_items(objects, window)
    )
    if name and not items:
        raise NotFound(plural, name, GROUP)
    pretty = media.is_pretty(request.GET.get("pretty"), request.headers.get("User-Agent", ""))
    form = replace(media.negotiate(accept, protobuf=False), pretty=pretty)
    return media.response(_rendered(items, metrics_kind, form, single=bool(name)), form)


def _rendered(items: list[Body], kind: str, form: media.Media, *, single: bool) -> Body:
    if form.as_ == "Table":
        return _table(items, form.version)
    if form.as_ == "PartialObjectMetadata" and single:
        return tables.partial(items[0], form.version)
    if form.as_ == "PartialObjectMetadataList" and not single:
        partial = [tables.partial(item, form.version) for item in items]
        typed = {"kind": form.as_, "apiVersion": f"meta.k8s.io/{form.version}"}
        return {**typed, "metadata": {}, "items": partial}
    typed = {"kind": kind, "apiVersion": _GROUP_VERSION}
    if single:
        return {**typed, **items[0]}
    return {**typed, "kind": f"{kind}List", "metadata": {}, "items": items}


def _node_items(cluster: Cluster, nodes: list[Body], window: Window) -> list[Body]:
    on_node: dict[str, list[Body]] = defaultdict(list)
    fields = "status.phase=Running"
    if len(nodes) == 1:
        fields += f",spec.nodeName={nodes[0]['metadata']['name']}"
    for pod in queries.list_objects(cluster, kinds.POD, Selection(fields=fields)).items:
        on_node[pod["spec"].get("nodeName", "")].append(pod)
    pairs = ((node, node_usage(node, on_node[node["metadata"]["name"]], window)) for node in nodes)
    return [
        {**_head(node, window), "usage": _quantities(usage)}
        for node, usage in pairs
        if usage is not None
    ]


def _pod_items(pods: list[Body], window: Window) -> list[Body]:
    pairs = ((pod, pod_usage(pod, window)) for pod in pods)
    return [
        {
            **_head(pod, window),
            "containers": [
                {"name": name, "usage": _quantities(usage)} for name, usage in containers.items()
            ],
        }
        for pod, containers in pairs
        if containers
    ]


def _head(body: Body, window: Window) -> Body:
    """The metadata of the metrics of an object, and their time."""
    time = window.end.strftime("%Y-%m-%dT%H:%M:%SZ")
    shown = {name: body["metadata"].get(name) for name in ("name", "namespace", "labels")}
    metadata = {name: value for name, value in shown.items() if value}
    metadata["creationTimestamp"] = time
    return {"metadata": metadata, "timestamp": time, "window": _WINDOW}


def _quantities(usage: Usage) -> Body:
    return {"cpu": f"{usage.cpu}n", "memory": f"{usage.memory // 1024}Ki"}


def _table(items: list[Body], version: str) -> Body:
    columns = [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": 0,
        }
        for name in _COLUMNS
    ]
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {},
        "columnDefinitions": columns,
        "rows": [_row(item, version) for item in items],
    }


def _row(item: Body, version: str) -> Body:
    usage = _quantities(_total(item))
    cells = [item["metadata"]["name"], usage["cpu"], usage["memory"], item["window"]]
    return {"cells": cells, "object": tables.partial(item, version)}


def _total(item: Body) -> Usage:
    listed = [item] if "usage" in item else item["containers"]
    total = NOTHING
    for each in listed:
        cpu, memory = each["usage"]["cpu"], each["usage"]["memory"]
        total += Usage(int(cpu[:-1]), int(memory[:-2]) * 1024)
    return total
