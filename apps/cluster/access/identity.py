"""The user of a request, as Kubernetes describes users: name, uid, groups, extra."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser

from apps.cluster.access.grants import role_of
from apps.cluster.access.policy import Policy, policy_of
from apps.cluster.access.refusals import refuse
from apps.cluster.access.scopes import token_scope_of
from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.cluster.roles import Role

Body = dict[str, Any]

#: Its members may do everything: the admins of a cluster.
MASTERS: Final = "system:masters"
OPERATORS: Final = "schedweb:operators"
VIEWERS: Final = "schedweb:viewers"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = "system:anonymous"
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
_SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
#: The group that stands for a role in a cluster.
_GROUPS: Final = {
    Role.VIEWER: VIEWERS,
    Role.OPERATOR: OPERATORS,
    Role.ADMIN: MASTERS,
    Role.SITE_ADMIN: MASTERS,
}
_ROLES: Final = {
    VIEWERS: Role.VIEWER,
    OPERATORS: Role.OPERATOR,
    MASTERS: Role.ADMIN,
}
#: Length of the column in which the change log stores the user.
_ACTOR_LENGTH: Final = 150


@dataclass(frozen=True, slots=True)
class Identity:
    """The user that a request acts as."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: The user who impersonates this one; "" without impersonation.
    impersonator: str = ""
    #: Whether the token of the request only reads.
    read_only: bool = False
    #: Reads the roles and bindings of the cluster, which decide about those who have no role in it.
    find_policy: Callable[[], Policy] | None = field(default=None, compare=False, repr=False)

    @property
    def role(self) -> Role | None:
        """The highest role in the cluster that a group stands for; None without one."""
        roles = [_ROLES[group] for group in self.groups if group in _ROLES]
        return max(roles, default=None)

    @property
    def actor(self) -> str:
        """The user as the change log and the ledger record it, up to 150 characters."""
        if not self.impersonator:
            return self.name[:_ACTOR_LENGTH]
        suffix = f" (impersonated by {self.impersonator})"[:_ACTOR_LENGTH]
        return self.name[: _ACTOR_LENGTH - len(suffix)] + suffix

    @property
    def user_info(self) -> Body:
        """The `UserInfo` of reviews."""
        info: Body = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


def identity_of(user: AbstractBaseUser, cluster: Cluster) -> Identity:
    """The identity of an authenticated user in a cluster: of a user of this site, or a service
    account.

    Raises NotFound, as if the cluster did not exist, for a user who does not see it.
    """
    name = user.get_username()
    if groups := service_account_groups(name):
        uid = getattr(user, "service_account_uid", "")
        groups = (*groups, AUTHENTICATED)
        return Identity(name, groups, uid, find_policy=partial(policy_of, cluster))
    role = role_of(user, cluster.pk)
    if role is None:
        refuse(name, NotFound("clusters", cluster.name))
    return replace(identity_with(user, role), find_policy=partial(policy_of, cluster))


def identity_with(user: AbstractBaseUser, role: Role) -> Identity:
    """The identity of a user of this site with this role in a cluster."""
    scope = token_scope_of(user)
    groups = (_GROUPS[role], AUTHENTICATED)
    read_only = scope is not None and scope.read_only
    return Identity(user.get_username(), groups, str(user.pk), read_only=read_only)


def group_of(role: Role) -> str:
    """The group that stands for a role."""
    return _GROUPS[role]


def service_account_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{_SERVICE_ACCOUNT}{namespace}:{name}"


def split_service_account(name: str) -> tuple[str, str] | None:
    """The namespace and the name of the service account with this user name; None for others."""
    if not name.startswith(_SERVICE_ACCOUNT):
        return None
    namespace, colon, account = name.removeprefix(_SERVICE_ACCOUNT).partition(":")
    return (namespace, account) if colon and namespace and account else None


def service_account_groups(name: str) -> tuple[str, ...]:
    """The groups of the service account with this user name; empty for other users."""
    account = split_service_account(name)
    return (_SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{account[0]}") if account else ()
