"""The addresses of objects' pages: pods and nodes have their own pages, other kinds share one."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import ResolverMatch, reverse

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster


def object_url(cluster: Cluster, kind: Kind, namespace: str = "", name: str = "") -> str:
    """The address of an object's page; without a name, of the list of its kind."""
    if kind is kinds.POD:
        return _url(cluster, "pod", namespace, name) if name else _url(cluster, "pods")
    if kind is kinds.NODE:
        return _url(cluster, "node", name) if name else _url(cluster, "nodes")
    if not name:
        return _url(cluster, "objects", kind.qualified_plural)
    if kind.namespaced:
        return _url(cluster, "namespaced-object", kind.qualified_plural, namespace, name)
    return _url(cluster, "object", kind.qualified_plural, name)


def past_address(cluster: Cluster, match: ResolverMatch | None) -> str:
    """The page of a deleted cluster's history that answers for another page; "" if none does."""
    page = match.url_name if match is not None else ""
    names = {name: str(value) for name, value in match.kwargs.items()} if match is not None else {}
    match page:
        case "cluster" | "nodes" | "pods":
            return _url(cluster, "decisions")
        case "node":
            return f"{_url(cluster, 'decisions')}?{urlencode({'node': names['name']})}"
        case "object" | "namespaced-object":
            filters = {"namespace": names.get("namespace", ""), "q": names["name"]}
            return f"{_url(cluster, 'changes')}?{urlencode(filters)}"
    return ""


def _url(cluster: Cluster, view: str, *arguments: str) -> str:
    return reverse(view, args=[cluster.name, *arguments])
