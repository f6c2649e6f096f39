"""What a cluster's own page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from apps.cluster.models import Cluster
from apps.controlplane import selectors
from apps.controlplane.models import QueueEntry, SchedulingDecision
from apps.dashboard.selectors.clusters import Throughput, throughputs
from apps.dashboard.selectors.usage import (
    NodesUse,
    ZoneUse,
    by_zone,
    nodes_in_use,
    resource_names,
)

RECENT_DECISIONS = 8

_STATES = """
    SELECT phase, node_name <> '' AS bound, count(*) FROM cluster_pod
    WHERE cluster_id = %s GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class PodStates:
    """How many pods are where in their lives."""

    queues: dict[QueueEntry.Queue, int]
    bound: int
    succeeded: int
    failed: int
    #: Pending pods that wait for a scheduler this cluster does not run.
    of_others: int

    @property
    def total(self) -> int:
        waiting = sum(self.queues.values()) + self.of_others
        return waiting + self.bound + self.succeeded + self.failed


@dataclass(frozen=True, slots=True)
class Overview:
    """One look at a cluster."""

    all: NodesUse
    zones: Sequence[ZoneUse]
    resources: Sequence[str]
    resource: str
    pods: PodStates
    throughput: Throughput
    decisions: Sequence[SchedulingDecision]


def cluster_overview(cluster: Cluster, *, resource: str) -> Overview:
    """Everything the page shows; `resource` is the one whose spread over nodes is drawn."""
    others = resource_names(cluster)
    known = ["cpu", "memory", "pods", *others]
    resource = resource if resource in known else "cpu"
    nodes = nodes_in_use(cluster, resource=resource)
    return Overview(
        all=NodesUse(nodes),
        zones=by_zone(nodes),
        resources=known,
        resource=resource,
        pods=pod_states(cluster),
        throughput=throughputs([cluster.pk])[cluster.pk],
        decisions=list(selectors.decisions(cluster)[:RECENT_DECISIONS]),
    )


def pod_states(cluster: Cluster) -> PodStates:
    """Pods by state."""
    with connection.cursor() as cursor:
        cursor.execute(_STATES, [cluster.pk])
        rows = cursor.fetchall()
    succeeded = sum(count for phase, _, count in rows if phase == "Succeeded")
    failed = sum(count for phase, _, count in rows if phase == "Failed")
    alive = [row for row in rows if row[0] not in ("Succeeded", "Failed")]
    bound = sum(count for _, is_bound, count in alive if is_bound)
    pending = sum(count for _, is_bound, count in alive if not is_bound)
    queues = selectors.queue_sizes(cluster)
    others = max(0, pending - sum(queues.values()))
    return PodStates(queues, bound, succeeded, failed, others)
