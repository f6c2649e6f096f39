"""The page of all clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.cluster.models import Cluster
from apps.cluster.queries import clusters
from apps.controlplane.clusters.summaries import ClusterCard, cluster_cards
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


def find_clusters(query: Mapping[str, str]) -> ClusterList:
    """Clusters filtered and sorted as the address says."""
    sorting = read_sorting(query, SORTS, default="name")
    sign = "-" if sorting.descending else ""
    found = clusters().order_by(f"{sign}{sorting.key}", "name")
    if text := query.get("q", "").strip():
        found = found.filter(name__contains=text)
    page = numbered_page(found, query, size=CARDS)
    filters = [
        Field("q", "Name", hint="contains"),
        Field("sort", "Order", choices=[("-made", "newest first")], nothing="by name"),
    ]
    return ClusterList(page, cluster_cards(list(page.rows)), filters)


def cluster_names() -> list[str]:
    """The names of all clusters, in alphabetical order."""
    return list(Cluster.objects.order_by("name").values_list("name", flat=True))
