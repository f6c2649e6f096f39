"""The page of all clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from apps.administration.clusters.summaries import ClusterCard, cluster_cards
from apps.cluster.access.reach import reach_of
from apps.cluster.models import Cluster
from apps.cluster.queries import clusters
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.tables import Field, read_sorting

SORTS = {"name": "name", "made": "created_at"}
#: Clusters per page.
CARDS = 24


@dataclass(frozen=True, slots=True)
class ClusterList:
    """A page of clusters with a card for each; sorted by name by default."""

    page: NumberedPage[Cluster]
    cards: Sequence[ClusterCard]
    filters: Sequence[Field]


def find_clusters(query: Mapping[str, str], user: User) -> ClusterList:
    """Clusters that a user sees, filtered and sorted as the address says."""
    sorting = read_sorting(query, SORTS, default="name")
    sign = "-" if sorting.descending else ""
    reachable = reach_of(user).restrict(clusters(), "pk").order_by(f"{sign}{sorting.key}", "name")
    if text := query.get("q", "").strip():
        reachable = reachable.filter(name__contains=text)
    page = numbered_page(reachable, query, size=CARDS)
    filters = [
        Field("q", "Name", hint="contains"),
        Field("sort", "Order", choices=[("-made", "newest first")], nothing="by name"),
    ]
    return ClusterList(page, cluster_cards(list(page.rows)), filters)


def cluster_names(user: User) -> list[str]:
    """The names of the clusters that a user sees, in alphabetical order."""
    seen = reach_of(user).restrict(clusters(), "pk")
    return list(seen.values_list("name", flat=True))
