"""The page of one pod, also of a deleted one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.cluster.errors import NotFound
from apps.cluster.models import Change, Cluster, Event, Pod
from apps.dashboard.queries.changes import ChangeRow, object_changes
from apps.dashboard.queries.pods import pod_state, queue_entries
from apps.engine import queries
from apps.engine.models import PermitWait, QueueEntry, SchedulingDecision
from apps.quantity import milli, value
from apps.scheduler.framework.resources import CPU
from apps.studies.explanations.pending_pods import find_permit_wait, scheduler_message, why_pending
from apps.studies.history.story import (
    SHOWN_AS_ATTEMPTS,
    StoryEntry,
    condense,
    era_of,
    find_last_body,
    read_story,
)

MAX_ATTEMPTS = 50
MAX_EVENTS = 50
MAX_CHANGES = 50
#: Lines of a timeline that are shown unfolded; a few more are not folded away.
LATEST_LINES = 10
TOLERATED_LINES = 4
#: The place of repeated lines among those with the same time.
_LAST = 9
_SCHEDULED = SchedulingDecision.Result.SCHEDULED.value
#: Maximum number of deleted pods with the same name.
MAX_NAMESAKES = 20


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """One thing that happened; `is_repeated` if another line says the same in other words.

    Such lines are shown only where the timeline is filtered to their kind.
    """

    entry: StoryEntry
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class OnePod:
    """A pod and its history; `pod` is None for a deleted pod, whose history may be incomplete."""

    uid: UUID
    namespace: str
    name: str
    pod: Pod | None
    body: Mapping[str, Any]
    entry: QueueEntry | None
    attempts: Sequence[SchedulingDecision]
    attempt_count: int
    lines: Sequence[TimelineLine]
    #: one or two sentences; empty for a pod that is not pending
    why_pending: str = ""
    #: the message of the last attempt, as kube-scheduler reports it
    message: str = ""
    #: `pod_state`, "permit" or "deleted"
    state: str = "deleted"
    #: how Permit plugins hold it
    held: PermitWait | None = None

    @property
    def earlier(self) -> Sequence[TimelineLine]:
        """The lines of a long timeline that are folded."""
        shown = [at for at, line in enumerate(self.lines) if not line.is_repeated]
        few = len(shown) <= LATEST_LINES + TOLERATED_LINES
        return () if few else self.lines[: shown[-LATEST_LINES]]

    @property
    def latest(self) -> Sequence[TimelineLine]:
        return self.lines[len(self.earlier) :]

    @property
    def placed(self) -> StoryEntry | None:
        """The last attempt that found a node."""
        entries = (line.entry for line in reversed(self.lines))
        return next((entry for entry in entries if entry.outcome == _SCHEDULED), None)

    @property
    def conditions(self) -> Sequence[Mapping[str, Any]]:
        return (self.body.get("status") or {}).get("conditions") or []

    @property
    def overhead(self) -> Mapping[str, int]:
        """Resource -> the overhead of the runtime class, in the units of `Pod.requests`."""
        written = (self.body.get("spec") or {}).get("overhead") or {}
        return {
            name: milli(amount) if name == CPU else value(amount)
            for name, amount in written.items()
        }

    @property
    def own_requests(self) -> Mapping[str, int]:
        """The requests that count on a node, without the overhead."""
        total = self.pod.requests if self.pod is not None else {}
        own = {name: amount - self.overhead.get(name, 0) for name, amount in total.items()}
        return {name: amount for name, amount in own.items() if amount}


@dataclass(frozen=True, slots=True)
class Namesake:
    """The uid of a deleted pod, with its last attempt and its deletion, as far as known."""

    uid: UUID
    attempt: SchedulingDecision | None = None
    deleted_at: datetime | None = None


def one_pod(cluster: Cluster, namespace: str, name: str) -> OnePod:
    """Everything the page of a pod shows; NotFound if there is no such pod."""
    pod = Pod.objects.filter(cluster=cluster, namespace=namespace, name=name).first()
    if pod is None:
        raise NotFound("pods", name)
    return _load_pod(cluster, pod.uid, pod, pod.body)


def pod_story(cluster: Cluster, uid: UUID) -> OnePod:
    """The same by uid, also of a deleted pod; NotFound if no record of it is left."""
    pod = Pod.objects.filter(cluster=cluster, uid=uid).first()
    if pod is not None:
        return _load_pod(cluster, uid, pod, pod.body)
    return _load_pod(cluster, uid, None, find_last_body(cluster, uid) or {})


def namesakes(cluster: Cluster, namespace: str, name: str) -> list[Namesake]:
    """The pods in ledger and change log that had this name, newest first."""
    by_uid: dict[UUID, Namesake] = {}
    deletions = Change.objects.filter(
        cluster=cluster, type=Change.Type.DELETED, kind="Pod", namespace=namespace, name=name
    )
    for uid, at in deletions.order_by("-version").values_list("uid", "at")[:MAX_NAMESAKES]:
        by_uid[uid] = Namesake(uid, deleted_at=at)
    for attempt in queries.list_decisions(cluster, namespace=namespace, name=name)[:1000]:
        known = by_uid.setdefault(attempt.pod_uid, Namesake(attempt.pod_uid))
        if known.attempt is None:
            by_uid[attempt.pod_uid] = replace(known, attempt=attempt)
    return list(by_uid.values())[:MAX_NAMESAKES]


def other_namespaces(cluster: Cluster, namespace: str, name: str) -> list[str]:
    """Other namespaces that have a pod with this name, or from which one was deleted."""
    pods = Pod.objects.filter(cluster=cluster, name=name)
    deletions = Change.objects.filter(
        cluster=cluster, type=Change.Type.DELETED, kind="Pod", name=name
    )
    namespaces = pods.values_list("namespace").union(deletions.values_list("namespace"))
    return sorted({each for (each,) in namespaces[:MAX_NAMESAKES]} - {namespace})


def _load_pod(cluster: Cluster, uid: UUID, pod: Pod | None, body: Mapping[str, Any]) -> OnePod:
    decisions = queries.list_decisions(cluster, pod_uid=uid)
    attempts = list(decisions[:MAX_ATTEMPTS])
    if not body and not attempts:
        raise NotFound("pods", str(uid))
    entry = queue_entries(cluster, [uid]).get(uid)
    last = attempts[0] if attempts else None
    profiles = queries.list_scheduler_names(cluster)
    held = find_permit_wait(cluster, pod, entry) if pod is not None else None
    about = Event.objects.filter(cluster=cluster, involved_uid=str(uid))
    metadata = body.get("metadata") or {}
    return OnePod(
        uid=uid,
        namespace=metadata.get("namespace") or attempts[0].namespace,
        name=metadata.get("name") or attempts[0].name,
        pod=pod,
        body=body,
        entry=entry,
        attempts=attempts,
        attempt_count=len(attempts) if len(attempts) < MAX_ATTEMPTS else decisions.count(),
        lines=_timeline(
            condense(read_story(cluster, uid)),
            list(about.order_by("-resource_version")[:MAX_EVENTS]),
            object_changes(cluster, uid, limit=MAX_CHANGES),
        ),
        why_pending=why_pending(cluster, pod, entry, last, profiles, held) if pod else "",
        message=scheduler_message(last) if held is None else "",
        state=_state(pod, entry, profiles, held),
        held=held,
    )


def _timeline(
    story: Sequence[StoryEntry], events: Sequence[Event], changes: Sequence[ChangeRow]
) -> Sequence[TimelineLine]:
    """The story, with the events and changes that it leaves out: its attempts say the same."""
    versions = {entry.number for entry in story if entry.kind == "change"}
    repeated = [_repeat_event(each, story) for each in events if each.reason in SHOWN_AS_ATTEMPTS]
    repeated += [
        _repeat_change(each, story) for each in changes if each.change.version not in versions
    ]
    lines = [TimelineLine(entry) for entry in story]
    lines += [TimelineLine(entry, is_repeated=True) for entry in repeated]
    return sorted(lines, key=lambda line: line.entry.place)


def _repeat_event(event: Event, story: Sequence[StoryEntry]) -> StoryEntry:
    count = event.body.get("count") or 1
    times = f" ({count} times)" if count > 1 else ""
    return StoryEntry(
        at=event.written_at,
        kind="event",
        title=event.reason,
        text=f"{event.body.get('message') or ''}{times}",
        outcome=event.body.get("type") or "Normal",
        order=_LAST,
        era=era_of(story, event.resource_version),
    )


def _repeat_change(row: ChangeRow, story: Sequence[StoryEntry]) -> StoryEntry:
    return StoryEntry(
        at=row.change.at,
        kind="change",
        title=row.verb,
        text=", ".join(field.path for field in row.fields),
        user=row.change.user,
        request_id=row.change.request_id,
        number=row.change.version,
        order=_LAST,
        era=era_of(story, row.change.version),
    )


def _state(
    pod: Pod | None, entry: QueueEntry | None, profiles: Collection[str], held: PermitWait | None
) -> str:
    if pod is None:
        return "deleted"
    return pod_state(pod, entry, profiles, is_held=held is not None)
