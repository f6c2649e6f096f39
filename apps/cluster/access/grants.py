"""The role of a user in a cluster: from the database, or what it was at most two seconds ago."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import connection

from apps.cluster.access.scopes import TokenScope, token_scope_of
from apps.cluster.roles import Role, Visibility

AnyUser = AbstractBaseUser | AnonymousUser

#: A role is taken as unchanged for so long: a removed member loses access after this time.
SECONDS: Final = 2.0
_KEPT: Final = 10_000

_GRANT: Final = """
    SELECT a.cluster_id, a.name, a.visibility, a.owner_id, (
        SELECT max(m.role) FROM cluster_membership m WHERE m.cluster_id = a.cluster_id AND (
            m.user_id = %(user)s OR m.group_id IN (
                SELECT g.group_id FROM auth_user_groups g WHERE g.user_id = %(user)s)))
    FROM cluster_clusteraccess a
"""
_OF_ID: Final = f"{_GRANT} WHERE a.cluster_id = %(cluster)s"
_OF_IDS: Final = f"{_GRANT} WHERE a.cluster_id = ANY(%(clusters)s)"
#: A deleted cluster may have had the same name.
_OF_NAME: Final = (
    f"{_GRANT} JOIN cluster_cluster c ON c.id = a.cluster_id WHERE c.name = %(cluster)s"
)


@dataclass(frozen=True, slots=True)
class Grant:
    """The role of a user in a cluster; None: the user does not see the cluster."""

    cluster_id: int
    cluster_name: str
    role: Role | None


#: (user's id, cluster's id or name) -> (grant, when it expires on the monotonic clock)
_known: dict[tuple[int, int | str], tuple[Grant, float]] = {}


def role_of(user: AnyUser, cluster: int | str, *, fresh: bool = False) -> Role | None:
    """The role of a user in the cluster with this id or name, within the scope of the token.

    None if the user does not see the cluster, or if there is no such cluster. Only roles are taken
    from memory, never their absence, so a new member has access at once. With `fresh`, the
    database is asked in any case. A site admin has a role in every cluster, existing or not.
    """
    scope = token_scope_of(user)
    administers = is_site_admin(user)
    if administers and (scope is None or scope.clusters is None):
        return Role.SITE_ADMIN
    grant = find_grant(user, cluster, fresh=fresh)
    if grant is None or not _reaches(scope, grant.cluster_name):
        return None
    return Role.SITE_ADMIN if administers else grant.role


def roles_in(user: AnyUser, clusters: Sequence[int]) -> dict[int, Role]:
    """The roles of a user in those of the clusters that the user sees, in one query."""
    if is_site_admin(user):
        return dict.fromkeys(clusters, Role.SITE_ADMIN)
    number = user.pk
    if number is None:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_OF_IDS, {"user": number, "clusters": list(clusters)})
        rows = [_grant(number, row) for row in cursor.fetchall()]
    return {grant.cluster_id: grant.role for grant in rows if grant.role is not None}


def find_grant(user: AnyUser, cluster: int | str, *, fresh: bool = False) -> Grant | None:
    """What a user is granted in a cluster, whatever its token is; None if there is none."""
    if user.pk is None or (isinstance(cluster, str) and "\x00" in cluster):
        return None
    key = (user.pk, cluster)
    known = None if fresh else _known.get(key)
    if known is not None and time.monotonic() < known[1]:
        return known[0]
    grant = _read(user.pk, cluster)
    if grant is None or grant.role is None:
        _known.pop(key, None)
        return grant
    if len(_known) >= _KEPT:
        _known.clear()
    _known[key] = (grant, time.monotonic() + SECONDS)
    return grant


def is_remembered(user: AnyUser, cluster: int | str) -> bool:
    """Whether `role_of` answers without the database."""
    scope = token_scope_of(user)
    if is_site_admin(user) and (scope is None or scope.clusters is None):
        return True
    known = _known.get((user.pk or 0, cluster))
    return known is not None and time.monotonic() < known[1]


def is_site_admin(user: AnyUser) -> bool:
    """Whether a user administers the site."""
    return bool(getattr(user, "is_superuser", False) and user.is_active)


def forget() -> None:
    """Ask the database again for every role: members of a cluster have changed."""
    _known.clear()


def _reaches(scope: TokenScope | None, name: str) -> bool:
    return scope is None or scope.clusters is None or name in scope.clusters


def _read(user: int, cluster: int | str) -> Grant | None:
    statement = _OF_NAME if isinstance(cluster, str) else _OF_ID
    with connection.cursor() as cursor:
        cursor.execute(statement, {"user": user, "cluster": cluster})
        row = cursor.fetchone()
    return None if row is None else _grant(user, row)


def _grant(user: int, row: Any) -> Grant:
    number, name, visibility, owner, member = row
    return Grant(number, name, _effective_role(visibility, owner == user, member))


def _effective_role(visibility: str, owns: bool, member: int | None) -> Role | None:
    if owns:
        return Role.ADMIN
    if visibility == Visibility.PRIVATE:
        return None
    everyone = Role.VIEWER if visibility == Visibility.EVERYONE else 0
    return Role(highest) if (highest := max(member or 0, everyone)) else None
