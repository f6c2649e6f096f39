"""Lets requests to pages and to `/api/v1` pass, as the table of routes says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings

from apps.cluster.access.grants import AnyUser, is_site_admin, role_of
from apps.cluster.access.needs import Need
from apps.cluster.access.refusals import refuse
from apps.cluster.access.routes import READING_POSTS, ROUTES, SUBJECTS, Subject
from apps.cluster.access.scopes import is_limited, token_scope_of
from apps.cluster.errors import ApiError, Forbidden, NotFound
from apps.cluster.roles import Role

#: Parameters of addresses that are the id of a deleted cluster, and those that are a name.
_IDS: Final = {
    "api-past-cluster-detail": "id",
    "forget-cluster": "number",
}
_NAMES: Final = ("cluster", "name")
#: Who started an operation may cancel it, with any role.
_BY_STARTER: Final = frozenset({"cancel-operation", "api-operation-cancel"})


@dataclass(frozen=True, slots=True)
class Owned:
    """The cluster of a decision or of an operation; None before it is created."""

    cluster_id: int | None
    cluster_name: str = ""
    #: The name of the user who started it; "" for a decision.
    user: str = ""


#: Finds the cluster of a decision or an operation by its number; None if there is none.
Finder = Callable[[int], Owned | None]
_finders: dict[Subject, Finder] = {}


def register(subject: Subject, finder: Finder) -> None:
    """Say how the cluster of a decision or an operation is found."""
    _finders[subject] = finder


def check(user: AnyUser, route: str | None, method: str, names: Mapping[str, Any]) -> Role | None:
    """The role of the user in the cluster that a request is about; None if it is about none.

    `names` are the parameters of the address. Raises NotFound for a cluster that the user does not
    see, Forbidden for too low a role.
    """
    need = needed(route or "", method)
    if need in (Need.NOTHING, Need.KUBERNETES):
        return None
    _check_scope(user, route or "", method, need)
    if need == Need.SITE_ADMIN and not is_site_admin(user):
        refuse(user.get_username(), Forbidden("this requires a site admin"))
    if need in (Need.CREATOR, Need.COPIER):
        check_may_create(user)
    return _check_role(user, route or "", need.role, names) if need.role else None


def needed(route: str, method: str) -> Need:
    """What a request requires; a site admin's rights for a route that is not in the table."""
    methods = ROUTES.get(route)
    if methods is None:
        return Need.SITE_ADMIN
    return methods.get("GET" if method in ("HEAD", "OPTIONS") else method, _lowest(methods))


def serves(route: str | None, method: str) -> bool:
    """Whether a route has this method; true for a route that is not in the table."""
    methods = ROUTES.get(route or "")
    return methods is None or method in methods or method in ("HEAD", "OPTIONS")


def require_role(user: AnyUser, cluster: int | str, name: str, role: Role) -> Role:
    """The user's role in the cluster with this id or name.

    NotFound if the user does not see the cluster (`name` is its name in the message), Forbidden if
    the role is lower than `role`. A lower role in memory is read again: it may have been raised.
    """
    held = role_of(user, cluster)
    if held is not None and held < role:
        held = role_of(user, cluster, fresh=True)
    if held is None:
        refuse(user.get_username(), NotFound("clusters", name))
    if held < role:
        refuse(user.get_username(), _too_low(name, held, role))
    return held


def check_may_create(user: AnyUser) -> None:
    """Forbidden unless the user may create clusters."""
    if is_limited(user):
        refuse(user.get_username(), Forbidden("the token is limited to some clusters"))
    if not may_create(user):
        why = "only site admins create clusters on this site (SCHEDWEB_CLUSTER_CREATION)"
        refuse(user.get_username(), Forbidden(why))


def may_create(user: AnyUser) -> bool:
    """Whether the site lets the user create clusters."""
    return settings.CONFIG.cluster_creation == "users" or is_site_admin(user)


def _lowest(methods: Mapping[str, Need]) -> Need:
    order = list(Need)
    return min(methods.values(), key=order.index)


def _check_scope(user: AnyUser, route: str, method: str, need: Need) -> None:
    scope = token_scope_of(user)
    if scope is None:
        return
    reads = method in ("GET", "HEAD", "OPTIONS") or route in READING_POSTS
    if scope.read_only and not reads:
        refuse(user.get_username(), Forbidden("the token is read-only"))
    # nor may it create a token that is not limited, or read which clusters other tokens reach
    about_site = need in (Need.SITE_ADMIN, Need.ACCOUNT) or (need == Need.USER and not reads)
    if is_limited(user) and about_site:
        refuse(user.get_username(), Forbidden("the token is limited to some clusters"))


def _check_role(user: AnyUser, route: str, role: Role, names: Mapping[str, Any]) -> Role | None:
    if route in SUBJECTS:
        return _check_subject(user, route, role, names)
    cluster, name = _cluster_of(route, names)
    return require_role(user, cluster, name, role)


def _check_subject(user: AnyUser, route: str, role: Role, names: Mapping[str, Any]) -> Role | None:
    subject = SUBJECTS[route]
    number = str(names.get("number", names.get("pk", "")))
    missing: ApiError = NotFound(f"{subject}s", number)
    owned = _finders[subject](int(number)) if len(number) <= 18 else None
    if owned is None:
        raise missing
    started = owned.user == user.get_username()
    if owned.cluster_id is None:
        # what has no cluster may have been done with, or for, one that the token does not reach
        if is_limited(user) or not (started or is_site_admin(user)):
            refuse(user.get_username(), missing)
        return None
    required = Role.VIEWER if started and route in _BY_STARTER else role
    try:
        return require_role(user, owned.cluster_id, owned.cluster_name, required)
    except NotFound as hidden:
        raise missing from hidden


def _cluster_of(route: str, names: Mapping[str, Any]) -> tuple[int | str, str]:
    """The id or the name of the cluster that an address is about, and the name for messages."""
    if (parameter := "cluster_id" if "cluster_id" in names else _IDS.get(route)) is not None:
        number = str(names[parameter])
        return (int(number) if len(number) <= 18 else 0), number
    name = str(next(names[each] for each in _NAMES if each in names))
    # `lab~17`: the deleted cluster with this id
    _, separator, number = name.rpartition("~")
    if separator and number.isascii() and number.isdecimal() and len(number) <= 18:
        return int(number), name
    return name, name


def _too_low(cluster: str, role: Role, needed_role: Role) -> Forbidden:
    return Forbidden(
        f"this requires the role {needed_role.label} in cluster {cluster}; "
        f"your role is {role.label}"
    )
