"""The clusters of which a user may see something, for lists about several clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from apps.cluster.access.grants import AnyUser, is_site_admin
from apps.cluster.access.scopes import token_scope_of
from apps.cluster.models import ClusterAccess, Membership
from apps.cluster.roles import Visibility

T = TypeVar("T", bound=Model)


@dataclass(frozen=True, slots=True)
class Reach:
    """The clusters that a user sees, existing and deleted ones."""

    #: Their ids as a subquery; None: all clusters.
    ids: QuerySet[ClusterAccess, int] | None

    def restrict(self, rows: QuerySet[T], column: str = "cluster_id") -> QuerySet[T]:
        """Only the rows about clusters that the user sees; `column` has the cluster's id."""
        return rows if self.ids is None else rows.filter(**{f"{column}__in": self.ids})


#: What commands and the site itself see.
EVERYTHING = Reach(None)


def reach_of(user: AnyUser) -> Reach:
    """What a user sees, within the scope of the token."""
    scope = token_scope_of(user)
    names = None if scope is None else scope.clusters
    if names is None and is_site_admin(user):
        return EVERYTHING
    visible = ClusterAccess.objects.all()
    if not is_site_admin(user):
        groups = user.groups.values("pk") if hasattr(user, "groups") else ()
        mine = Membership.objects.filter(Q(user_id=user.pk) | Q(group__in=groups))
        is_member = Q(pk__in=mine.values("cluster_id")) & ~Q(visibility=Visibility.PRIVATE)
        visible = visible.filter(
            Q(owner_id=user.pk) | Q(visibility=Visibility.EVERYONE) | is_member
        )
    if names is not None:
        visible = visible.filter(name__in=names)
    return Reach(visible.values_list("pk", flat=True))
