"""What a request does, for the decision whether its user may do it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from django.http import QueryDict

from apps.api.kubernetes import params
from apps.api.kubernetes.paths import Target
from apps.cluster.access.questions import Access
from apps.cluster.validation.names import path_segment

_VERBS: Final = {
    ("GET", True): "get",
    ("GET", False): "list",
    ("POST", True): "create",
    ("POST", False): "create",
    ("PUT", True): "update",
    ("PUT", False): "update",
    ("PATCH", True): "patch",
    ("PATCH", False): "patch",
    ("DELETE", True): "delete",
    ("DELETE", False): "deletecollection",
}
#: What may follow the name of a namespace without naming a resource in it.
_OF_NAMESPACES: Final = ("status", "finalize")
_BY_NAME: Final = "metadata.name"


def access_of(target: Target, method: str, query: QueryDict) -> Access:
    """What a request for an object or a collection does."""
    resource = target.resource
    access = Access(
        _VERBS.get((method, bool(target.name)), method.lower()),
        resource.group,
        resource.version,
        resource.plural,
        target.subresource,
        target.namespace or "",
        target.name,
    )
    return _completed(access, query, watches=target.watch)


def access_of_path(path: str, method: str, query: QueryDict) -> Access:
    """What a request for any path does: to a resource, known or not, if it has the form of one."""
    match path.split("/"):
        case ["api", version, first, *rest] if first:
            group, parts = "", [first, *rest]
        case ["apis", group, version, first, *rest] if first:
            parts = [first, *rest]
        case _:
            return Access(method.lower(), path=f"/{path}")
    watches = parts[0] == "watch" and len(parts) > 1
    parts = parts[watches:]
    namespace = parts[1] if parts[0] == "namespaces" and len(parts) > 1 else ""
    if namespace and len(parts) > 2 and parts[2] not in _OF_NAMESPACES:
        parts = parts[2:]
    resource, name, subresource = (*parts, "", "")[:3]
    verb = _VERBS.get((method, bool(name)), method.lower())
    access = Access(verb, group, version, resource, subresource, namespace, name)
    return _completed(access, query, watches=watches)


def _completed(access: Access, query: QueryDict, *, watches: bool) -> Access:
    """With what the query says, and with a namespace as what it itself is in."""
    if (access.group, access.resource) == ("", "namespaces") and access.name:
        access = replace(access, namespace=access.name)
    if watches or (access.verb == "list" and params.flag(query, "watch")):
        access = replace(access, verb="watch")
    if access.verb in ("list", "watch") and not access.name and "fieldSelector" in query:
        access = replace(access, name=_name_in(query.get("fieldSelector") or ""))
    return access


def _name_in(selector: str) -> str:
    """The name that a field selector requires; "" if it requires none."""
    for term in selector.split(","):
        path, equals, name = term.replace("==", "=").partition("=")
        if equals and path == _BY_NAME and not path_segment(name):
            return name
    return ""
