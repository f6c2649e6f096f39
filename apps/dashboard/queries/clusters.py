"""The page of all clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from apps.cluster.models import Cluster
from apps.cluster.queries import clusters
from apps.controlplane.loop.clock import NOW_SQL
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.tables import Field, read_sorting

SORTS = {"name": "name", "made": "created_at"}
#: Clusters per page.
CARDS = 24
#: The throughput chart: this many bars of this many seconds.
BARS = 30
BAR_SECONDS = 2

_COUNTS = """
    SELECT c.id,
        (SELECT count(*) FROM cluster_node n WHERE n.cluster_id = c.id),
        (SELECT count(*) FROM cluster_node n WHERE n.cluster_id = c.id AND NOT n.ready),
        (SELECT count(*) FROM cluster_pod p WHERE p.cluster_id = c.id),
        (SELECT count(*) FROM cluster_pod p WHERE p.cluster_id = c.id AND p.node_name = ''
            AND p.phase NOT IN ('Succeeded', 'Failed'))
    FROM cluster_cluster c WHERE c.id = ANY(%s)
"""
#: Bars are counted back from the time of the cluster's clock, which is read once per cluster: with
#: a time computed for each row the query would not use the index, and read the whole ledger.
_THROUGHPUT = f"""
    WITH moments AS MATERIALIZED (
        SELECT c.id, {NOW_SQL} AS now FROM cluster_cluster c WHERE c.id = ANY(%s)
    )
    SELECT moments.id, bars.bar, bars.bound FROM moments CROSS JOIN LATERAL (
        SELECT least(floor(extract(epoch FROM moments.now - d.at) / %s), %s)::int AS bar,
            count(*) AS bound
        FROM controlplane_schedulingdecision d WHERE d.cluster_id = moments.id
            AND d.at > moments.now - make_interval(secs => %s) AND d.at <= moments.now
            AND d.result = 'scheduled'
        GROUP BY 1
    ) bars
"""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Pods bound in each of the last `BARS` spans, oldest first."""

    bars: Sequence[int]

    @property
    def per_second(self) -> float:
        """Over the last ten complete seconds."""
        spans = self.bars[-6:-1]
        return sum(spans) / (len(spans) * BAR_SECONDS)

    @property
    def highest_per_second(self) -> float:
        return max(self.bars) / BAR_SECONDS

    @property
    def words(self) -> str:
        """The text alternative of the chart."""
        return f"{sum(self.bars):,} pods bound in the last minute"


@dataclass(frozen=True, slots=True)
class ClusterCard:
    """The summary of one cluster."""

    cluster: Cluster
    nodes: int
    not_ready: int
    pods: int
    pending_pods: int
    throughput: Throughput


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


def cluster_cards(shown: list[Cluster]) -> list[ClusterCard]:
    """A card for each of these clusters, in their order; two statements for all of them."""
    numbers = [cluster.pk for cluster in shown]
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, [numbers])
        counts: dict[int, tuple[int, int, int, int]] = {
            number: tuple(found) for number, *found in cursor.fetchall()
        }
    bars = throughputs(numbers)
    return [
        ClusterCard(cluster, *counts[cluster.pk], bars[cluster.pk])
        for cluster in shown
        if cluster.pk in counts
    ]


def throughputs(numbers: Sequence[int]) -> dict[int, Throughput]:
    """Pods bound over the last minute of each cluster's clock, by the clusters' ids."""
    counted: defaultdict[int, dict[int, int]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_THROUGHPUT, [list(numbers), BAR_SECONDS, BARS - 1, BARS * BAR_SECONDS])
        for cluster, bar, bound in cursor.fetchall():
            counted[cluster][bar] = bound
    return {
        cluster: Throughput([counted[cluster].get(bar, 0) for bar in reversed(range(BARS))])
        for cluster in numbers
    }


def cluster_names() -> list[str]:
    """The names of all clusters, in alphabetical order."""
    return list(Cluster.objects.order_by("name").values_list("name", flat=True))
