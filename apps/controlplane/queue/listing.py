"""The pods of a scheduling queue, each with its exact place, as the API and the pages tell them.

Read from the pods and the queue entries, so that nobody has to ask the worker that schedules the
cluster. A pod in flight stands where it was before it was popped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import connection

from apps.cluster.models import Cluster
from apps.controlplane.models import QueueEntry
from apps.controlplane.queries import scheduler_names

Sort = Literal["place", "name", "priority", "attempts", "since", "expiry"]


@dataclass(frozen=True, slots=True)
class QueuedPod:
    """A pending pod, the queue it is in, and its place there."""

    namespace: str
    name: str
    uid: UUID
    queue: str
    #: from 1, in the order in which pods leave this queue
    position: int
    priority: int
    attempts: int
    timestamp: datetime
    backoff_expiry: datetime | None
    unschedulable_plugins: list[str]
    pending_plugins: list[str]
    gated_by: str
    nominated_node: str
    #: names of its scheduling gates
    gates: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which pods of the queue; empty = all."""

    queue: str = ""
    #: a part of the name, or "namespace/" and a part of it
    pod: str = ""
    namespace: str = ""
    #: rejected the pod, put it off, or gates it
    plugin: str = ""


#: Every pending pod with what orders it. One without an entry waits in activeQ for its first
#: attempt. activeQ goes by priority, then by time; backoffQ by the second in which backoff ends,
#: then as activeQ, and after them those whose attempt ended with an error; the others by time;
#: equals by "namespace/name". As `PriorityQueue` does, with the QueueSort of the default profile.
_PENDING = """
    SELECT *,
        CASE queue WHEN 'backoff' THEN backoff_expiry END AS by_expiry,
        CASE WHEN queue IN ('active', 'backoff') AND NOT failed THEN -priority END AS by_priority,
        CASE WHEN NOT failed THEN since END AS by_time,
        namespace || '/' || name COLLATE "C" AS by_key
    FROM (
        SELECT p.id, p.namespace, p.name, p.uid, coalesce(q.queue, 'active') AS queue, p.priority,
            CASE q.queue WHEN 'backoff' THEN 2 WHEN 'unschedulable' THEN 3 WHEN 'gated' THEN 4
                ELSE 1 END AS queue_rank,
            coalesce(q.attempts, 0) AS attempts, coalesce(q.timestamp, p.created_at) AS since,
            q.backoff_expiry, coalesce(q.unschedulable_plugins, '{}') AS unschedulable_plugins,
            coalesce(q.pending_plugins, '{}') AS pending_plugins,
            coalesce(q.gated_by, '') AS gated_by,
            coalesce(nullif(q.nominated_node, ''), p.nominated_node_name) AS nominated_node,
            coalesce(q.queue = 'backoff' AND q.unschedulable_plugins = '{}'
                AND q.pending_plugins = '{}', false) AS failed
        FROM cluster_pod p
        LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
        WHERE p.cluster_id = %(cluster)s AND p.node_name = ''
            AND p.phase NOT IN ('Succeeded', 'Failed') AND p.scheduler_name = ANY(%(schedulers)s)
    ) w
"""
_PLACE = "failed, by_expiry NULLS FIRST, by_priority, by_time, by_key"
#: Sorted by place once, for the numbers and for the page alike, and read no further than the page;
#: bodies are read only of the pods that are shown.
_PAGE = """
    WITH queued AS (SELECT *, row_number() OVER (PARTITION BY queue_rank ORDER BY {place})
        AS position FROM ({pending}) pending),
    page AS (SELECT * FROM queued WHERE {where} ORDER BY {order} LIMIT %(limit)s OFFSET %(offset)s)
    SELECT w.namespace, w.name, w.uid, w.queue, w.position, w.priority, w.attempts, w.since,
        w.backoff_expiry, w.unschedulable_plugins, w.pending_plugins, w.gated_by,
        w.nominated_node, ARRAY(SELECT gate ->> 'name' FROM jsonb_array_elements(
            coalesce(bodies.body #> '{{spec,schedulingGates}}', '[]')) AS gate)
    FROM page w CROSS JOIN LATERAL (SELECT body FROM cluster_pod p WHERE p.id = w.id) bodies
    ORDER BY {order}
"""
_COUNT = "SELECT count(*) FROM ({pending}) pending WHERE {where}"
_ORDERS: Mapping[Sort, str] = {
    "place": "",
    "name": "namespace {0}, name {0}, ",
    "priority": "priority {0}, ",
    "attempts": "attempts {0}, ",
    "since": "since {0}, ",
    "expiry": "backoff_expiry {0}, ",
}
_BACKWARDS = "queue_rank DESC, position DESC"
SORTS = tuple(_ORDERS)


def listing(
    cluster: Cluster,
    wanted: Wanted,
    *,
    sort: Sort = "place",
    downwards: bool = False,
    limit: int = 100,
    offset: int = 0,
) -> list[QueuedPod]:
    """The wanted pods from `offset` on, the equal ones of `sort` by place."""
    order = _ORDERS[sort].format("DESC NULLS LAST" if downwards else "ASC NULLS LAST")
    order += f"queue_rank, {_PLACE}"
    if sort == "place" and downwards:
        order = _BACKWARDS
    where, parameters = _narrowed(cluster, wanted)
    with connection.cursor() as cursor:
        cursor.execute(
            _PAGE.format(pending=_PENDING, where=where, order=order, place=_PLACE),
            {**parameters, "limit": limit, "offset": offset},
        )
        return [QueuedPod(*row) for row in cursor.fetchall()]


def count(cluster: Cluster, wanted: Wanted, sizes: Mapping[QueueEntry.Queue, int]) -> int:
    """How many pods are wanted; `sizes` are those of the queues, from `selectors.queue_sizes`."""
    if not (wanted.pod or wanted.namespace or wanted.plugin):
        return sum(size for queue, size in sizes.items() if wanted.queue in ("", queue.value))
    where, parameters = _narrowed(cluster, wanted)
    with connection.cursor() as cursor:
        cursor.execute(_COUNT.format(pending=_PENDING, where=where), parameters)
        row = cursor.fetchone()
    return row[0] if row is not None else 0


def summary(sizes: Mapping[QueueEntry.Queue, int]) -> str:
    """How many pods are where, in the one line of upstream's PendingPods."""
    queues = QueueEntry.Queue
    return (
        f"activeQ:{sizes[queues.ACTIVE]}; backoffQ:{sizes[queues.BACKOFF]}; "
        f"unschedulablePods:{sizes[queues.UNSCHEDULABLE] + sizes[queues.GATED]}"
    )


def _narrowed(cluster: Cluster, wanted: Wanted) -> tuple[str, dict[str, Any]]:
    """The condition on pending pods, and every parameter of the statement."""
    namespace, slash, name = wanted.pod.rpartition("/")
    given = {
        "queue = %(queue)s": ("queue", wanted.queue),
        "namespace = %(namespace)s": ("namespace", namespace if slash else wanted.namespace),
        "strpos(name, %(name)s) > 0": ("name", name),
        "(%(plugin)s = ANY(unschedulable_plugins || pending_plugins) OR gated_by = %(plugin)s)": (
            "plugin",
            wanted.plugin,
        ),
    }
    asked = {condition: pair for condition, pair in given.items() if pair[1]}
    always = {"cluster": cluster.pk, "schedulers": scheduler_names(cluster)}
    return " AND ".join(asked) or "true", {**always, **dict(asked.values())}
