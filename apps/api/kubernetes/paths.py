"""Parses a path below /k8s/{cluster}/ as the object or collection that it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apps.api.kubernetes import resources
from apps.api.kubernetes.resources import Resource


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names. `namespace` is None for all namespaces and for cluster-scoped kinds."""

    resource: Resource
    namespace: str | None
    name: str = ""
    subresource: str = ""
    #: The deprecated paths below `watch/`.
    watch: bool = False


#: (group, version, plural) -> the resource; None if there is none
Find = Callable[[str, str, str], Resource | None]


def parse(path: str, find: Find = resources.find) -> Target | None:
    """The target of a path like `api/v1/namespaces/default/pods/p1/status`; None if unknown.

    `find` finds the resource; by default only those that every cluster has.
    """
    if "\x00" in path:
        return None
    # as the routes of the API server: with a slash at the end, too
    match path.removesuffix("/").split("/"):
        case ["api", "v1", "watch", *rest]:
            return _parse_resource("", "v1", rest, find, watch=True)
        case ["api", "v1", *rest]:
            return _parse_resource("", "v1", rest, find)
        case ["apis", group, version, "watch", *rest] if group:
            return _parse_resource(group, version, rest, find, watch=True)
        case ["apis", group, version, *rest] if group:
            return _parse_resource(group, version, rest, find)
    return None


def _parse_resource(
    group: str, version: str, rest: list[str], find: Find, *, watch: bool = False
) -> Target | None:
    namespace: str | None = None
    if rest[:1] == ["namespaces"] and len(rest) >= 3 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    if rest[2:3] == ["proxy"]:
        # what follows is a path of the pod, service or node
        rest = rest[:3]
    if not rest or "" in (namespace, *rest):
        return None
    if (group, rest) == ("", ["bindings"]) and namespace is not None and not watch:
        pods = resources.find("", "v1", "pods")
        return Target(pods, namespace, subresource="binding") if pods else None
    resource = find(group, version, rest[0])
    if resource is None or len(rest) > 3:
        return None
    if (namespace is not None) > resource.namespaced:
        return None
    if resource.namespaced and namespace is None and len(rest) > 1:
        return None
    name, subresource = (*rest[1:], "", "")[:2]
    if subresource and (watch or resource.subresource(subresource) is None):
        return None
    return Target(resource, namespace, name, subresource, watch)
