"""The scheduling queue at a past moment, from the history of its moves.

A pod was in the part of the queue that its last move before the moment led to. Pods that were
created before the moment, but read by the scheduler after it, waited for their first attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeAlias
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from apps.cluster.errors import BadRequest, Expired
from apps.cluster.models import Cluster, HistoricChange
from apps.engine import periods, queries
from apps.engine.models import QueueMove, SchedulingDecision
from apps.engine.periods import wrong
from apps.scheduler.framework import events

#: The parts of the queue that are listed, in this order.
PARTS = tuple(place for place in QueueMove.Place if place)
#: The parameters that select the moment; exactly one is given.
MOMENTS = ("at", "version", "decision")
PARAMETERS = (*MOMENTS, "zone", "queue", "pod")
_MAX_NUMBER = 2**63 - 1
#: The events of the moves with which an attempt begins and fails.
_OF_ATTEMPTS = (
    events.POP,
    events.POP_FROM_BACKOFF_QUEUE,
    events.SCHEDULE_ATTEMPT_FAILURE,
)


@dataclass(frozen=True, slots=True)
class PastMoment:
    """A moment by the cluster's clock, and the version or decision that it was selected by."""

    at: datetime
    version: int | None = None
    decision: int | None = None
    #: The move with which the attempt of the decision began, or failed. Of the moves at this very
    #: time, which are many while a clock is stopped, those after it are later than the moment.
    move: int | None = None


PlaceInQueue: TypeAlias = Literal["active", "backoff", "unschedulable", "gated", "in_flight"]


@dataclass(frozen=True, slots=True)
class PastPod:
    """A pod that was in the queue at the moment."""

    namespace: str
    name: str
    uid: UUID
    queue: PlaceInQueue
    #: From 1 in activeQ, in the order of Pop; None in the other parts.
    position: int | None
    priority: int
    attempts: int
    #: Since when it was in this queue.
    since: datetime
    #: What moved it there; empty for a pod not read yet.
    event: str
    #: The plugin that decided.
    plugin: str
    #: The plugins that rejected it in its last attempt.
    rejected_by: list[str] = field(default_factory=list)
    #: Its last attempt.
    decision: int | None = None
    #: None: it is still there.
    left_at: datetime | None = None
    #: Empty: bound, or deleted.
    left_to: str = ""
    #: The event that moved it.
    left_by: str = ""


@dataclass(frozen=True, slots=True)
class PastQueue:
    """A page of the pods that were in the queue, and the sizes of its parts."""

    moment: PastMoment
    #: Pods by queue.
    sizes: Mapping[QueueMove.Place, int]
    #: Pods that match the filters.
    total: int
    pods: list[PastPod]
    #: The oldest recorded move, if the moment is before it.
    reaches_back_to: datetime | None

    ANSWER: ClassVar[tuple[str, ...]] = (
        *("at", "version", "decision", "sizes", "total", "reaches_back_to", "pods"),
    )

    @property
    def at(self) -> datetime:
        return self.moment.at

    @property
    def version(self) -> int | None:
        return self.moment.version

    @property
    def decision(self) -> int | None:
        return self.moment.decision


#: Every pod in the queue at the moment. A pod of activeQ is ordered by the time at which it was
#: created or its last attempt failed, as by the queue.
_WAITING = """
    WITH last AS MATERIALIZED (
        SELECT DISTINCT ON (pod_uid) id, pod_uid, namespace, name, at, target, event, plugin,
            attempt
        FROM controlplane_queuemove
        WHERE cluster_id = %(cluster)s AND at <= %(at)s AND (at < %(at)s OR id <= %(move)s)
        ORDER BY pod_uid, id DESC
    ),
    unread AS (
        SELECT DISTINCT ON (m.pod_uid) NULL::bigint, m.pod_uid, m.namespace, m.name, created.at,
            'active', '', '', 0
        FROM controlplane_queuemove m CROSS JOIN LATERAL (
            SELECT at FROM cluster_history c WHERE c.cluster_id = m.cluster_id
            AND c.uid = m.pod_uid ORDER BY version LIMIT 1
        ) created
        WHERE m.cluster_id = %(cluster)s AND m.source = ''
            AND m.at >= %(at)s AND (m.at > %(at)s OR m.id > %(move)s)
            AND created.at <= %(at)s AND NOT EXISTS (SELECT FROM last l WHERE l.pod_uid = m.pod_uid)
        UNION ALL
        SELECT NULL, p.uid, p.namespace, p.name, p.created_at, 'active', '', '', 0
        FROM cluster_pod p
        WHERE p.cluster_id = %(cluster)s AND p.node_name = '' AND p.created_at <= %(at)s
            AND p.phase NOT IN ('Succeeded', 'Failed') AND p.scheduler_name = ANY(%(schedulers)s)
            AND NOT EXISTS (SELECT FROM controlplane_queuemove m WHERE m.pod_uid = p.uid)
    ),
    pods AS (SELECT * FROM last WHERE target <> '' UNION ALL SELECT * FROM unread),
    waiting AS (
        SELECT pods.*, coalesce((
            SELECT ("object" #>> '{spec,priority}')::int FROM cluster_history c
            WHERE c.cluster_id = %(cluster)s AND c.uid = pods.pod_uid ORDER BY version LIMIT 1
        ), 0) AS priority,
        coalesce((
            SELECT m.at FROM controlplane_queuemove m WHERE m.pod_uid = pods.pod_uid
            AND m.id <= pods.id AND m.event IN ('ScheduleAttemptFailure', 'UnschedulablePodAdd')
            ORDER BY m.id DESC LIMIT 1
        ), pods.at) AS queued_at
        FROM pods
    )
"""
_SIZES = f"{_WAITING} SELECT target, count(*) FROM waiting GROUP BY 1"
_PAGE = (
    _WAITING
    + """,
    placed AS (
        SELECT *, array_position(%(parts)s, target::text) AS part, CASE target WHEN 'active' THEN
            row_number() OVER (PARTITION BY target ORDER BY priority DESC, queued_at,
                namespace || '/' || name COLLATE "C") END AS position
        FROM waiting
    ),
    page AS (
        SELECT * FROM placed WHERE {where}
        ORDER BY part, position, at, namespace, name LIMIT %(limit)s OFFSET %(offset)s
    )
    SELECT page.namespace, page.name, page.pod_uid, page.target, page.position, page.priority,
        page.attempt, page.at, page.event, page.plugin,
        coalesce(decided.unschedulable_plugins, '{}'), decided.id,
        later.at, coalesce(later.target, ''), coalesce(later.event, '')
    FROM page
    LEFT JOIN LATERAL (
        SELECT d.id, d.unschedulable_plugins FROM controlplane_schedulingdecision d
        WHERE d.pod_uid = page.pod_uid AND d.at <= %(at)s AND page.target <> 'in_flight'
            AND (d.at < %(at)s OR d.id <= %(decision)s)
        ORDER BY d.id DESC LIMIT 1
    ) decided ON true
    LEFT JOIN LATERAL (
        SELECT m.at, m.target, m.event FROM controlplane_queuemove m
        WHERE m.pod_uid = page.pod_uid AND m.at >= %(at)s AND (m.at > %(at)s OR m.id > %(move)s)
        ORDER BY m.id LIMIT 1
    ) later ON true
    ORDER BY page.part, page.position, page.at, page.namespace, page.name
"""
)
#: A pod that the scheduler had to place before the moment, without its first move; pods that still
#: wait to be read have none yet.
_LOST = """
    SELECT FROM cluster_history c
    WHERE c.cluster_id = %(cluster)s AND c.kind = 'Pod' AND c.type = 'ADDED' AND c.at <= %(at)s
        AND coalesce("object" #>> '{spec,nodeName}', '') = ''
        AND "object" #>> '{spec,schedulerName}' = ANY(%(schedulers)s)
        AND NOT EXISTS (
            SELECT FROM controlplane_queuemove m WHERE m.pod_uid = c.uid AND m.source = '')
        AND NOT EXISTS (SELECT FROM cluster_pod p WHERE p.uid = c.uid AND p.node_name = '')
    LIMIT 1
"""
_COUNT = _WAITING + " SELECT count(*) FROM waiting WHERE {where}"


def parse_past_moment(cluster: Cluster, query: Mapping[str, Any]) -> PastMoment | None:
    """The moment of `at`, `version` or `decision`; None if none is given.

    Raises BadRequest that names a wrong parameter, and Expired if the change log does not reach
    back to a version.
    """
    given = [name for name in MOMENTS if str(query.get(name) or "").strip()]
    if not given:
        return None
    if len(given) > 1:
        raise wrong(given[1], f"cannot be combined with {given[0]}")
    if given == ["at"]:
        at = periods.parse_at(query, now=cluster.now())
        assert at is not None
        if at > cluster.now():
            raise wrong("at", f"{query['at']!r} is in the future of the cluster's clock")
        return PastMoment(at)
    number = _parse_number(given[0], str(query[given[0]]).strip())
    if given == ["decision"]:
        row = queries.decision_numbered(number, cluster)
        return PastMoment(
            row.at, version=row.cluster_version, decision=row.pk, move=_find_move(row)
        )
    return PastMoment(_time_of_version(cluster, number), version=number)


def read_past_queue(
    cluster: Cluster,
    moment: PastMoment,
    *,
    queue: str = "",
    pod: str = "",
    limit: int = 100,
    offset: int = 0,
) -> PastQueue:
    """The pods in the queue at the moment, by part and order; `queue` and `pod` select some.

    `pod` is part of a name, or `namespace/` and part of a name. Raises BadRequest that names a
    wrong parameter.
    """
    if queue and queue not in PARTS:
        raise wrong("queue", f"{queue!r} is not one of {', '.join(PARTS)}")
    if "\x00" in pod:
        raise BadRequest("pod: contains a NUL character")
    parameters = _build_parameters(cluster, moment)
    where, selection = _build_condition(queue, pod)
    with connection.cursor() as cursor:
        sizes = _read_sizes(cursor, parameters)
        cursor.execute(_COUNT.replace("{where}", where), {**parameters, **selection})
        row = cursor.fetchone()
        cursor.execute(
            _PAGE.replace("{where}", where),
            {**parameters, **selection, "limit": limit, "offset": offset},
        )
        pods = [PastPod(*row) for row in cursor.fetchall()]
    return PastQueue(
        moment,
        sizes,
        total=row[0] if row is not None else 0,
        pods=pods,
        reaches_back_to=_find_gap(cluster, moment.at),
    )


def count_past_queue(
    cluster: Cluster, at: datetime
) -> tuple[dict[QueueMove.Place, int], datetime | None]:
    """The sizes of the parts of the queue at a time.

    And the oldest move that is still recorded, if the time is before it.
    """
    with connection.cursor() as cursor:
        sizes = _read_sizes(cursor, _build_parameters(cluster, PastMoment(at)))
    return sizes, _find_gap(cluster, at)


def _build_parameters(cluster: Cluster, moment: PastMoment) -> dict[str, Any]:
    return {
        "cluster": cluster.pk,
        "at": moment.at,
        "move": _MAX_NUMBER if moment.move is None else moment.move,
        "decision": _MAX_NUMBER if moment.decision is None else moment.decision,
        "schedulers": queries.list_scheduler_names(cluster),
        "parts": [str(part) for part in PARTS],
    }


def _read_sizes(cursor: CursorWrapper, parameters: dict[str, Any]) -> dict[QueueMove.Place, int]:
    cursor.execute(_SIZES, parameters)
    sizes = dict(cursor.fetchall())
    return {part: sizes.get(part.value, 0) for part in PARTS}


def _build_condition(queue: str, pod: str) -> tuple[str, dict[str, str]]:
    namespace, slash, name = pod.rpartition("/")
    given = {
        "target = %(queue)s": ("queue", queue),
        "namespace = %(namespace)s": ("namespace", namespace if slash else ""),
        "strpos(name, %(name)s) > 0": ("name", name),
    }
    selected = {condition: pair for condition, pair in given.items() if pair[1]}
    return " AND ".join(selected) or "true", dict(selected.values())


def _find_gap(cluster: Cluster, at: datetime) -> datetime | None:
    """The time of the oldest recorded move if the moment is before it, and others were deleted."""
    moves = QueueMove.objects.filter(cluster=cluster).order_by("id")
    oldest = moves.values_list("at", flat=True).first()
    if oldest is None or oldest <= at:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_LOST, _build_parameters(cluster, PastMoment(at)))
        return oldest if cursor.fetchone() is not None else None


def _find_move(row: SchedulingDecision) -> int | None:
    """The last move of the attempt, except that of a placed pod; None if no longer recorded."""
    moves = QueueMove.objects.filter(
        pod_uid=row.pod_uid, attempt=row.attempt, event__in=_OF_ATTEMPTS, at__lte=row.at
    )
    return moves.order_by("-id").values_list("id", flat=True).first()


def _time_of_version(cluster: Cluster, version: int) -> datetime:
    if version > cluster.resource_version:
        newest = cluster.resource_version
        raise wrong("version", f"{version} is in the future; the newest version is {newest}")
    earlier = HistoricChange.objects.filter(cluster=cluster, version__lte=version)
    at = earlier.order_by("-version").values_list("at", flat=True).first()
    if at is None:
        raise Expired("The change log no longer reaches back to this version.")
    return at


def _parse_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 19 or int(text) > _MAX_NUMBER:
        raise wrong(name, f"{text[:30]!r} is not a whole number")
    return int(text)
