"""The story of a pod in order: its changes, scheduling attempts, queue moves and events.

Read from the change log, the ledger, the history of the queue and the events. Entries that
retention has deleted are missing; the others remain readable after the pod is deleted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Literal
from uuid import UUID

from apps.cluster.field_differences import differences
from apps.cluster.models import Change, Cluster, Event, HistoricChange
from apps.engine import queries
from apps.engine.models import QueueMove, SchedulingDecision
from apps.engine.results.presenting import describe_tie
from apps.scheduler.framework.events import CONFIGURATION_CHANGE

Kind = Literal["change", "activation", "attempt", "move", "preemption", "event"]
Body = Mapping[str, Any]

#: The newest rows read from each source.
MAX_ROWS = 500
#: Events that repeat what an attempt says.
SHOWN_AS_ATTEMPTS = frozenset({"Scheduled", "FailedScheduling"})
#: The event of a victim, which the decision of its preemptor explains better.
_PREEMPTED = "Preempted"
#: Moves to these places are left out: attempts and changes show the same.
_OTHERWISE_SHOWN = (QueueMove.Place.OUTSIDE, QueueMove.Place.IN_FLIGHT)
#: Consecutive attempts with the same result that are all shown.
MAX_REPEATS = 3
#: Order of entries with the same time: causes before effects.
_ORDER = {
    "change": 0,
    "activation": 0,
    "queued": 1,
    "attempt": 2,
    "preemption": 2,
    "move": 4,
    "event": 5,
}
#: A binding is the effect of an attempt.
_AFTER_ATTEMPTS = 3
#: A clock was set back if a time is so much before an earlier one; processes read it one by one.
_SET_BACK = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class StoryEntry:
    """One thing that happened to the pod."""

    at: datetime
    kind: Kind
    #: One or two words: "created", "attempt 3", "bound".
    title: str
    text: str = ""
    user: str = ""
    request_id: str = ""
    #: The decision of an attempt, or of the preemptor; the version of a change; the revision.
    number: int | None = None
    #: The preemptor, or the victims of an attempt: "namespace/name".
    pods: Sequence[str] = ()
    #: scheduled, unschedulable, error for attempts; Normal, Warning for events.
    outcome: str = ""
    node: str = ""
    #: The time of the last of several attempts shown as one entry.
    until: datetime | None = None
    order: int = field(default=0, compare=False)
    #: How often the cluster's clock was set back before.
    era: int = field(default=0, compare=False)

    @property
    def place(self) -> tuple[int, datetime, int]:
        """Where it belongs among others."""
        return self.era, self.at, self.order


class _Eras:
    """How often the cluster's clock was set back before a version, or an attempt that saw it."""

    def __init__(
        self, changes: Sequence[HistoricChange], rows: Sequence[SchedulingDecision]
    ) -> None:
        points = [(change.version, False, change.at) for change in changes]
        points += [(row.cluster_version, True, row.at) for row in rows]
        points.sort(key=lambda point: point[:2])
        self._starts = [
            (version, attempt)
            for (_, _, before), (version, attempt, at) in pairwise(points)
            if at < before - _SET_BACK
        ]

    def of(self, version: int, *, attempt: bool = False) -> int:
        return bisect_right(self._starts, (version, attempt))

    def of_attempt(self, row: SchedulingDecision) -> int:
        return self.of(row.cluster_version, attempt=True)


def read_story(cluster: Cluster, uid: UUID) -> list[StoryEntry]:
    """The entries of one pod, oldest first; empty for an unknown pod."""
    rows = list(queries.list_decisions(cluster, pod_uid=uid)[:MAX_ROWS])
    changes = _list_changes(cluster, uid)
    eras = _Eras(changes, rows)
    preemptions = _read_preemptions(cluster, changes, eras)
    entries = [*_describe_changes(changes, eras), *preemptions]
    entries += [_build_attempt(row, cluster.tie_break, eras) for row in rows]
    entries += _find_activations(list(reversed(rows)), eras)
    entries += _read_events(cluster, uid, eras, without=[_PREEMPTED] if preemptions else [])
    entries += _read_moves(cluster, uid, {row.attempt: row for row in rows}, eras)
    return sorted(entries, key=lambda entry: entry.place)


def era_of(story: Sequence[StoryEntry], version: int) -> int:
    """The era of a version that the story does not have."""
    return max(
        (
            entry.era
            for entry in story
            if entry.kind == "change" and entry.number is not None and entry.number <= version
        ),
        default=0,
    )


def condense(entries: Sequence[StoryEntry]) -> list[StoryEntry]:
    """The same story, with runs of attempts that had the same result shown as one entry.

    The first and the last attempt of a run remain; queue moves between them are left out.
    """
    shown: list[StoryEntry] = []
    run: list[StoryEntry] = []
    for entry in entries:
        if run and entry.kind != "move" and not _repeats(run[0], entry):
            shown += _collapse(run)
            run = []
        if run or entry.kind == "attempt":
            run.append(entry)
        else:
            shown.append(entry)
    return [*shown, *_collapse(run)]


def _repeats(first: StoryEntry, entry: StoryEntry) -> bool:
    return (entry.kind, entry.outcome, entry.text) == ("attempt", first.outcome, first.text)


def _collapse(run: Sequence[StoryEntry]) -> list[StoryEntry]:
    """A run of equal attempts and their moves; the inner attempts of a long run as one entry."""
    indexes = [index for index, entry in enumerate(run) if entry.kind == "attempt"]
    if len(indexes) <= MAX_REPEATS:
        return list(run)
    first, last = run[indexes[1]], run[indexes[-2]]
    title = (
        f"attempts {first.title.removeprefix('attempt ')} to {last.title.removeprefix('attempt ')}"
    )
    inner = replace(first, title=title, text="same result each time", until=last.at)
    return [*run[: indexes[1]], inner, *run[indexes[-1] :]]


def find_last_body(cluster: Cluster, uid: UUID) -> dict[str, Any] | None:
    """The last known version of the pod; None when its changes are no longer retained."""
    newest = HistoricChange.objects.filter(cluster=cluster, uid=uid).order_by("-version").first()
    return newest.object if newest is not None else None


def _list_changes(cluster: Cluster, uid: UUID) -> list[HistoricChange]:
    """The newest changes of the pod, oldest first."""
    newest = HistoricChange.objects.filter(cluster=cluster, uid=uid).order_by("-version")[:MAX_ROWS]
    return list(reversed(newest))


def _describe_changes(changes: Sequence[HistoricChange], eras: _Eras) -> Iterator[StoryEntry]:
    before: Body = {}
    for change in changes:
        title, text, node = _describe(change, before)
        before = change.object
        if title:
            yield StoryEntry(
                at=change.at,
                kind="change",
                title=title,
                text=text,
                user=change.user,
                request_id=change.request_id,
                number=change.version,
                node=node,
                order=_AFTER_ATTEMPTS if node else _ORDER["change"],
                era=eras.of(change.version),
            )


def _find_activations(rows: Sequence[SchedulingDecision], eras: _Eras) -> Iterator[StoryEntry]:
    """An entry before each attempt (oldest first) with another revision than the one before."""
    for before, row in pairwise(rows):
        if before.profile_revision != row.profile_revision:
            yield StoryEntry(
                at=row.at,
                kind="activation",
                title=f"revision {row.profile_revision}",
                text="of the scheduler configuration is used from here on",
                number=row.profile_revision,
                order=_ORDER["activation"],
                era=eras.of_attempt(row),
            )


def _read_preemptions(
    cluster: Cluster, changes: Sequence[HistoricChange], eras: _Eras
) -> list[StoryEntry]:
    """The decisions that selected the pod as a victim, while it existed."""
    if not changes:
        return []
    first, last = changes[0], changes[-1]
    filters: dict[str, Any] = {
        "victims__contains": [f"{first.namespace}/{first.name}"],
        "at__gte": first.at,
    }
    if last.type == Change.Type.DELETED:
        filters["at__lte"] = last.at
    rows = queries.list_decisions(cluster, **filters).exclude(unschedulable_plugins=[])
    return [
        StoryEntry(
            at=row.at,
            kind="preemption",
            title="selected as a victim",
            text=f"in attempt {row.attempt}",
            number=row.pk,
            pods=[f"{row.namespace}/{row.name}"],
            node=row.nominated_node,
            order=_ORDER["preemption"],
            era=eras.of_attempt(row),
        )
        for row in rows[:MAX_ROWS]
    ]


def _build_attempt(row: SchedulingDecision, tie_break: str, eras: _Eras) -> StoryEntry:
    return StoryEntry(
        at=row.at,
        kind="attempt",
        title=f"attempt {row.attempt}",
        text=_describe_outcome(row, tie_break),
        number=row.pk,
        outcome=row.result,
        node=row.node,
        pods=row.victims,
        order=_ORDER["attempt"],
        era=eras.of_attempt(row),
    )


def _read_moves(
    cluster: Cluster, uid: UUID, attempts: Mapping[int, SchedulingDecision], eras: _Eras
) -> Iterator[StoryEntry]:
    """Moves between the queues, without those that every attempt causes.

    `attempts` are by number. A move records how many attempts came before it; this number takes
    precedence when the clocks of moves and attempts differ slightly.
    """
    moves = QueueMove.objects.filter(cluster=cluster, pod_uid=uid).exclude(
        target__in=_OTHERWISE_SHOWN
    )
    for move in moves.order_by("-id")[:MAX_ROWS]:
        hint = f"{move.plugin}: {move.hint}" if move.plugin and move.hint else move.plugin
        before, after = attempts.get(move.attempt), attempts.get(move.attempt + 1)
        era = eras.of_attempt(before) if before else 0
        earliest = before.at if before else move.at
        if move.at < earliest - _SET_BACK:
            era, earliest = era + 1, move.at
        if after and eras.of_attempt(after) != era:
            after = None
        latest = after.at if after else max(move.at, earliest)
        at = min(max(move.at, earliest), latest)
        title = f"to {move.get_target_display()}"
        text = ", ".join(filter(None, (move.event, hint, move.reason)))
        order = _ORDER["move" if at < latest or not after else "queued"]
        kind: Kind = "move"
        if move.event == CONFIGURATION_CHANGE:
            text = f"{text}: another revision of the scheduler configuration was activated"
            kind = "activation"
        yield StoryEntry(at, kind, title, text, order=order, era=era)


def _read_events(
    cluster: Cluster, uid: UUID, eras: _Eras, *, without: Collection[str]
) -> Iterator[StoryEntry]:
    events = Event.objects.filter(cluster=cluster, involved_uid=str(uid))
    for event in events.exclude(reason__in=[*SHOWN_AS_ATTEMPTS, *without]).order_by("-pk")[
        :MAX_ROWS
    ]:
        yield StoryEntry(
            at=event.created_at,
            kind="event",
            title=event.reason,
            text=event.body.get("message") or "",
            outcome=event.body.get("type") or "Normal",
            order=_ORDER["event"],
            era=eras.of(event.resource_version),
        )


def _describe_outcome(row: SchedulingDecision, tie_break: str) -> str:
    if row.result == SchedulingDecision.Result.SCHEDULED:
        tie = describe_tie(row.tied_nodes, tie_break)
        were = "was" if row.feasible_nodes == 1 else "were"
        nodes = "node" if row.nodes == 1 else "nodes"
        feasible = f"{row.feasible_nodes:,} of {row.nodes:,} {nodes} {were} feasible"
        return f"{feasible}; {tie}" if tie else feasible
    return " ".join(filter(None, (row.message, row.post_filter_message)))


def _describe(change: HistoricChange, before: Body) -> tuple[str, str, str]:
    """A change's title, text and node; an empty title when there is nothing to show."""
    after = change.object
    if change.type == Change.Type.ADDED:
        node = _get(after, "spec", "nodeName", "")
        gates = ", ".join(gate["name"] for gate in _get(after, "spec", "schedulingGates", []))
        return "created", f"waiting for scheduling gates: {gates}" if gates else "", node
    if change.type == Change.Type.DELETED:
        return "deleted", "", ""
    if not before:
        return "updated", "the previous version is no longer retained", ""
    for describe in _DESCRIBERS:
        if description := describe(before, after):
            return description
    paths = [each.path for each in differences(before, after)]
    return ("updated", ", ".join(paths), "") if paths else ("", "", "")


def _describe_binding(before: Body, after: Body) -> tuple[str, str, str] | None:
    node = _get(after, "spec", "nodeName", "")
    if node and not _get(before, "spec", "nodeName", ""):
        return "bound", "", node
    return None


def _describe_termination(before: Body, after: Body) -> tuple[str, str, str] | None:
    metadata = after["metadata"]
    if metadata.get("deletionTimestamp") and not before["metadata"].get("deletionTimestamp"):
        grace = metadata.get("deletionGracePeriodSeconds")
        return "terminating", f"grace period: {grace} s" if grace else "", ""
    return None


def _describe_eviction(before: Body, after: Body) -> tuple[str, str, str] | None:
    target = _find_condition(after, "DisruptionTarget")
    if target and target != _find_condition(before, "DisruptionTarget"):
        return "evicted", f"{target.get('reason', '')}: {target.get('message', '')}", ""
    return None


def _describe_gates(before: Body, after: Body) -> tuple[str, str, str] | None:
    old = {gate["name"] for gate in _get(before, "spec", "schedulingGates", [])}
    removed = old - {gate["name"] for gate in _get(after, "spec", "schedulingGates", [])}
    return ("gate removed", ", ".join(sorted(removed)), "") if removed else None


def _describe_nomination(before: Body, after: Body) -> tuple[str, str, str] | None:
    old = _get(before, "status", "nominatedNodeName", "")
    new = _get(after, "status", "nominatedNodeName", "")
    if new and new != old:
        return "nominated", "the node where it is expected to run", new
    if old and not new and not _get(after, "spec", "nodeName", ""):
        return "nomination cleared", f"was {old}", ""
    return None


def _describe_phase(before: Body, after: Body) -> tuple[str, str, str] | None:
    old, new = _get(before, "status", "phase", ""), _get(after, "status", "phase", "")
    reason = _get(after, "status", "reason", "")
    return (new.lower(), reason, "") if new and new != old else None


def _describe_refusal(before: Body, after: Body) -> tuple[str, str, str] | None:
    """Hide a change of PodScheduled alone: the attempt already shows the reason."""
    old, new = _find_condition(before, "PodScheduled"), _find_condition(after, "PodScheduled")
    is_status_only = all(
        each.path.startswith(("status.conditions", "metadata.generation", "status.observed"))
        for each in differences(before, after)
    )
    if is_status_only and new != old:
        if new.get("reason") == "SchedulingGated":
            return "gated", new.get("message", ""), ""
        return "", "", ""
    return None


_DESCRIBERS: tuple[Callable[[Body, Body], tuple[str, str, str] | None], ...] = (
    _describe_binding,
    _describe_termination,
    _describe_eviction,
    _describe_gates,
    _describe_nomination,
    _describe_phase,
    _describe_refusal,
)


def _find_condition(body: Body, name: str) -> Body:
    for condition in _get(body, "status", "conditions", []):
        if condition.get("type") == name:
            matched: Body = condition
            return matched
    return {}


def _get(body: Body, part: str, name: str, default: Any) -> Any:
    return (body.get(part) or {}).get(name) or default
