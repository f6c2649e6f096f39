"""Decides who may do what in the API of a cluster: verbs and resources are mapped to roles.

RBAC objects do not count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from django.contrib.auth.models import User

from apps.cluster.access.grants import role_of
from apps.cluster.access.identity import (
    AUTHENTICATED,
    MASTERS,
    Identity,
    group_of,
    service_account_groups,
)
from apps.cluster.access.refusals import refuse
from apps.cluster.errors import Forbidden, qualified
from apps.cluster.models import Cluster
from apps.cluster.roles import Role

#: What every authenticated user may do, as in a cluster with the default roles: ask about
#: themselves, and read what describes the API.
_SELF_REVIEWS: Final = {
    "authentication.k8s.io": ("selfsubjectreviews",),
    "authorization.k8s.io": ("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
}
_READING: Final = frozenset({"get", "list", "watch"})
#: What only admins do: these let a user act as another one, or find out what others may do.
_ADMINISTRATION: Final = frozenset(
    {
        ("", "serviceaccounts", "token"),
        ("authentication.k8s.io", "tokenreviews", ""),
        ("authorization.k8s.io", "localsubjectaccessreviews", ""),
        ("authorization.k8s.io", "subjectaccessreviews", ""),
    }
)
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
    """Whether a user may do something in the cluster in which it has its groups."""
    if AUTHENTICATED in identity.groups and _is_for_everyone(access):
        return Verdict(True, "every authenticated user may do this")
    if identity.read_only and access.verb not in _READING:
        return Verdict(False, "the token is read-only")
    role, needed = identity.role, needed_role(access)
    if role is not None and role >= needed:
        return Verdict(True, _reason(identity, role))
    if role is None:
        return Verdict(False)
    why = (
        f"this requires the role {needed.label} in the cluster, and {identity.name} is {role.label}"
    )
    return Verdict(False, why)


def needed_role(access: Access) -> Role:
    """The role in a cluster that something requires."""
    if access.verb in _READING:
        return Role.VIEWER
    named = (access.group, access.resource, access.subresource)
    if access.verb in ("impersonate", "*") or named in _ADMINISTRATION:
        return Role.ADMIN
    return Role.OPERATOR


def require(identity: Identity, access: Access) -> None:
    """Raise Forbidden unless the user may do it."""
    verdict = decide(identity, access)
    if not verdict.allowed:
        refuse(identity.name, refusal(identity, access, verdict.reason))


def with_role(identity: Identity, cluster: Cluster) -> Identity:
    """The identity of someone who is named, with the group of their role in the cluster."""
    user = User.objects.filter(username=identity.name, is_active=True).first()
    role = role_of(user, cluster.pk) if user is not None else None
    if role is None or group_of(role) in identity.groups:
        return identity
    return replace(identity, groups=(*identity.groups, group_of(role)))


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


def does_everything(identity: Identity) -> bool:
    """Whether a user may do everything in the cluster."""
    return not identity.read_only and (identity.role or 0) >= Role.ADMIN


def public_paths(identity: Identity) -> list[str]:
    """The addresses without a resource that the user may read."""
    if identity.role is not None:
        return ["*"]
    return list(_PUBLIC_PATHS) if AUTHENTICATED in identity.groups else []


def _reason(identity: Identity, role: Role) -> str:
    if MASTERS in identity.groups:
        return f'members of the group "{MASTERS}" may do everything'
    if service_account_groups(identity.name):
        return "service accounts administer their cluster"
    return f"{identity.name} is {role.label} of the cluster"


def _is_for_everyone(access: Access) -> bool:
    if access.path:
        return access.verb == "get" and any(
            access.path.startswith(path[:-1]) if path.endswith("*") else access.path == path
            for path in _PUBLIC_PATHS
        )
    return access.verb == "create" and access.resource in _SELF_REVIEWS.get(access.group, ())
