"""What happened to a cluster in a span of time: what the notes on its charts say.

Node failures, cordons, added and removed nodes come from the change log; drains, imports and other
long work from the operations; pauses, settings and activations from the audit log. Operations and
the audit log have real times, so they are left out for a cluster with a manual clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from django.db import connection

from apps.cluster.log.versions import versions_between
from apps.cluster.models import Cluster
from apps.engine.models import Operation
from apps.engine.periods import Period
from apps.people.models import AuditEntry

#: Milestones of an answer at most; the oldest ones are left out.
MOST: Final = 200
#: Changes of nodes that are read at most, and rows of operations and of the audit log.
_MOST_CHANGES: Final = 10_000
_MOST_ROWS: Final = 500
#: The same done by the same user to other nodes, at most so much later, is one milestone.
_TOGETHER: Final = timedelta(seconds=2)
#: Nodes that a text names, and that a milestone lists.
_NAMED: Final = 3
_LISTED: Final = 100


class MilestoneKind(StrEnum):
    """What happened."""

    FAILURE = "failure"
    RECOVERY = "recovery"
    CORDON = "cordon"
    UNCORDON = "uncordon"
    TAINT = "taint"
    NODES_ADDED = "nodes-added"
    NODES_REMOVED = "nodes-removed"
    DRAIN = "drain"
    #: an import, a bulk action or another operation
    OPERATION = "operation"
    ACTIVATION = "activation"
    PAUSE = "pause"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Milestone:
    """One thing that happened, or the same to several nodes."""

    at: datetime
    #: when a drain, an operation or a pause ended; null if it did not, or has no duration
    until: datetime | None
    kind: MilestoneKind
    #: such as "node-3 failed"
    text: str
    #: who did it
    user: str
    #: the first ones, by name
    nodes: Sequence[str] = ()
    #: the change, of the first node
    version: int | None = None
    operation: int | None = None
    #: that was activated
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Milestones:
    """Those of a span, oldest first."""

    milestones: Sequence[Milestone]
    #: whether older ones were left out
    truncated: bool


class _NodeChange(NamedTuple):
    version: int
    type: str
    name: str
    at: datetime
    user: str
    #: status of the condition Ready, `unschedulable`, keys of NoExecute taints
    ready: str | None
    cordoned: bool
    evicting: Sequence[str]
    ready_before: str | None
    cordoned_before: bool
    evicting_before: Sequence[str]


#: The changes of all nodes, also of deleted ones, through the index of an object's history: the
#: changes of pods, which are far more, are not read. OFFSET and LIMIT keep the planner, which may
#: have no statistics of a new cluster yet, from reading all versions for each node.
_NODE_CHANGES: Final = """
    WITH nodes AS (
        SELECT uid FROM cluster_node WHERE cluster_id = %(cluster)s
        UNION
        SELECT uid FROM cluster_history
        WHERE cluster_id = %(cluster)s AND kind = 'Node' AND type = 'DELETED'
    ),
    changes AS (
        SELECT c.version, c.type, c.name, c.at, c."user", {now}, {before}
        FROM nodes CROSS JOIN LATERAL (
            SELECT * FROM cluster_history h WHERE h.cluster_id = %(cluster)s AND h.uid = nodes.uid
            OFFSET 0
        ) c
        LEFT JOIN LATERAL (
            SELECT "object" FROM cluster_history
            WHERE cluster_id = %(cluster)s AND version = c.previous_version LIMIT 1
        ) p ON true
        WHERE c.version BETWEEN %(first)s AND %(last)s AND c.at >= %(since)s AND c.at < %(until)s
    )
    SELECT * FROM changes
    WHERE type <> 'MODIFIED' OR ready IS DISTINCT FROM ready_before
        OR cordoned <> cordoned_before OR evicting <> evicting_before
    ORDER BY version DESC LIMIT %(limit)s
"""
_STATE: Final = """
    jsonb_path_query_first({row}."object", '$.status.conditions[*] ? (@.type == "Ready").status')
        #>> '{{}}' AS ready{suffix},
    coalesce(({row}."object" #>> '{{spec,unschedulable}}')::boolean, false) AS cordoned{suffix},
    ARRAY(SELECT t ->> 'key' FROM jsonb_array_elements(
        coalesce({row}."object" #> '{{spec,taints}}', '[]')) t
        WHERE t ->> 'effect' = 'NoExecute' ORDER BY 1) AS evicting{suffix}
"""
#: Taints that follow from conditions, which have milestones of their own.
_OF_CONDITIONS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
#: kind -> what happened to one node, and to several
_TEXTS: Final[Mapping[MilestoneKind, str]] = {
    MilestoneKind.FAILURE: "failed",
    MilestoneKind.RECOVERY: "ready again",
    MilestoneKind.CORDON: "cordoned",
    MilestoneKind.UNCORDON: "uncordoned",
    MilestoneKind.TAINT: "tainted",
    MilestoneKind.NODES_ADDED: "added",
    MilestoneKind.NODES_REMOVED: "removed",
}
_AUDITED: Final = (
    AuditEntry.Action.CLUSTER_PAUSED,
    AuditEntry.Action.CLUSTER_RESUMED,
    AuditEntry.Action.SETTINGS_CHANGED,
    AuditEntry.Action.CONFIGURATION_ACTIVATED,
)
#: Operations that only read, or are about another cluster.
_READING: Final = ("export", "copy", "preview", "replay", "scenario", "recorded-decisions")


def read_milestones(cluster: Cluster, period: Period) -> Milestones:
    """The milestones of a period, oldest first; of too many, the newest ones."""
    now = cluster.now()
    since = max(period.since or cluster.created_at, cluster.created_at - _TOGETHER)
    until = period.until or now + timedelta(seconds=1)
    changes = _read_node_changes(cluster, since, until)
    found = list(_group(_describe_changes(changes)))
    if cluster.manual_time is None:
        found += _read_operations(cluster, since, until)
        found += _read_audit(cluster, since, until)
    found.sort(key=lambda each: each.at)
    truncated = len(found) > MOST or len(changes) == _MOST_CHANGES
    return Milestones(found[-MOST:], truncated)


def _read_node_changes(cluster: Cluster, since: datetime, until: datetime) -> list[_NodeChange]:
    first, last = versions_between(cluster.pk, since, until, top=cluster.resource_version)
    now, before = _STATE.format(row="c", suffix=""), _STATE.format(row="p", suffix="_before")
    parameters: dict[str, Any] = {
        "cluster": cluster.pk,
        "first": first,
        "last": last,
        "since": since,
        "until": until,
        "limit": _MOST_CHANGES,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NODE_CHANGES.format(now=now, before=before), parameters)
        return [_NodeChange(*row) for row in reversed(cursor.fetchall())]


def _describe_changes(changes: Sequence[_NodeChange]) -> Iterator[Milestone]:
    for change in changes:
        for kind in _kinds_of(change):
            yield Milestone(
                change.at, None, kind, "", change.user, (change.name,), version=change.version
            )


def _kinds_of(change: _NodeChange) -> Iterator[MilestoneKind]:
    if change.type == "ADDED":
        yield MilestoneKind.NODES_ADDED
        return
    if change.type == "DELETED":
        yield MilestoneKind.NODES_REMOVED
        return
    is_ready, was_ready = change.ready == "True", change.ready_before == "True"
    if was_ready and not is_ready:
        yield MilestoneKind.FAILURE
    elif is_ready and not was_ready and change.ready_before is not None:
        yield MilestoneKind.RECOVERY
    if change.cordoned != change.cordoned_before:
        yield MilestoneKind.CORDON if change.cordoned else MilestoneKind.UNCORDON
    if {*change.evicting} - {*change.evicting_before, *_OF_CONDITIONS}:
        yield MilestoneKind.TAINT


def _group(milestones: Iterator[Milestone]) -> Iterator[Milestone]:
    """The same that one user did to several nodes at a time, as one."""
    open_groups: dict[tuple[MilestoneKind, str], tuple[Milestone, datetime]] = {}
    for each in milestones:
        key = (each.kind, each.user)
        group, last = open_groups.get(key, (None, each.at))
        if group is not None and each.at - last > _TOGETHER:
            yield _with_text(group)
            group = None
        merged = each if group is None else replace(group, nodes=(*group.nodes, *each.nodes))
        open_groups[key] = merged, each.at
    for group, _ in open_groups.values():
        yield _with_text(group)


def _with_text(group: Milestone) -> Milestone:
    names = list(dict.fromkeys(group.nodes))
    shown = ", ".join(names[:_NAMED])
    subject = f"{len(names):,} nodes" if len(names) > _NAMED else shown
    return replace(group, nodes=names[:_LISTED], text=f"{subject} {_TEXTS[group.kind]}")


def _read_operations(cluster: Cluster, since: datetime, until: datetime) -> Iterator[Milestone]:
    """The operations that changed the cluster, and were running in the span."""
    rows = Operation.objects.filter(cluster=cluster, started_at__lt=until)
    rows = rows.exclude(kind__in=_READING).order_by("-pk")
    for row in rows.defer("payload", "output")[:_MOST_ROWS]:
        if row.started_at is None or (row.finished_at is not None and row.finished_at < since):
            continue
        kind = MilestoneKind.DRAIN if row.kind == "drain" else MilestoneKind.OPERATION
        title = row.title if row.state == Operation.State.SUCCEEDED else f"{row.title}: {row.state}"
        yield Milestone(row.started_at, row.finished_at, kind, title, row.user, operation=row.pk)


def _read_audit(cluster: Cluster, since: datetime, until: datetime) -> Iterator[Milestone]:
    """Pauses, also one that began before the span; settings; activations."""
    rows = AuditEntry.objects.filter(
        cluster=cluster.name,
        action__in=_AUDITED,
        time__gte=cluster.created_at,
        time__lt=until,
    )
    resumed: datetime | None = None
    for row in rows.order_by("-pk")[:_MOST_ROWS]:
        if row.action == AuditEntry.Action.CLUSTER_RESUMED:
            resumed = row.time
        elif row.action == AuditEntry.Action.CLUSTER_PAUSED:
            if resumed is None or resumed >= since:
                yield Milestone(row.time, resumed, MilestoneKind.PAUSE, "paused", row.user)
            resumed = None
        elif row.time >= since:
            yield _describe_audited(row)


def _describe_audited(row: Any) -> Milestone:
    if row.action == AuditEntry.Action.SETTINGS_CHANGED:
        text = f"settings changed: {row.target}"
        return Milestone(row.time, None, MilestoneKind.SETTINGS, text, row.user)
    number = row.target.removeprefix("revision ")
    revision = int(number) if number.isdecimal() else None
    name = f" ({row.details['name']})" if row.details.get("name") else ""
    text = f"{row.target}{name} activated"
    return Milestone(row.time, None, MilestoneKind.ACTIVATION, text, row.user, revision=revision)
