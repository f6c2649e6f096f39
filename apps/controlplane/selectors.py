"""What others read of the control plane: queues, placements, decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from apps.cluster.models import Cluster, Pod
from apps.controlplane import profiles
from apps.controlplane.models import QueueEntry, SchedulingDecision


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one pod landed, or why it fits nowhere."""

    #: The pod's name; with its namespace in front where that is not "default".
    pod: str
    node: str
    total_score: int | None
    feasible_nodes: int | None
    tied_nodes: int | None
    message: str


@dataclass(frozen=True, slots=True)
class QueuedPod:
    """A pending pod and the queue it is in."""

    namespace: str
    name: str
    uid: UUID
    queue: str
    priority: int
    attempts: int
    timestamp: datetime
    backoff_expiry: datetime | None
    unschedulable_plugins: list[str]
    pending_plugins: list[str]
    gated_by: str
    nominated_node: str


#: Pending pods in queue order; one without an entry waits in activeQ for its first attempt.
_QUEUED = """
    SELECT p.namespace, p.name, p.uid, coalesce(q.queue, 'active') AS queue, p.priority,
        coalesce(q.attempts, 0), coalesce(q.timestamp, p.created_at) AS since, q.backoff_expiry,
        coalesce(q.unschedulable_plugins, '{}'), coalesce(q.pending_plugins, '{}'),
        coalesce(q.gated_by, ''), p.nominated_node_name
    FROM cluster_pod p
    LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
    WHERE p.cluster_id = %s AND p.node_name = '' AND p.phase NOT IN ('Succeeded', 'Failed')
        AND p.scheduler_name = ANY(%s)
"""
#: How each queue is ordered on pages: as its pods leave it.
_ORDER = {
    QueueEntry.Queue.ACTIVE: "p.priority DESC, since, p.id",
    QueueEntry.Queue.BACKOFF: "q.backoff_expiry, p.id",
    QueueEntry.Queue.UNSCHEDULABLE: "since, p.id",
    QueueEntry.Queue.GATED: "since, p.id",
}


def scheduler_names(cluster: Cluster) -> list[str]:
    """The schedulerNames of the cluster's active configuration."""
    configuration = profiles.configuration(profiles.active(cluster))
    return [profile.scheduler_name for profile in configuration.profiles]


def pods_of_other_schedulers(cluster: Cluster) -> QuerySet[Pod]:
    """Pending pods that no profile of this cluster is responsible for."""
    pending = Pod.objects.filter(cluster=cluster, node_name="")
    pending = pending.exclude(phase__in=("Succeeded", "Failed"))
    return pending.exclude(scheduler_name__in=scheduler_names(cluster))


def queue(
    cluster: Cluster, name: QueueEntry.Queue, *, limit: int = 100, offset: int = 0
) -> list[QueuedPod]:
    """Pods of one queue in the order they leave it."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_QUEUED} AND coalesce(q.queue, 'active') = %s "
            f"ORDER BY {_ORDER[name]} LIMIT %s OFFSET %s",
            [cluster.pk, scheduler_names(cluster), name.value, limit, offset],
        )
        return [QueuedPod(*row) for row in cursor.fetchall()]


def queue_sizes(cluster: Cluster) -> dict[QueueEntry.Queue, int]:
    """How many pods are in each queue, the empty ones included."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT queue, count(*) FROM ({_QUEUED}) AS queued GROUP BY queue",
            [cluster.pk, scheduler_names(cluster)],
        )
        counted = dict(cursor.fetchall())
    return {name: counted.get(name.value, 0) for name in QueueEntry.Queue}


def decisions(cluster: Cluster, **filters: Any) -> QuerySet[SchedulingDecision]:
    """Decisions, newest first, without their columns."""
    found = SchedulingDecision.objects.filter(cluster=cluster, **filters)
    return found.defer("columns").order_by("-id")


def placements(cluster: Cluster) -> Iterator[Placement]:
    """Every pod in the order of creation, with what its last attempt said."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.namespace, p.name, p.node_name, d.total_score, d.feasible_nodes, "
            "d.tied_nodes, d.message FROM cluster_pod p LEFT JOIN LATERAL ("
            "SELECT * FROM controlplane_schedulingdecision d WHERE d.cluster_id = p.cluster_id "
            "AND d.pod_uid = p.uid ORDER BY d.attempt DESC, d.id DESC LIMIT 1) d ON true "
            "WHERE p.cluster_id = %s ORDER BY p.id",
            [cluster.pk],
        )
        for namespace, name, node, score, feasible, tied, message in cursor.fetchall():
            pod = name if namespace == "default" else f"{namespace}/{name}"
            yield Placement(pod, node, score, feasible, tied, message or "")
