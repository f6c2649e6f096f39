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
from apps.controlplane.selectors import scheduler_names

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


@dataclass(frozen=True, slots=True)
class Listing:
    """Some of the pods that are wanted, and how many there are."""

    pods: list[QueuedPod]
    total: int


#: Every pending pod with its place. One without an entry waits in activeQ for its first attempt.
#: activeQ goes by priority, then by time; backoffQ by the second in which backoff ends, then as
#: activeQ, and after them those whose attempt ended with an error; the others by time; equals by
#: "namespace/name". As `PriorityQueue` does, with the QueueSort of the default profile.
_QUEUED = """
    SELECT w.*, row_number() OVER (PARTITION BY w.queue ORDER BY w.failed,
        CASE w.queue WHEN 'backoff' THEN w.backoff_expiry END NULLS FIRST,
        CASE WHEN w.queue IN ('active', 'backoff') AND NOT w.failed THEN -w.priority END,
        CASE WHEN NOT w.failed THEN w.since END,
        w.namespace || '/' || w.name COLLATE "C") AS position
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
#: Bodies are read only of the pods that are shown.
_PAGE = """
    WITH queued AS ({queued}),
    wanted AS (SELECT *, count(*) OVER () AS total FROM queued WHERE {where}),
    page AS (SELECT *, row_number() OVER (ORDER BY {order}) AS number FROM wanted
        ORDER BY number LIMIT %(limit)s OFFSET %(offset)s)
    SELECT w.namespace, w.name, w.uid, w.queue, w.position, w.priority, w.attempts, w.since,
        w.backoff_expiry, w.unschedulable_plugins, w.pending_plugins, w.gated_by,
        w.nominated_node, ARRAY(SELECT gate ->> 'name' FROM jsonb_array_elements(
            coalesce(p.body #> '{{spec,schedulingGates}}', '[]')) AS gate), w.total
    FROM page w JOIN cluster_pod p ON p.id = w.id ORDER BY w.number
"""
_PLACE = "queue_rank, position"
_ORDERS: Mapping[Sort, str] = {
    "place": "queue_rank {0}, position {0}",
    "name": "namespace {0}, name {0}",
    "priority": "priority {0}",
    "attempts": "attempts {0}",
    "since": "since {0}",
    "expiry": "backoff_expiry {0}",
}
SORTS = tuple(_ORDERS)


def listing(
    cluster: Cluster,
    wanted: Wanted,
    *,
    sort: Sort = "place",
    downwards: bool = False,
    limit: int = 100,
    offset: int = 0,
) -> Listing:
    """The wanted pods from `offset` on, the equal ones of `sort` by place."""
    where, parameters = _narrowed(wanted)
    order = _ORDERS[sort].format("DESC NULLS LAST" if downwards else "ASC NULLS LAST")
    with connection.cursor() as cursor:
        cursor.execute(
            _PAGE.format(queued=_QUEUED, where=where, order=f"{order}, {_PLACE}"),
            {
                "cluster": cluster.pk,
                "schedulers": scheduler_names(cluster),
                "limit": limit,
                "offset": offset,
                **parameters,
            },
        )
        rows = cursor.fetchall()
    if not rows and offset:
        return Listing([], listing(cluster, wanted, limit=1).total)
    return Listing([QueuedPod(*row[:-1]) for row in rows], rows[0][-1] if rows else 0)


def summary(sizes: Mapping[QueueEntry.Queue, int]) -> str:
    """How many pods are where, in the one line of upstream's PendingPods."""
    queues = QueueEntry.Queue
    return (
        f"activeQ:{sizes[queues.ACTIVE]}; backoffQ:{sizes[queues.BACKOFF]}; "
        f"unschedulablePods:{sizes[queues.UNSCHEDULABLE] + sizes[queues.GATED]}"
    )


def _narrowed(wanted: Wanted) -> tuple[str, dict[str, Any]]:
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
    return " AND ".join(asked) or "true", dict(asked.values())
