"""The user of a request, as Kubernetes describes users: name, uid, groups, extra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser

Body = dict[str, Any]

#: Its members may do everything.
MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = "system:anonymous"
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
_SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
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


def identity_of(user: AbstractBaseUser) -> Identity:
    """The identity of an authenticated user: a user of this site, or a service account."""
    name = user.get_username()
    if groups := service_account_groups(name):
        return Identity(name, (*groups, AUTHENTICATED), getattr(user, "service_account_uid", ""))
    return Identity(name, (MASTERS, AUTHENTICATED), str(user.pk))


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
    found = split_service_account(name)
    return (_SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{found[0]}") if found else ()
