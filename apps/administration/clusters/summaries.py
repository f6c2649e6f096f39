"""Summaries of clusters: nodes, pods by state, throughput, usage of a resource."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from apps.cluster.models import Cluster
from apps.engine.loop.clock import NOW_SQL
from apps.engine.queue.listing import Part, count_by_part

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
_STATES = """
    SELECT phase, node_name <> '' AS bound, count(*) FROM cluster_pod
    WHERE cluster_id = %s GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Use:
    """Requested of allocatable, in milli-CPU, bytes or whole units."""

    requested: int
    allocatable: int

    @property
    def share(self) -> float:
        """From 0 to 1; more if the requests exceed the allocatable amount."""
        if self.allocatable:
            return self.requested / self.allocatable
        return 1.0 if self.requested else 0.0

    @property
    def percent(self) -> int:
        """Rounded down, so that only a full node has 100."""
        return int(self.share * 100)

    @property
    def free(self) -> int:
        return self.allocatable - self.requested


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
class PodStates:
    """The number of pods in each state."""

    #: by part of the queue; pods that Permit plugins hold are a part of their own
    queues: dict[Part, int]
    bound: int
    succeeded: int
    failed: int
    #: Pending pods with the schedulerName of another scheduler.
    of_others: int

    @property
    def total(self) -> int:
        waiting = sum(self.queues.values()) + self.of_others
        return waiting + self.bound + self.succeeded + self.failed


def cluster_cards(shown: list[Cluster]) -> list[ClusterCard]:
    """A card for each of these clusters, in their order; two statements for all of them."""
    numbers = [cluster.pk for cluster in shown]
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, [numbers])
        counts: dict[int, tuple[int, int, int, int]] = {
            number: tuple(counts) for number, *counts in cursor.fetchall()
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


def pod_states(cluster: Cluster) -> PodStates:
    """Count the pods of a cluster by state."""
    with connection.cursor() as cursor:
        cursor.execute(_STATES, [cluster.pk])
        rows = cursor.fetchall()
    succeeded = sum(count for phase, _, count in rows if phase == "Succeeded")
    failed = sum(count for phase, _, count in rows if phase == "Failed")
    alive = [row for row in rows if row[0] not in ("Succeeded", "Failed")]
    bound = sum(count for _, is_bound, count in alive if is_bound)
    pending = sum(count for _, is_bound, count in alive if not is_bound)
    queues = count_by_part(cluster)
    others = max(0, pending - sum(queues.values()))
    return PodStates(queues, bound, succeeded, failed, others)
