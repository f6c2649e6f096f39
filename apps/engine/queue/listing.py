"""The pods of a scheduling queue with their exact positions, for the API and the pages.

Read from the pods and the queue entries, without asking the worker that schedules the cluster.
A pod in flight is listed at the position it had before it was popped, except those that Permit
plugins hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal
from uuid import UUID

from django.db import connection, models

from apps.cluster.models import Cluster
from apps.engine.models import LoopLease
from apps.engine.queries import list_scheduler_names


class Part(models.TextChoices):
    """Where a pending pod is: a queue, or held at Permit with a node."""

    ACTIVE = "active", "activeQ"
    BACKOFF = "backoff", "backoffQ"
    UNSCHEDULABLE = "unschedulable", "unschedulable"
    GATED = "gated", "gated"
    PERMIT = "permit", "held by Permit"


Sort = Literal["place", "name", "priority", "attempts", "since", "expiry"]


@dataclass(frozen=True, slots=True)
class QueuedPod:
    """A pending pod, the queue it is in, and its position there."""

    namespace: str
    name: str
    uid: UUID
    queue: Part
    #: from 1, in the order in which pods leave this queue
    position: int
    priority: int
    attempts: int
    #: when the pod was created, or its last attempt failed
    timestamp: datetime
    backoff_expiry: datetime | None
    unschedulable_plugins: list[str]
    pending_plugins: list[str]
    #: the PreEnqueue plugin that gates it
    gated_by: str
    nominated_node: str
    #: names of its scheduling gates
    gates: list[str]
    #: when the pod first became ready for an attempt; None before
    initial_attempt_timestamp: datetime | None
    #: the Permit plugins that hold it
    held_by: list[str]
    #: the node that it is held on
    held_node: str
    #: when the first of these plugins rejects it
    held_until: datetime | None

    ANSWER: ClassVar = (
        *("namespace", "name", "uid", "queue", "position", "priority", "attempts", "timestamp"),
        *("backoff_expiry", "unschedulable_plugins", "pending_plugins", "gated_by", "gates"),
        ...,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFilter:
    """Selects pods of the queue; empty = all."""

    queue: str = ""
    #: substring of the name, or "namespace/" and a substring of the name
    pod: str = ""
    namespace: str = ""
    #: a plugin that rejected the pod, for which it is pending, or that gates or holds it
    plugin: str = ""


#: Every pending pod with its sort keys. A pod without an entry waits in activeQ for its first
#: attempt. The order is that of `PriorityQueue` with the QueueSort of the default profile: activeQ
#: by priority, then by time; backoffQ by the second in which backoff ends, then like activeQ, and
#: last the pods whose attempt ended with an error; the other queues by time; ties by
#: "namespace/name".
_PENDING = """
    SELECT *,
        CASE queue WHEN 'backoff' THEN backoff_expiry END AS by_expiry,
        CASE WHEN queue IN ('active', 'backoff') AND NOT failed THEN -priority END AS by_priority,
        CASE WHEN NOT failed THEN since END AS by_time,
        namespace || '/' || name COLLATE "C" AS by_key
    FROM (
        SELECT p.id, p.namespace, p.name, p.uid,
            CASE WHEN h.id IS NOT NULL THEN 'permit' ELSE coalesce(q.queue, 'active') END AS queue,
            CASE WHEN h.id IS NOT NULL THEN 0 WHEN q.queue = 'backoff' THEN 2
                WHEN q.queue = 'unschedulable' THEN 3 WHEN q.queue = 'gated' THEN 4
                ELSE 1 END AS queue_rank,
            p.priority,
            coalesce(q.attempts, 0) + (h.id IS NOT NULL)::int AS attempts,
            coalesce(h.since, q.timestamp, p.created_at) AS since,
            CASE WHEN q.id IS NULL THEN p.created_at
                ELSE to_timestamp((q.state ->> 'initial_attempt_timestamp')::float8) END AS initial,
            coalesce(h.plugins, '{}') AS held_by, coalesce(h.node, '') AS held_node,
            h.deadline AS held_until,
            q.backoff_expiry, coalesce(q.unschedulable_plugins, '{}') AS unschedulable_plugins,
            coalesce(q.pending_plugins, '{}') AS pending_plugins,
            coalesce(q.gated_by, '') AS gated_by,
            coalesce(nullif(q.nominated_node, ''), p.nominated_node_name) AS nominated_node,
            coalesce(q.queue = 'backoff' AND q.unschedulable_plugins = '{}'
                AND q.pending_plugins = '{}', false) AS failed
        FROM cluster_pod p
        LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
        LEFT JOIN controlplane_permitwait h ON h.cluster_id = p.cluster_id AND h.pod_uid = p.uid
        WHERE p.cluster_id = %(cluster)s AND p.node_name = ''
            AND p.phase NOT IN ('Succeeded', 'Failed') AND p.scheduler_name = ANY(%(schedulers)s)
    ) w
"""
_PLACE = "failed, by_expiry NULLS FIRST, by_priority, by_time, by_key"
#: Sorts by position once, for the numbers and the page. Bodies are read only for the pods shown.
_PAGE = """
    WITH queued AS (SELECT *, row_number() OVER (PARTITION BY queue_rank ORDER BY {place})
        AS position FROM ({pending}) pending),
    page AS (SELECT * FROM queued WHERE {where} ORDER BY {order} LIMIT %(limit)s OFFSET %(offset)s)
    SELECT w.namespace, w.name, w.uid, w.queue, w.position, w.priority, w.attempts, w.since,
        w.backoff_expiry, w.unschedulable_plugins, w.pending_plugins, w.gated_by,
        w.nominated_node, ARRAY(SELECT gate ->> 'name' FROM jsonb_array_elements(
            coalesce(bodies.body #> '{{spec,schedulingGates}}', '[]')) AS gate),
        w.initial, w.held_by, w.held_node, w.held_until
    FROM page w CROSS JOIN LATERAL (SELECT body FROM cluster_pod p WHERE p.id = w.id) bodies
    ORDER BY {order}
"""
_COUNT = "SELECT count(*) FROM ({pending}) pending WHERE {where}"
_SIZES = """
    SELECT CASE WHEN h.id IS NOT NULL THEN 'permit' ELSE coalesce(q.queue, 'active') END, count(*)
    FROM cluster_pod p
    LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
    LEFT JOIN controlplane_permitwait h ON h.cluster_id = p.cluster_id AND h.pod_uid = p.uid
    WHERE p.cluster_id = %s AND p.node_name = '' AND p.phase NOT IN ('Succeeded', 'Failed')
        AND p.scheduler_name = ANY(%s)
    GROUP BY 1
"""
_ORDERS: Mapping[Sort, str] = {
    "place": "",
    "name": "namespace {0}, name {0}, ",
    "priority": "priority {0}, ",
    "attempts": "attempts {0}, ",
    "since": "since {0}, ",
    "expiry": "backoff_expiry {0}, ",
}
_DESCENDING = "queue_rank DESC, position DESC"
SORTS = tuple(_ORDERS)


def list_pods(
    cluster: Cluster,
    selected: QueueFilter,
    *,
    sort: Sort = "place",
    descending: bool = False,
    limit: int = 100,
    offset: int = 0,
) -> list[QueuedPod]:
    """The selected pods from `offset` on; ties of `sort` are ordered by position."""
    order = _ORDERS[sort].format("DESC NULLS LAST" if descending else "ASC NULLS LAST")
    order += f"queue_rank, {_PLACE}"
    if sort == "place" and descending:
        order = _DESCENDING
    where, parameters = _build_condition(cluster, selected)
    with connection.cursor() as cursor:
        cursor.execute(
            _PAGE.format(pending=_PENDING, where=where, order=order, place=_PLACE),
            {**parameters, "limit": limit, "offset": offset},
        )
        return [QueuedPod(*row) for row in cursor.fetchall()]


def count_pods(cluster: Cluster, selected: QueueFilter, sizes: Mapping[Part, int]) -> int:
    """The number of selected pods; `sizes` comes from `count_by_part`."""
    if not (selected.pod or selected.namespace or selected.plugin):
        return sum(size for part, size in sizes.items() if selected.queue in ("", part.value))
    where, parameters = _build_condition(cluster, selected)
    with connection.cursor() as cursor:
        cursor.execute(_COUNT.format(pending=_PENDING, where=where), parameters)
        row = cursor.fetchone()
    return row[0] if row is not None else 0


def count_by_part(cluster: Cluster) -> dict[Part, int]:
    """The number of pods in each part of the queue, including empty ones."""
    with connection.cursor() as cursor:
        cursor.execute(_SIZES, [cluster.pk, list_scheduler_names(cluster)])
        sizes: dict[str, int] = dict(cursor.fetchall())
    return {part: sizes.get(part.value, 0) for part in Part}


@dataclass(frozen=True, slots=True)
class Cycles:
    """The queue's scheduling cycle, and the one in which an event last asked to move pods."""

    scheduling: int
    move_request: int


def read_cycles(cluster: Cluster) -> Cycles:
    """The cycles as of the last record of the loop."""
    columns = ("scheduling_cycle", "move_request_cycle")
    rows = LoopLease.objects.filter(cluster=cluster).values_list(*columns)
    return Cycles(*(rows.first() or (0, 0)))


def summarize(sizes: Mapping[Part, int]) -> str:
    """The number of pods in each queue as one line, like upstream's PendingPods."""
    return (
        f"activeQ:{sizes[Part.ACTIVE]}; backoffQ:{sizes[Part.BACKOFF]}; "
        f"unschedulablePods:{sizes[Part.UNSCHEDULABLE] + sizes[Part.GATED]}"
    )


def _build_condition(cluster: Cluster, selected: QueueFilter) -> tuple[str, dict[str, Any]]:
    """The SQL condition on pending pods, and all parameters of the statement."""
    namespace, slash, name = selected.pod.rpartition("/")
    given = {
        "queue = %(queue)s": ("queue", selected.queue),
        "namespace = %(namespace)s": ("namespace", namespace if slash else selected.namespace),
        "strpos(name, %(name)s) > 0": ("name", name),
        "(%(plugin)s = ANY(unschedulable_plugins || pending_plugins || held_by) "
        "OR gated_by = %(plugin)s)": (
            "plugin",
            selected.plugin,
        ),
    }
    conditions = {condition: pair for condition, pair in given.items() if pair[1]}
    always = {"cluster": cluster.pk, "schedulers": list_scheduler_names(cluster)}
    return " AND ".join(conditions) or "true", {**always, **dict(conditions.values())}
