"""Decides who may do what in the API of a cluster.

For users of the site, verbs and resources are mapped to the role that they have in it. About
everybody else, service accounts and those whom somebody impersonates, the roles and bindings of the
cluster decide.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from django.contrib.auth.models import User

from apps.cluster.access.confidential import reader_of
from apps.cluster.access.grants import role_of
from apps.cluster.access.identity import (
    AUTHENTICATED,
    MASTERS,
    Identity,
    group_of,
)
from apps.cluster.access.policy import policy_of
from apps.cluster.access.questions import Access, Verdict
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
#: Verbs that let a user act as another one, or give more than it has; and all verbs.
_ADMINISTERING: Final = frozenset({"*", "bind", "escalate", "impersonate"})
#: Subresources that let a client act within a pod, with any verb.
SESSIONS: Final = frozenset({"attach", "exec", "portforward"})
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


def decide(identity: Identity, access: Access) -> Verdict:
    """Whether a user may do something in the cluster in which it has its groups."""
    role, needed = identity.role, needed_role(access)
    is_for_everyone = AUTHENTICATED in identity.groups and _is_for_everyone(access)
    if identity.read_only and not (_reads(access) or is_for_everyone):
        return Verdict(False, "the token is read-only")
    if role is None:
        find = identity.find_policy
        return find().decide(identity.name, identity.groups, access) if find else Verdict(False)
    if is_for_everyone and role < needed:
        return Verdict(True, "every authenticated user may do this")
    if role >= needed:
        return Verdict(True, _reason(identity, role))
    why = (
        f"this requires the role {needed.label} in the cluster, and {identity.name} is {role.label}"
    )
    return Verdict(False, why)


def needed_role(access: Access) -> Role:
    """The role in a cluster that something requires."""
    if _reads(access):
        return reader_of(access.group, access.resource)
    named = (access.group, access.resource, access.subresource)
    if access.verb in _ADMINISTERING or named in _ADMINISTRATION or "*" in named[:2]:
        return Role.ADMIN
    return Role.OPERATOR


def require(identity: Identity, access: Access) -> None:
    """Raise Forbidden unless the user may do it."""
    verdict = decide(identity, access)
    if not verdict.allowed:
        refuse(identity.name, refusal(identity, access, verdict.reason))


def with_role(identity: Identity, cluster: Cluster) -> Identity:
    """The identity of someone who is named, with the group of their role in the cluster.

    The roles and bindings of the cluster decide about someone without one.
    """
    identity = replace(identity, find_policy=partial(policy_of, cluster))
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


def is_decided_by_policy(identity: Identity) -> bool:
    """Whether the roles and bindings of the cluster say what a user may do.

    Those of its administrators do, too, as everything is bound to their group.
    """
    return identity.role is None or (identity.role >= Role.ADMIN and not identity.read_only)


def public_paths(identity: Identity) -> list[str]:
    """The addresses without a resource that the user may read."""
    if identity.role is not None:
        return ["*"]
    return list(_PUBLIC_PATHS) if AUTHENTICATED in identity.groups else []


def _reads(access: Access) -> bool:
    return access.verb in _READING and access.subresource not in SESSIONS


def _reason(identity: Identity, role: Role) -> str:
    # the API server gives no reason for its administrators
    return "" if MASTERS in identity.groups else f"{identity.name} is {role.label} of the cluster"


def _is_for_everyone(access: Access) -> bool:
    if access.path:
        return access.verb == "get" and any(
            access.path.startswith(path[:-1]) if path.endswith("*") else access.path == path
            for path in _PUBLIC_PATHS
        )
    return access.verb == "create" and access.resource in _SELF_REVIEWS.get(access.group, ())
