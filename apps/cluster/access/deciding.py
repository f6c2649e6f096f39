"""Decides who may do what in a cluster. Roles and RBAC objects, once they count, count here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.models import User

from apps.cluster.access.identity import AUTHENTICATED, MASTERS, Identity, service_account_groups
from apps.cluster.errors import Forbidden, qualified

Body = dict[str, Any]

#: What every authenticated user may do, as in a cluster with the default roles: ask about
#: themselves, and read what describes the API.
_SELF_REVIEWS: Final = {
    "authentication.k8s.io": ("selfsubjectreviews",),
    "authorization.k8s.io": ("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
}
_PUBLIC_PATHS: Final = (
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
)


@dataclass(frozen=True, slots=True)
class Access:
    """What a request does: a verb on a resource, or, with `path`, on an address without one."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something is allowed, and why; the reason may be empty."""

    allowed: bool
    reason: str = ""


def decide(identity: Identity, access: Access) -> Verdict:
    """Whether a user may do something in any one cluster."""
    if MASTERS in identity.groups:
        return Verdict(True, f'members of the group "{MASTERS}" may do everything')
    if reason := _administration(identity):
        return Verdict(True, reason)
    if AUTHENTICATED in identity.groups and _is_for_everyone(access):
        return Verdict(True, "every authenticated user may do this")
    return Verdict(False)


def require(identity: Identity, access: Access) -> None:
    """Raise Forbidden unless the user may do it."""
    verdict = decide(identity, access)
    if not verdict.allowed:
        raise refusal(identity, access, verdict.reason)


def refusal(identity: Identity, access: Access, reason: str = "") -> Forbidden:
    """The error for something that the user may not do, in the words of the API server."""
    message = f'User "{identity.name}" cannot {access.verb} '
    if access.path:
        message += f'path "{access.path}"'
        subject, details = "", {}
    else:
        resource = "/".join(filter(None, (access.resource, access.subresource)))
        place = f'in the namespace "{access.namespace}"' if access.namespace else ""
        message += (
            f'resource "{resource}" in API group "{access.group}" {place or "at the cluster scope"}'
        )
        subject = qualified(access.resource, access.group)
        named = {"name": access.name, "group": access.group, "kind": access.resource}
        details = {key: value for key, value in named.items() if value}
    lead = " ".join(filter(None, (subject, f'"{access.name}"' if access.name else "")))
    text = f"{lead} is forbidden: {message}" if lead else f"forbidden: {message}"
    return Forbidden(f"{text}: {reason}" if reason else text, details=details)


def rules_of(identity: Identity) -> tuple[list[Body], list[Body]]:
    """What a user may do in a namespace: the resource rules and the non-resource rules."""
    if MASTERS in identity.groups or _administration(identity):
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        return [everything, *_self_rules()], [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
    if AUTHENTICATED not in identity.groups:
        return [], []
    return _self_rules(), [{"verbs": ["get"], "nonResourceURLs": list(_PUBLIC_PATHS)}]


def _administration(identity: Identity) -> str:
    """Why a user administers the cluster; "" for one who does not."""
    if service_account_groups(identity.name):
        return "service accounts administer their cluster"
    if User.objects.filter(username=identity.name, is_active=True).exists():
        return "users of this site administer every cluster"
    return ""


def _self_rules() -> list[Body]:
    return [
        {"verbs": ["create"], "apiGroups": [group], "resources": list(plurals)}
        for group, plurals in _SELF_REVIEWS.items()
    ]


def _is_for_everyone(access: Access) -> bool:
    if access.path:
        return access.verb == "get" and any(
            access.path.startswith(path[:-1]) if path.endswith("*") else access.path == path
            for path in _PUBLIC_PATHS
        )
    return access.verb == "create" and access.resource in _SELF_REVIEWS.get(access.group, ())
