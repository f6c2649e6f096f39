"""The position of a pending pod in the scheduling queue, and the pods ahead of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from django.db import connection

from apps.cluster.models import Cluster, Pod
from apps.engine import queries
from apps.engine.models import PermitWait, QueueEntry
from apps.scheduler.plugins.scheduling_gates import SchedulingGates

#: Maximum number of groups in the result.
_GROUPS = 8

_WAITING = """
    WITH waiting AS (
        SELECT p.uid, p.id, p.namespace, p.priority, coalesce(q.queue, 'active') AS queue,
            coalesce(q.timestamp, p.created_at) AS since, q.backoff_expiry
        FROM cluster_pod p
        LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
        WHERE p.cluster_id = %(cluster)s AND p.node_name = ''
            AND p.phase NOT IN ('Succeeded', 'Failed') AND p.scheduler_name = ANY(%(profiles)s)
            AND NOT EXISTS (SELECT FROM controlplane_permitwait h
                WHERE h.cluster_id = p.cluster_id AND h.pod_uid = p.uid)
    ), own AS (SELECT * FROM waiting WHERE uid = %(uid)s)
    SELECT w.priority, w.namespace, count(*), max(own.priority) AS own_priority
    FROM waiting w, own WHERE w.uid <> own.uid AND (
        (w.queue = 'active' AND (own.queue <> 'active' OR (-w.priority, w.since, w.id)
            < (-own.priority, own.since, own.id)))
        OR (own.queue = 'backoff' AND w.queue = 'backoff'
            AND (w.backoff_expiry, w.id) < (own.backoff_expiry, own.id)))
    GROUP BY w.priority, w.namespace ORDER BY w.priority DESC, count(*) DESC, w.namespace
"""


#: Why no pod of a paused cluster is scheduled, whatever else keeps it.
PAUSED: Final = "The cluster is paused: no pod is scheduled until it is resumed."


@dataclass(frozen=True, slots=True)
class PodsAhead:
    """The pods ahead that have the same priority and namespace."""

    priority: int
    namespace: str
    pods: int


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """The position of a pod in the queue."""

    queue: str
    #: from 1; None for a pod that waits for an event, is gated, or is held at Permit
    position: int | None
    #: pods that are scheduled before this one if nothing else happens
    ahead: int
    of_higher_priority: int
    #: the first ones, by descending priority
    groups: tuple[PodsAhead, ...]
    sentence: str

    ANSWER: ClassVar = ("sentence", ...)


def find_queue_position(
    cluster: Cluster, pod: Pod, entry: QueueEntry | None, held: PermitWait | None
) -> QueuePosition:
    """The position of a pod; without an `entry` it is in activeQ before its first attempt."""
    if held is not None:
        return QueuePosition("permit", None, 0, 0, (), _describe_wait(cluster, held))
    with connection.cursor() as cursor:
        cursor.execute(
            _WAITING,
            {
                "cluster": cluster.pk,
                "profiles": queries.list_scheduler_names(cluster),
                "uid": pod.uid,
            },
        )
        rows = cursor.fetchall()
    groups = [PodsAhead(priority, namespace, count) for priority, namespace, count, _ in rows]
    queue = entry.queue if entry is not None else QueueEntry.Queue.ACTIVE.value
    ahead = sum(group.pods for group in groups)
    higher = sum(group.pods for group in groups if group.priority > pod.priority)
    waits = queue in (QueueEntry.Queue.UNSCHEDULABLE, QueueEntry.Queue.GATED)
    return QueuePosition(
        queue,
        None if waits else ahead + 1,
        ahead,
        higher,
        tuple(groups[:_GROUPS]),
        _describe_place(cluster, queue, ahead, higher, entry.gated_by if entry is not None else ""),
    )


def _describe_wait(cluster: Cluster, held: PermitWait) -> str:
    seconds = max(0, round((held.deadline - cluster.now()).total_seconds()))
    return (
        f"It left the queue with node {held.node}. If the plugins that hold it do not allow it "
        f"within {seconds:,} s, it is rejected and returns to the queue."
    )


def _describe_place(cluster: Cluster, queue: str, ahead: int, higher: int, gated_by: str) -> str:
    if queue == QueueEntry.Queue.GATED:
        if gated_by != SchedulingGates.name:
            return f"It is gated: it enters the queue when {gated_by} allows it."
        return "It is gated: it enters the queue when its scheduling gates are removed."
    if queue == QueueEntry.Queue.UNSCHEDULABLE:
        return "It is unschedulable and waits for an event that may help."
    if cluster.scheduling == Cluster.Scheduling.EXTERNAL:
        return "An external scheduler has its own queue."
    place = "activeQ" if queue == QueueEntry.Queue.ACTIVE else "backoffQ"
    if not ahead:
        when = " once the cluster is resumed" if cluster.paused else ""
        return f"It is first in {place}: the next pod to be scheduled{when}."
    pods = "1 pod is" if ahead == 1 else f"{ahead:,} pods are"
    of_higher = f", {higher:,} of them of higher priority" if higher else ""
    return f"It is number {ahead + 1:,} in {place}: {pods} ahead of it{of_higher}."
