"""The kinds of events, and the events of a cluster since a position."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from apps.engine import opinions
from apps.engine.models import Operation, SchedulingDecision, SecondOpinion, Webhook

#: kind -> what happened
KINDS: Mapping[str, str] = {
    "pod.unschedulable": "The first attempt to schedule a pod found no node.",
    "pod.scheduled": "A pod was scheduled.",
    "pod.preempted": "A pod was selected for eviction, to make room for another one.",
    "binding.disagreed": "A second opinion disagrees with a binding of an external scheduler.",
    "operation.ended": "An operation succeeded, failed or was cancelled.",
    "cluster.paused": "The cluster was paused: its pods are no longer scheduled.",
    "cluster.resumed": "The cluster was resumed.",
}
#: The kind of the event that a user sends to try a webhook.
TEST = "test"
#: At most so many decisions are read at a time.
_MAX_DECISIONS = 500
#: The same of second opinions, and those that have the time of the last one.
_MAX_OPINIONS = 500
#: An operation's end is visible this long after the time it has.
_LAG = timedelta(seconds=1)

Event = dict[str, Any]


def collect_events(webhook: Webhook) -> list[Event]:
    """The events of the webhook's kinds since its position, which moves on; oldest first."""
    until = max(timezone.now() - _LAG, webhook.collected_at)
    until = _limit(_list_opinions(webhook, until), until)
    events = [
        *_of_decisions(webhook),
        *_of_opinions(webhook, until),
        *_of_operations(webhook, until),
        *_of_cluster(webhook),
    ]
    webhook.collected_at = until
    return [event for event in events if event["kind"] in webhook.kinds]


def reads_decisions(kinds: Collection[str]) -> bool:
    """Whether events of these kinds are read from the ledger."""
    return any(kind.startswith("pod.") for kind in kinds)


def _of_decisions(webhook: Webhook) -> list[Event]:
    if not reads_decisions(webhook.kinds):
        return []
    rows = SchedulingDecision.objects.filter(
        cluster_id=webhook.cluster_id, pk__gt=webhook.decision_position
    ).order_by("pk")
    fields = ("pk", "namespace", "name", "attempt", "at", "result", "node", "message", "victims")
    events: list[Event] = []
    for row in rows.only(*fields)[:_MAX_DECISIONS]:
        events += _of_decision(row)
        webhook.decision_position = row.pk
    return events


def _of_decision(row: SchedulingDecision) -> list[Event]:
    pod = f"{row.namespace}/{row.name}"
    common = {"at": _text(row.at), "pod": pod, "decision": row.pk}
    events: list[Event] = []
    if row.result == SchedulingDecision.Result.SCHEDULED:
        events.append({"kind": "pod.scheduled", **common, "node": row.node})
    elif row.attempt == 1 and row.result == SchedulingDecision.Result.UNSCHEDULABLE:
        events.append({"kind": "pod.unschedulable", **common, "message": row.message})
    return events + [
        {"kind": "pod.preempted", **common, "pod": victim, "preemptor": pod}
        for victim in row.victims
    ]


def _list_opinions(webhook: Webhook, until: datetime) -> QuerySet[SecondOpinion]:
    rows = opinions.list_disagreements(webhook.cluster)
    if "binding.disagreed" not in webhook.kinds:
        return rows.none()
    rows = rows.filter(recorded_at__gt=webhook.collected_at, recorded_at__lte=until)
    return rows.order_by("recorded_at", "id")


def _limit(rows: QuerySet[SecondOpinion], until: datetime) -> datetime:
    """The time up to which events are read now: the others follow."""
    last = rows.values_list("recorded_at", flat=True)[_MAX_OPINIONS - 1 : _MAX_OPINIONS]
    return min([until, *last])


def _of_opinions(webhook: Webhook, until: datetime) -> list[Event]:
    return [
        {
            "kind": "binding.disagreed",
            "at": _text(row.at),
            "pod": f"{row.namespace}/{row.name}",
            "node": row.guest_node,
            "opinion": row.node,
            "message": row.message,
            "user": row.user,
        }
        for row in _list_opinions(webhook, until)
    ]


def _of_operations(webhook: Webhook, until: datetime) -> list[Event]:
    rows = Operation.objects.filter(
        cluster_id=webhook.cluster_id, finished_at__gt=webhook.collected_at, finished_at__lte=until
    ).order_by("finished_at")
    fields = ("pk", "title", "state", "message", "cause", "user", "finished_at")
    return [
        {
            "kind": "operation.ended",
            "at": _text(row.finished_at or until),
            "operation": row.pk,
            "title": row.title,
            "state": row.state,
            "message": row.cause or row.message,
            "user": row.user,
        }
        for row in rows.only(*fields)
    ]


def _of_cluster(webhook: Webhook) -> list[Event]:
    paused = webhook.cluster.paused
    if paused == webhook.cluster_paused:
        return []
    webhook.cluster_paused = paused
    kind = "cluster.paused" if paused else "cluster.resumed"
    return [{"kind": kind, "at": _text(timezone.now())}]


def _text(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")
